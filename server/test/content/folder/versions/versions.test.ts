// Reading versions while other programs write, rename and append.
import { afterEach, describe, expect, test } from "@jest/globals";
import { ROOT_NODE, type VersionId } from "@runnel/shared";
import { inlineExecutor } from "@runnel/native";
import type { Run } from "../../../../src/meta/meta-store.ts";
import { openFolderStore } from "../../../../src/content/folder/folder-store.ts";
import { PendingContents } from "../../../../src/content/folder/versions/pending-contents.ts";
import { Versions, type VersionsDeps } from "../../../../src/content/folder/versions/versions.ts";
import { FOLDER, TestVolume, startedVolume } from "../test-volume.ts";

let volume: TestVolume;

afterEach(async () => {
  await volume.store.close();
});

async function started(): Promise<void> {
  volume = await startedVolume();
}

describe("reading", () => {
  test("never yields other bytes while a program writes the file in place", async () => {
    await started();
    await volume.writeFile("file", "aaaaaaaaaa");
    await volume.settle();
    const state = await volume.meta.lookup(ROOT_NODE, "file");
    const version = { node: state?.node ?? 0, seq: state?.version ?? 0 };
    const opened = await volume.store.open(version);
    expect(opened.file).toBeDefined();
    expect(await opened.isSettled(0, opened.sizeBytes)).toBe(true);
    await volume.writeFile("file", "bbbbbbbbbb");
    await expect(opened.read(0, 10)).rejects.toMatchObject({ kind: "Stale" });
    await opened.close();
    await volume.settle();
    await expect(volume.store.open(version)).rejects.toMatchObject({ kind: "Lost" });
    expect((await volume.tree()).get("file")).toBe("file bbbbbbbbbb");
  });

  test("digests what waits to be applied wherever it lies, and trusts what only the store writes to and what is settled there", async () => {
    await started();
    const node = await volume.file(ROOT_NODE, "file", "0123456789");
    const older = { node, seq: (await volume.meta.node(node))?.version ?? 0 };
    await volume.settle();
    volume.disk.fault = (operation, path) => (operation === "write" && path.includes("temp") ? "NoSpace" : undefined);
    const runs: Run[] = [
      { from: "version", version: older, offset: 2, length: 6 },
      { from: "log", at: 0, length: 3 },
    ];
    const { version } = await volume.write(node, "new", { runs, sizeBytes: 9 });
    const opened = await volume.store.open({ node, seq: version });
    expect(opened.file).toBeUndefined();
    const ranges = [
      { offset: 1, length: 4 },
      { offset: 6, length: 3 },
      { offset: 4, length: 4 },
      { offset: 0, length: 2 },
    ];
    const executor = inlineExecutor();
    const expected = await executor.digest(["3456", "new", "67ne", "23"].map((text) => Buffer.from(text)));
    expect(await opened.digest(ranges, executor)).toEqual(expected);
    const settled = (): Promise<boolean[]> =>
      Promise.all(ranges.map(({ offset, length }) => opened.isSettled(offset, length)));
    expect(await settled()).toEqual([true, true, true, true]);
    await opened.close();
    // Makes the file's tuple young.
    await volume.other.setStat("file", { mode: 0o600 });
    await volume.clock.advance(1_500);
    const anew = await volume.store.open({ node, seq: version });
    expect(await Promise.all(ranges.map(({ offset, length }) => anew.isSettled(offset, length)))).toEqual([
      false,
      true,
      false,
      false,
    ]);
    await anew.close();
    volume.disk.fault = undefined;
    await volume.settle(30_000);
    expect(await volume.readFile("file")).toBe("234567new");
    const up = await volume.store.open({ node, seq: version });
    expect(await up.digest(ranges, executor)).toEqual(expected);
    await up.close();
  });

  /** A file that is to get ten bytes, which are staged. */
  async function staging() {
    await started();
    const node = await volume.file(ROOT_NODE, "file", "old");
    await volume.settle();
    const staged = await volume.store.stage();
    await staged.write(0, Buffer.from("0123456789"));
    await staged.sync(10);
    return { node, staged };
  }

  test.each(["before", "after"])(
    "what copies from a version that is just being put in place is there meanwhile, also when it was committed %s that began",
    async (when) => {
      const { node, staged } = await staging();
      let exchanges = 0;
      volume.disk.delayMs = (operation) => (operation === "rename" && ++exchanges > 0 ? 1000 : 0);
      const begun = (): Promise<boolean> => volume.clock.runUntil(() => exchanges > 0, 10_000);
      const whole = { temp: staged.name, runs: [{ from: "temp", length: 10 } as const], sizeBytes: 10 };
      const { version: seq } = await volume.write(node, "", whole);
      if (when === "after") expect(await begun()).toBe(true);
      const edited: Run[] = [
        { from: "version", version: { node, seq }, offset: 0, length: 4 },
        { from: "log", at: 0, length: 2 },
        { from: "version", version: { node, seq }, offset: 6, length: 4 },
      ];
      const { version } = await volume.write(node, "ab", { runs: edited, sizeBytes: 10 });
      expect(await begun()).toBe(true);
      expect(await volume.readFile("file")).toBe("old");
      const reading = volume.readVersion(node, version).catch((error: unknown) => error);
      await volume.settle();
      expect(await reading).toBe("0123ab6789");
      expect(await volume.readFile("file")).toBe("0123ab6789");
    },
  );

  test("a staged file that is put in place as it is about to be read is found there", async () => {
    const { node, staged } = await staging();
    let isHeld = true;
    volume.disk.fault = (operation, path) => {
      if (operation === "write" && path.includes("temp")) return "NoSpace";
      return isHeld && operation === "rename" ? "Io" : undefined;
    };
    const whole = { temp: staged.name, runs: [{ from: "temp", length: 10 } as const], sizeBytes: 10 };
    const { version: seq } = await volume.write(node, "", whole);
    const copied: Run[] = [
      { from: "version", version: { node, seq }, offset: 2, length: 5 },
      { from: "log", at: 0, length: 1 },
    ];
    const { version } = await volume.write(node, "a", { runs: copied, sizeBytes: 6 });
    const opened = await volume.store.open({ node, seq: version });
    // Until it is tried again.
    await volume.clock.advance(100);
    isHeld = false;
    // It is opened long after it was looked for.
    let opens = 0;
    volume.disk.delayMs = (operation) => (operation === "open" && opens++ === 0 ? 60_000 : 0);
    const reading = opened.read(0, 5).catch((error: unknown) => error as Error);
    await volume.clock.advance(0);
    expect(opens).toBe(1);
    await volume.clock.advance(30_000);
    expect(await volume.readFile("file")).toBe("0123456789");
    await volume.clock.advance(30_000);
    expect(await reading).toEqual(new Uint8Array(Buffer.from("23456")));
    volume.disk.fault = undefined;
    await volume.settle(30_000);
    expect(await volume.readFile("file")).toBe("23456a");
    await opened.close();
  });

  test("takes a write that ends long after its stamp for one, though the tuple was recorded in its midst", async () => {
    await started();
    await volume.writeFile("file", "aaaa");
    await volume.settle();
    const file = await volume.other.open("file", "write");
    await file.write(0, Buffer.from("bb"));
    await volume.clock.advance(1600);
    const { version = 0 } = (await volume.meta.lookup(ROOT_NODE, "file")) ?? {};
    expect(await volume.tree()).toEqual(new Map([["file", "file bbaa"]]));
    // The system stamps a file when a write begins, and tells of it when all is written.
    volume.disk.endLongWrite(FOLDER, "file", 2, Buffer.from("bb"));
    await volume.clock.advance(2000);
    const now = await volume.meta.lookup(ROOT_NODE, "file");
    expect(now?.version).toBeGreaterThan(version);
    await volume.clock.advance(10_000);
    expect((await volume.meta.lookup(ROOT_NODE, "file"))?.version).toBe(now?.version);
    await file.close();
  });

  test("yields a growing log as it was taken in, and never other bytes of a file that is rewritten", async () => {
    volume = new TestVolume(1, (parts) =>
      openFolderStore({ ...parts, executor: inlineExecutor(), settings: { volume: "volume 1" } }),
    );
    await volume.start();
    await volume.settle();
    const file = await volume.other.open("log", "createNew");
    let log = "";
    const append = async (): Promise<void> => {
      const line = `line ${log.length}\n`;
      await file.write(log.length, Buffer.from(line));
      log += line;
    };
    let version = 0;
    const grow = async (rounds: number): Promise<number> => {
      let seen = 0;
      for (let round = 0; round < rounds; round++) {
        await append();
        await volume.clock.advance(10);
        const state = await volume.meta.lookup(ROOT_NODE, "log");
        if (state === undefined) continue;
        seen++;
        // Each can be read at once, though the file is another one by then.
        await append();
        version = state.version;
        expect(await volume.readVersion(state.node, version)).toBe(log.slice(0, state.sizeBytes));
      }
      return seen;
    };
    // It shows within 2 s.
    expect(await grow(500)).toBeGreaterThan(300);
    expect((await volume.meta.lookup(ROOT_NODE, "log"))?.sizeBytes).toBeGreaterThan(0);
    // A log that has rested is no other.
    await volume.clock.advance(60_000);
    expect(await grow(200)).toBe(200);
    const { node = 0 } = (await volume.meta.lookup(ROOT_NODE, "log")) ?? {};
    await file.write(0, Buffer.from("LINE"));
    await expect(volume.readVersion(node, version)).rejects.toMatchObject({ kind: "Stale" });
    await file.close();
  });

  test("follows a rename and a change of attributes by another program", async () => {
    await started();
    await volume.writeFile("file", "content");
    await volume.settle();
    const state = await volume.meta.lookup(ROOT_NODE, "file");
    const opened = await volume.store.open({ node: state?.node ?? 0, seq: state?.version ?? 0 });
    await volume.other.rename("file", "renamed", "keep");
    await volume.other.setStat("renamed", { mode: 0o600 });
    await volume.settle();
    expect(Buffer.from(await opened.read(0, 7)).toString()).toBe("content");
    await opened.close();
  });

  test("within a batch nothing waits for a batch, nor does what a version copies from", async () => {
    await started();
    const [older, newer] = [
      { node: 2, seq: 1 },
      { node: 2, seq: 2 },
    ];
    const pending = new PendingContents();
    pending.add({
      seq: newer.seq,
      version: newer,
      instance: "",
      sizeBytes: 4,
      recipe: undefined,
      runs: [{ from: "version", version: older, offset: 0, length: 4 }],
      starts: Float64Array.of(0),
      temp: "",
      data: undefined,
      isBeingApplied: false,
    });
    // The older one is not where it was, and the batch lasts.
    const versions = new Versions({
      pending,
      meta: {
        version: async ({ seq }: VersionId) => ({ sizeBytes: 4, place: { at: seq === 2 ? "pending" : "disk" } }),
      },
      rows: { placeOf: () => undefined, ofNode: async () => [] },
      holds: { get: () => undefined },
      unavailable: () => undefined,
      hasPending: () => true,
      steady: () => Promise.withResolvers<void>().promise,
    } as unknown as VersionsDeps);
    const opened = await versions.open(newer, true);
    await expect(opened.read(0, 4)).rejects.toMatchObject({ kind: "Stale" });
    await opened.close();
  });
});
