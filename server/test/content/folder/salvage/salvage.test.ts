// Salvage: what only the commit log has is put into the plain folder before a lost meta store is made anew.
import { afterEach, describe, expect, test } from "@jest/globals";
import { ROOT_NODE, isRunnelError, openLog } from "@runnel/shared";
import { COMMIT_LOG_FORMAT, decodeRecord } from "../../../../src/commit-log/record.ts";
import type { LoggedRecord } from "../../../../src/commit-log/record.ts";
import { locked } from "../test-volume.ts";
import { DATA, VolumeRig, bytesOf } from "../../../volume/volume-rig.ts";

const BIG = bytesOf(3, 100_000);
const LONG = process.env["RUNNEL_LONG"] === "1";
const rigs: VolumeRig[] = [];

afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.close();
});

/** docs/ with some files that are applied, and applying that fails from here on. */
async function stuck(): Promise<VolumeRig> {
  const rig = await VolumeRig.open(5);
  rigs.push(rig);
  const docs = await rig.folder(ROOT_NODE, "docs");
  for (const name of ["a", "b", "c"]) await rig.file(docs, name, `${name} first`);
  await rig.file(docs, "big", BIG);
  await rig.settle();
  hold(rig);
  return rig;
}

/** Nothing is applied. */
function hold(rig: VolumeRig): void {
  rig.disk.fault = (_operation, path) =>
    path.startsWith(".runnel-store/temp/") && path.endsWith(".new") ? "Io" : undefined;
}

/** The server is killed, its meta store is gone; what another program does meanwhile; it is started again. */
async function lose(rig: VolumeRig, meanwhile: () => Promise<void> = async () => undefined): Promise<void> {
  await rig.clock.advance(2_000);
  await rig.kill();
  rig.loseMeta();
  await meanwhile();
  await rig.open();
  await rig.settle();
}

async function records(rig: VolumeRig): Promise<LoggedRecord[]> {
  const found: LoggedRecord[] = [];
  const { log } = await openLog(await rig.disk.openRoot(DATA), "log", COMMIT_LOG_FORMAT);
  await log.replay(({ payload }) => void found.push(decodeRecord(payload).record));
  await log.close();
  return found;
}

describe("records that outlive the ids", () => {
  test("[F63] a commit's record has the paths and files it concerns, of other files that it copies from too", async () => {
    const rig = await stuck();
    const docs = await rig.nodeAt("docs");
    const big = await rig.nodeAt("docs/big");
    const before = ["docs/a", "docs/b", "docs/big"];
    const handles = await Promise.all(before.map((path) => rig.other.handle(path)));
    const nodes = await Promise.all(before.map((path) => rig.nodeAt(path)));
    const version = { node: big, seq: (await rig.volume.meta.node(big))?.version ?? 0 };
    const recipe = await rig.volume.meta.recipe(version);
    const copy = await rig.make(docs, "copy");
    if (recipe !== undefined)
      await rig.writeRuns(
        copy,
        recipe,
        [{ from: "version", version, offset: 0, length: BIG.length }],
        new Uint8Array(0),
      );
    await rig.rename("docs/a", "moved");
    await rig.remove("docs/b");
    await rig.commit({ op: "link", node: big, folder: ROOT_NODE, name: "big too" });
    await rig.write(big, Buffer.from("small"));
    await rig.kill();
    const last = (await records(rig)).filter((record) => record.kind === "commit").slice(-6);
    const none = { from: "", sources: [], names: [], files: [] };
    expect(last.map(({ paths }) => paths)).toEqual([
      { ...none, path: "docs/copy" },
      { ...none, path: "docs/copy", sources: [{ node: big, path: "docs/big" }] },
      { ...none, path: "moved", from: "docs/a", files: [{ node: nodes[0], handle: handles[0] }] },
      { ...none, path: "docs/b", files: [{ node: nodes[1], handle: handles[1] }] },
      { ...none, path: "big too", from: "docs/big", files: [{ node: big, handle: handles[2] }] },
      { ...none, path: "big too", names: ["docs/big"], files: [{ node: big, handle: handles[2] }] },
    ]);
    await rig.open();
  });

  test("[F71] a whole tree that is removed is one record, with the path of each", async () => {
    const rig = await stuck();
    await rig.removeAll("docs");
    await rig.kill();
    const together = (await records(rig)).filter((record) => record.kind === "together");
    expect(together.map(({ commits }) => commits.map(({ paths, id }) => [paths?.path, id?.isStep]))).toEqual([
      [
        ["docs/c", true],
        ["docs/big", true],
        ["docs/b", true],
        ["docs/a", true],
        ["docs", undefined],
      ],
    ]);
    expect(together[0]?.seq).toBe(together[0]?.commits.at(-1)?.seq);
    await rig.open();
  });

  test("[F64] what is applied is recorded in the log", async () => {
    const rig = await stuck();
    const { appliedSeq } = await rig.volume.meta.facts();
    await rig.kill();
    expect((await records(rig)).filter(({ kind }) => kind === "up").at(-1)).toEqual({ kind: "up", seq: appliedSeq });
    await rig.open();
  });
});

describe("a meta store lost while commits were not applied", () => {
  test.each(["kill", "cutPower"] as const)("[F167] shows what waited while later commits came up: %s", async (how) => {
    const rig = await stuck();
    const docs = await rig.nodeAt("docs");
    const shut = await rig.folder(ROOT_NODE, "shut");
    const fixed = await rig.file(shut, "fixed", "old");
    await rig.file(shut, "gone", "gone");
    rig.disk.fault = undefined;
    await rig.settle();
    rig.disk.fault = locked(["shut/"]);
    await rig.write(fixed, Buffer.from("new"));
    await rig.file(shut, "made", "made");
    await rig.remove("shut/gone");
    await rig.rename("docs/a", "shut/a");
    for (let index = 0; index < 100; index++) {
      await rig.file(docs, `file ${index}`, `later ${index}`);
      await rig.clock.advance(100);
    }
    expect(Buffer.from(await rig.readFile("docs/file 99")).toString()).toBe("later 99");
    const before = await rig.tree();
    await rig[how]();
    rig.loseMeta();
    await rig.open();
    await rig.settle();
    expect(await rig.files()).toEqual(before);
    expect(rig.volume.salvaged).toMatchObject({ missing: [], conflictCopies: [] });
  });

  test("[F65] shows every kind of change in the folder, in their order, in a new epoch", async () => {
    const rig = await stuck();
    const epoch = rig.volume.epoch;
    const docs = await rig.nodeAt("docs");
    const sub = await rig.folder(docs, "sub");
    await rig.file(sub, "new", "a new one");
    await rig.write(await rig.nodeAt("docs/a"), Buffer.from("a second"));
    await rig.write(await rig.nodeAt("docs/a"), Buffer.from("a third"));
    await rig.rename("docs/b", "docs/sub/b");
    await rig.rename("docs/sub", "sub");
    await rig.remove("docs/c");
    await rig.commit({ op: "link", node: await rig.nodeAt("docs/a"), folder: ROOT_NODE, name: "a too" });
    await rig.commit({
      op: "setAttr",
      node: await rig.nodeAt("docs/a"),
      change: { mode: 0o600, mtimeNs: 1_500_000_000_000_000_000n },
    });
    await rig.make(ROOT_NODE, "points", { type: "symlink", target: "../x" });
    await rig.folder(ROOT_NODE, "empty");
    const before = await rig.tree();
    await lose(rig);
    expect(rig.volume.epoch).not.toBe(epoch);
    expect(await rig.files()).toEqual(before);
    expect(await rig.tree()).toEqual(before);
    expect(await rig.other.stat("docs/a")).toMatchObject({
      mode: 0o600,
      mtimeNs: 1_500_000_000_000_000_000n,
      nlink: 2,
    });
    expect(rig.volume.salvaged).toMatchObject({ missing: [], conflictCopies: [] });
  });

  test("[F65] sets extended attributes, and keeps those of a file that is written anew", async () => {
    const rig = await stuck();
    const [a, b] = [await rig.nodeAt("docs/a"), await rig.nodeAt("docs/b")];
    await rig.other.setXattr("docs/b", ["user.outside", Buffer.from("o")]);
    await rig.settle();
    const set = (node: number, name: string, value: Uint8Array | null): Promise<unknown> =>
      rig.commit({ op: "setAttr", node, change: { xattr: [name, value] } });
    await rig.write(a, Buffer.from("a second"));
    await set(a, "user.one", Buffer.from("1"));
    await set(a, "user.gone", Buffer.from("g"));
    await set(a, "user.gone", null);
    await rig.write(b, Buffer.from("b second"));
    await lose(rig);
    const names = async (path: string): Promise<string[]> => (await rig.other.xattrs(path)).map(([name]) => name);
    expect(await names("docs/a")).toEqual(["user.one"]);
    expect(await names("docs/b")).toEqual(["user.outside"]);
    const node = await rig.nodeAt("docs/a");
    expect((await rig.volume.meta.xattrs(node)).map(([name]) => name)).toEqual(["user.one"]);
  });

  test("[F65] goes by the files when the records of what is applied are gone: nothing is done twice", async () => {
    const rig = await VolumeRig.open(6);
    rigs.push(rig);
    const docs = await rig.folder(ROOT_NODE, "docs");
    for (const name of ["a", "b"]) await rig.file(docs, name, `${name} first`);
    await rig.rename("docs/a", "docs/c");
    await rig.file(docs, "a", "another a");
    await rig.rename("docs/b", "docs/a");
    await rig.rename("docs/c", "docs/b", "keep");
    const before = await rig.tree();
    // Writes no notes, as if each had been torn off by a power cut.
    const { log } = rig.volume as unknown as { log: { write: unknown } };
    log.write = async () => [];
    await rig.settle();
    await lose(rig);
    expect(await rig.files()).toEqual(before);
    expect(rig.volume.salvaged).toEqual({ shown: 0, conflictCopies: [], missing: [] });
  });

  test("[F66] keeps a newer file of another program as a conflict copy, and removes none", async () => {
    const rig = await stuck();
    await rig.write(await rig.nodeAt("docs/a"), Buffer.from("a second"));
    await rig.remove("docs/c");
    await lose(rig, async () => {
      await rig.clock.advance(5_000);
      await rig.writeFile("docs/a", "written by another program");
      await rig.writeFile("docs/c", "c, again in use");
    });
    const files = await rig.files();
    expect(files.get("docs/a")).toBe("file a second");
    expect(files.get("docs/c")).toBe("file c, again in use");
    const [kept] = rig.volume.salvaged?.conflictCopies ?? [];
    expect(kept?.path).toBe("docs/a");
    expect(files.get(kept?.conflictCopy ?? "")).toBe("file written by another program");
  });

  test("[F67] rebuilds contents from the log, the staged file, the trash, earlier commits and other files", async () => {
    const rig = await stuck();
    const big = await rig.nodeAt("docs/big");
    const docs = await rig.nodeAt("docs");
    const first = { node: big, seq: (await rig.volume.meta.node(big))?.version ?? 0 };
    const recipe = await rig.volume.meta.recipe(first);
    if (recipe === undefined) throw new Error("no recipe");
    rig.disk.fault = undefined;
    // The first version goes to the trash, and is copied from by a commit that is not applied.
    await rig.write(big, Buffer.from("short now"));
    await rig.settle();
    const staged = await rig.volume.content.stage();
    await staged.write(0, bytesOf(9, 5_000));
    await staged.sync(5_000);
    hold(rig);
    await rig.prepend(big, Buffer.from("again, "));
    await rig.prepend(big, Buffer.from("and "));
    const back = await rig.make(docs, "back");
    await rig.writeRuns(
      back,
      recipe,
      [{ from: "version", version: first, offset: 0, length: BIG.length }],
      new Uint8Array(0),
    );
    const whole = await rig.make(docs, "whole");
    const chunked = await rig.executor.chunkBytes(bytesOf(9, 5_000));
    await rig.writeRuns(whole, chunked, [{ from: "temp", length: 5_000 }], new Uint8Array(0), undefined, staged.name);
    const before = await rig.tree();
    await lose(rig);
    expect(await rig.files()).toEqual(before);
    expect(before.get("docs/big")).toBe("file and again, short now");
    expect(rig.volume.salvaged?.missing).toEqual([]);
  });

  test("[F68] puts nothing in place that cannot be verified: it is reported and listed, the old file stays", async () => {
    const rig = await stuck();
    const big = await rig.nodeAt("docs/big");
    const { seq } = await rig.prepend(big, Buffer.from("in front "));
    await rig.write(await rig.nodeAt("docs/a"), Buffer.from("a second"));
    await lose(rig, async () => {
      // Another program destroys what the commit copies from.
      await rig.writeFile("docs/big", "overwritten");
    });
    const files = await rig.files();
    expect(files.get("docs/big")).toBe("file overwritten");
    expect(files.get("docs/a")).toBe("file a second");
    expect(rig.volume.salvaged?.missing).toEqual([{ path: "docs/big", seq }]);
    expect(rig.warnings.filter((warning) => warning.includes("docs/big"))).toHaveLength(1);
  });

  test("[F69] waits for a folder that is not there now, and loses nothing meanwhile", async () => {
    const rig = await stuck();
    await rig.write(await rig.nodeAt("docs/a"), Buffer.from("a second"));
    const before = await rig.tree();
    await rig.clock.advance(2_000);
    await rig.kill();
    rig.loseMeta();
    const marker = await rig.readFile(".runnel-store/volume");
    await rig.other.removeFile(".runnel-store/volume");
    const failure = await rig.open().catch((error: unknown) => error);
    expect(isRunnelError(failure, "Unavailable")).toBe(true);
    await rig.writeFile(".runnel-store/volume", marker);
    await rig.open();
    await rig.settle();
    expect(await rig.files()).toEqual(before);
  });

  test.each(["kill", "cutPower"] as const)(
    "[F69] begins again when it is stopped by %s, at any step",
    async (how) => {
      for (let at = 0, isDone = false; !isDone; at += LONG ? 1 : 5) {
        const rig = await stuck();
        rigs.pop();
        await rig.write(await rig.nodeAt("docs/a"), Buffer.from("a second"));
        await rig.prepend(await rig.nodeAt("docs/big"), Buffer.from("in front "));
        await rig.rename("docs/b", "docs/a");
        await rig.rename("docs/c", "docs/b");
        await rig.file(await rig.nodeAt("docs"), "c", "c, another");
        await rig.remove("docs/b");
        const before = await rig.tree();
        await rig.clock.advance(2_000);
        await rig.kill();
        rig.loseMeta();
        let left = at;
        rig.disk.fault = () => (left-- > 0 ? undefined : "Io");
        isDone = await rig.open().then(
          () => true,
          () => false,
        );
        if (!isDone && how === "cutPower") {
          rig.disk.crash();
          rig.loseMeta();
        }
        rig.disk.fault = undefined;
        if (!isDone) await rig.open();
        await rig.settle();
        try {
          expect(await rig.files()).toEqual(before);
          expect(rig.volume.salvaged?.missing ?? []).toEqual([]);
        } catch (error) {
          throw new Error(`Stopped after ${at} operations`, { cause: error });
        }
        await rig.close();
      }
    },
    60_000,
  );

  test("waits with the first answers for clients that may still hold a lease of the old epoch", async () => {
    const rig = await stuck();
    await lose(rig);
    let isAnswered = false;
    await rig.kill();
    rig.loseMeta();
    await rig.open();
    const made = rig.folder(ROOT_NODE, "first").then(() => {
      isAnswered = true;
    });
    await rig.clock.advance(10_000);
    expect(isAnswered).toBe(false);
    await rig.run(made);
  });
});
