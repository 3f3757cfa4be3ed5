// The crash table of applying (docs/FORMAT.md): killed, or its power cut, at each disk operation, a started-again
// volume ends where an undisturbed one does, with every version and without a conflict.
import { describe, expect, test } from "@jest/globals";
import { ROOT_NODE } from "@runnel/shared";
import { TestVolume } from "./test-volume.ts";

/** Every operation, on names that were up before and on new ones, in one batch. */
async function work(volume: TestVolume): Promise<void> {
  const docs = (await volume.meta.lookup(ROOT_NODE, "docs"))?.node ?? 0;
  const a = (await volume.meta.lookup(docs, "a"))?.node ?? 0;
  await volume.write(a, "a second");
  await volume.write(a, "a third and longest");
  await volume.rename(docs, "b", docs, "c");
  const made = await volume.make(ROOT_NODE, "made", { type: "folder", mode: 0o755 });
  await volume.file(made, "in made", "new");
  await volume.rename(ROOT_NODE, "made", docs, "moved");
  await volume.make(ROOT_NODE, "made", { type: "folder", mode: 0o700 });
  await volume.rename(docs, "d", docs, "e");
  await volume.remove(docs, "f");
  await volume.file(docs, "f", "f anew");
  await volume.rename(docs, "g", docs, "h", "exchange");
  await volume.commit({ op: "link", node: a, folder: ROOT_NODE, name: "a too" });
  await volume.write(a, "a fourth");
  await volume.commit({ op: "setAttr", node: a, change: { mode: 0o600, mtimeNs: 1_500_000_000_000_000_000n } });
  await volume.make(ROOT_NODE, "symlink", { type: "symlink", target: "../x" });
  await volume.remove(ROOT_NODE, "empty");
  await volume.remove(ROOT_NODE, "linked");
  const whole = await volume.make(docs, "whole");
  await volume.write(whole, "", { temp: "staged-1", runs: [{ from: "temp", length: 10 }], sizeBytes: 10 });
  const nameless = (await volume.meta.lookup(docs, "nameless"))?.node ?? 0;
  await volume.remove(docs, "nameless");
  await volume.write(nameless, "written without a name");
  const beside = (await volume.meta.lookup(docs, "beside"))?.node ?? 0;
  await volume.commit(
    { op: "remove", folder: docs, name: "beside", node: beside, isFolder: false },
    undefined,
    "another",
  );
  await volume.write(beside, "kept beside");
}

async function prepared(seed: number): Promise<TestVolume> {
  const volume = new TestVolume(seed);
  await volume.start();
  await volume.settle();
  const docs = await volume.make(ROOT_NODE, "docs", { type: "folder", mode: 0o755 });
  for (const name of ["a", "b", "c", "d", "e", "f", "g", "h", "nameless", "beside"])
    await volume.file(docs, name, `${name} first`);
  await volume.make(ROOT_NODE, "empty");
  const linked = await volume.file(ROOT_NODE, "linked", "two names");
  await volume.commit({ op: "link", node: linked, folder: docs, name: "linked too" });
  await volume.settle();
  const staged = await volume.store.stage();
  await staged.write(0, Buffer.from("whole file"));
  await staged.sync(10);
  await volume.meta.checkpoint();
  return volume;
}

/** Every version that was ever made, with its bytes or why it cannot be read. */
async function history(volume: TestVolume): Promise<Map<string, string>> {
  const versions = new Map<string, string>();
  for (const record of volume.log) {
    if (record.kind !== "commit" || record.operation.op !== "write") continue;
    const { node, version } = record.result;
    versions.set(
      `${node}.${version}`,
      await volume.readVersion(node, version).catch((error: { kind: string }) => `? ${error.kind}`),
    );
  }
  return versions;
}

interface End {
  tree: Map<string, string>;
  files: Map<string, string>;
  history: Map<string, string>;
  temp: string[];
}

async function endOf(volume: TestVolume): Promise<End> {
  const temp: string[] = [];
  await volume.other.list(".runnel-store/temp", (entries) => {
    for (const { name } of entries) temp.push(name ?? "");
  });
  return { tree: await volume.tree(), files: await volume.files(), history: await history(volume), temp };
}

async function undisturbed(): Promise<{ end: End; operations: number }> {
  const volume = await prepared(0);
  const before = volume.disk.operations;
  await work(volume);
  await volume.clock.advance(0);
  const operations = volume.disk.operations - before;
  await volume.settle();
  const end = await endOf(volume);
  await volume.store.close();
  return { end, operations };
}

function stopAfter(volume: TestVolume, operations: number, stop: () => void): void {
  let left = operations;
  volume.disk.fault = () => {
    if (left-- > 0) return undefined;
    if (left === -1) stop();
    return "Io";
  };
}

async function disturbed(at: number, how: "kill" | "cutPower"): Promise<{ volume: TestVolume; wasStopped: boolean }> {
  const volume = await prepared(at);
  let wasStopped = false;
  stopAfter(volume, at, () => {
    wasStopped = true;
  });
  await work(volume).catch(() => undefined);
  await volume.clock.advance(0);
  volume[how]();
  await volume.restart();
  return { volume, wasStopped };
}

const LONG = process.env["RUNNEL_LONG"] === "1";

describe.each(["kill", "cutPower"] as const)("a server stopped by %s", (how) => {
  test("[F28] at any step of applying ends where an undisturbed one does", async () => {
    const { end, operations } = await undisturbed();
    expect(end.tree).toEqual(end.files);
    expect([...end.history.values()].filter((text) => text.startsWith("?"))).toEqual([]);
    for (let at = 0; at < operations; at += LONG ? 1 : 3) {
      const { volume, wasStopped } = await disturbed(at, how);
      try {
        await volume.settle();
        expect(wasStopped).toBe(true);
        expect(volume.store.status()).toMatchObject({ pendingCommits: 0, stuck: undefined });
        expect(await volume.store.notices()).toEqual([]);
        expect(await endOf(volume)).toEqual(end);
      } catch (error) {
        throw new Error(`Stopped after ${at} of ${operations} operations`, { cause: error });
      }
      await volume.store.close();
    }
  }, 120_000);
});
