// The contract of every engine of ContentStore, whatever lies beneath it.
import { afterEach, describe, expect, test } from "@jest/globals";
import { ROOT_NODE } from "@runnel/shared";
import type { OpenStore } from "./folder/test-volume.ts";
import { TestVolume } from "./folder/test-volume.ts";

export function contentContract(name: string, open: OpenStore): void {
  let volume: TestVolume;

  async function started(): Promise<TestVolume> {
    volume = new TestVolume(1, open);
    await volume.start();
    await volume.settle();
    return volume;
  }

  afterEach(async () => {
    await volume.store.close();
  });

  describe(`ContentStore (${name})`, () => {
    test("reads a version from log data, at once and when it is applied", async () => {
      await started();
      const node = await volume.make(ROOT_NODE, "file");
      const { version, seq } = await volume.write(node, "from the log");
      expect(await volume.readVersion(node, version)).toBe("from the log");
      await volume.store.whenApplied(seq);
      expect(await volume.readVersion(node, version)).toBe("from the log");
      expect(volume.appliedSeqs.at(-1)).toBeGreaterThanOrEqual(seq);
    });

    test("reads a version put together from older ones and new data", async () => {
      await started();
      const node = await volume.make(ROOT_NODE, "file");
      const first = await volume.write(node, "0123456789");
      const second = await volume.write(node, "abc", {
        sizeBytes: 9,
        runs: [
          { from: "version", version: { node, seq: first.version }, offset: 6, length: 4 },
          { from: "log", at: 1, length: 2 },
          { from: "version", version: { node, seq: first.version }, offset: 0, length: 3 },
        ],
      });
      const third = await volume.write(node, "", {
        sizeBytes: 5,
        runs: [{ from: "version", version: { node, seq: second.version }, offset: 3, length: 5 }],
      });
      for (let round = 0; round < 2; round++) {
        expect(await volume.readVersion(node, first.version)).toBe("0123456789");
        expect(await volume.readVersion(node, second.version)).toBe("6789bc012");
        expect(await volume.readVersion(node, third.version)).toBe("9bc01");
        await volume.settle();
      }
    });

    test("reads a version whose bytes were staged", async () => {
      await started();
      const staged = await volume.store.stage();
      await staged.write(4, Buffer.from("efgh"));
      await staged.write(0, Buffer.from("abcd"));
      await staged.sync(6);
      const node = await volume.make(ROOT_NODE, "file");
      const { version } = await volume.write(node, "XY", {
        sizeBytes: 8,
        temp: staged.name,
        runs: [
          { from: "temp", length: 6 },
          { from: "log", at: 0, length: 2 },
        ],
      });
      for (let round = 0; round < 2; round++) {
        expect(await volume.readVersion(node, version)).toBe("abcdefXY");
        await volume.settle();
      }
    });

    test("gives staged files different names and forgets discarded ones", async () => {
      await started();
      const one = await volume.store.stage();
      const two = await volume.store.stage();
      expect(one.name).not.toBe(two.name);
      await one.discard();
      await two.discard();
    });

    test("reads ranges, refuses those past the end", async () => {
      await started();
      const node = await volume.make(ROOT_NODE, "file");
      const { version } = await volume.write(node, "0123456789");
      await volume.settle();
      const opened = await volume.store.open({ node, seq: version });
      expect(opened.sizeBytes).toBe(10);
      expect(Buffer.from(await opened.read(3, 4)).toString()).toBe("3456");
      expect(await opened.read(10, 0)).toHaveLength(0);
      await expect(opened.read(8, 3)).rejects.toMatchObject({ kind: "Invalid" });
      await opened.close();
    });

    test("has nothing for a version never made, no bytes for a file never written", async () => {
      await started();
      const node = await volume.make(ROOT_NODE, "file");
      await expect(volume.store.open({ node, seq: 999 })).rejects.toMatchObject({ kind: "Gone" });
      expect(await volume.readVersion(node, 0)).toBe("");
    });

    test("keeps old versions when the file is written, renamed, removed", async () => {
      await started();
      const node = await volume.make(ROOT_NODE, "file");
      const first = await volume.write(node, "first");
      await volume.settle();
      const second = await volume.write(node, "second");
      await volume.rename(ROOT_NODE, "file", ROOT_NODE, "other");
      await volume.settle();
      await volume.remove(ROOT_NODE, "other");
      await volume.settle();
      expect(await volume.readVersion(node, first.version)).toBe("first");
      expect(await volume.readVersion(node, second.version)).toBe("second");
    });

    test("keeps what is written to a node without a name", async () => {
      await started();
      const node = await volume.file(ROOT_NODE, "file", "first");
      await volume.settle();
      await volume.remove(ROOT_NODE, "file");
      const { version } = await volume.write(node, "unlinked while open");
      for (let round = 0; round < 2; round++) {
        expect(await volume.readVersion(node, version)).toBe("unlinked while open");
        await volume.settle();
      }
    });

    test("goes on reading an open version while newer ones are applied", async () => {
      await started();
      const node = await volume.make(ROOT_NODE, "file");
      const { version } = await volume.write(node, "the first one");
      const opened = await volume.store.open({ node, seq: version });
      expect(Buffer.from(await opened.read(0, 3)).toString()).toBe("the");
      await volume.settle();
      await volume.write(node, "another");
      expect(Buffer.from(await opened.read(4, 5)).toString()).toBe("first");
      await volume.settle();
      await volume.remove(ROOT_NODE, "file");
      await volume.settle();
      expect(Buffer.from(await opened.read(10, 3)).toString()).toBe("one");
      await opened.close();
    });

    test("says in order of seq what is applied", async () => {
      await started();
      const seqs: number[] = [];
      for (let index = 0; index < 200; index++) {
        const node = await volume.make(ROOT_NODE, `file ${index}`);
        seqs.push((await volume.write(node, `content ${index}`)).seq);
      }
      await Promise.all(seqs.map((seq) => volume.store.whenApplied(seq)));
      expect(volume.appliedSeqs).toEqual([...volume.appliedSeqs].sort((a, b) => a - b));
      expect(volume.store.status()).toMatchObject({ pendingCommits: 0, stuck: undefined });
      expect((await volume.meta.facts()).appliedSeq).toBe(seqs.at(-1));
    });

    test("sets space aside, and refuses what it has no space for", async () => {
      await started();
      const { availableBytes } = await volume.store.space();
      const release = await volume.store.reserve(availableBytes / 2);
      await expect(volume.store.reserve(availableBytes * 0.75)).rejects.toMatchObject({ kind: "NoSpace" });
      release();
      release();
      (await volume.store.reserve(availableBytes * 0.75))();
    });

    test("scans on request", async () => {
      await started();
      const scanned = volume.store.scan();
      await volume.settle();
      await scanned;
      expect(volume.isUncertain).toBe(false);
    });
  });
}
