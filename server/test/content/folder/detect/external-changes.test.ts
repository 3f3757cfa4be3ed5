// Changes by other programs in the served folder.
import { afterEach, describe, expect, test } from "@jest/globals";
import { inlineExecutor } from "@runnel/native";
import { ROOT_NODE } from "@runnel/shared";
import { openFolderStore } from "../../../../src/content/folder/folder-store.ts";
import { TestVolume } from "../test-volume.ts";

let volume: TestVolume;

afterEach(async () => {
  await volume.store.close();
});

/** Serves a folder in which `fill` has put something before. */
async function served(fill: (volume: TestVolume) => Promise<void> = async () => undefined): Promise<TestVolume> {
  volume = new TestVolume();
  await volume.fillFirst(fill);
  await volume.start();
  await volume.settle();
  return volume;
}

async function expectInStep(): Promise<void> {
  expect(await volume.tree()).toEqual(await volume.files());
  expect(volume.store.status()).toMatchObject({ pendingCommits: 0, stuck: undefined, isScanning: false });
}

async function nodeOf(folder: number, name: string): Promise<number> {
  return (await volume.meta.lookup(folder, name))?.node ?? 0;
}

describe("the first serve of a folder", () => {
  test("takes in what lies there, with its attributes, symlinks as data", async () => {
    await served(async ({ other }) => {
      await other.makeFolder("deep", 0o750);
      await other.makeFolder("deep/er");
      await volume.writeFile("deep/er/file", "content");
      await volume.writeFile("empty", "");
      await other.makeSymlink("out", "..");
      await other.makeSymlink("root", "/");
      await other.makeSpecial("pipe", "fifo", 0o600, 0);
      await other.setStat("deep", { mtimeNs: 1_500_000_000_000_000_000n });
      await other.setStat("deep/er/file", { mode: 0o640, uid: 7, gid: 8, mtimeNs: 1_400_000_000_000_000_000n });
    });
    await expectInStep();
    const deep = await volume.meta.lookup(ROOT_NODE, "deep");
    expect(deep).toMatchObject({ mode: 0o750, mtimeNs: 1_500_000_000_000_000_000n });
    const file = await volume.meta.lookup(await nodeOf(deep?.node ?? 0, "er"), "file");
    expect(file).toMatchObject({ mode: 0o640, uid: 7, gid: 8, mtimeNs: 1_400_000_000_000_000_000n });
  });

  test("takes in 2,000 files in batches", async () => {
    await served(async ({ other }) => {
      for (let index = 0; index < 2000; index++) await (await other.open(`file ${index}`, "createNew")).close();
    });
    expect(await volume.meta.list(ROOT_NODE, "", 5000)).toHaveLength(2000);
    expect(Math.max(...volume.externals.map((batch) => batch.length))).toBeLessThanOrEqual(1000);
    expect(volume.externals.length).toBeLessThan(10);
  });
});

describe("changes by other programs", () => {
  test("show within 2 s: made, written, renamed, removed", async () => {
    await served();
    await volume.writeFile("a", "one");
    await volume.clock.advance(2000);
    const node = await nodeOf(ROOT_NODE, "a");
    await volume.writeFile("a", "two two");
    await volume.clock.advance(2000);
    expect((await volume.tree()).get("a")).toBe("file two two");
    await volume.other.rename("a", "b", "keep");
    await volume.clock.advance(2000);
    expect(await nodeOf(ROOT_NODE, "b")).toBe(node);
    await volume.other.removeFile("b");
    await volume.clock.advance(2000);
    expect(await volume.tree()).toEqual(new Map());
  });

  test("show within 2 s while a program keeps writing", async () => {
    await served();
    const file = await volume.other.open("log", "createNew");
    let size = 0;
    for (let round = 0; round < 400; round++) {
      await file.write(size, Buffer.from("0123456789"));
      size += 10;
      await volume.clock.advance(10);
      if (round < 210) continue;
      const shown = (await volume.meta.lookup(ROOT_NODE, "log"))?.sizeBytes ?? 0;
      expect(shown).toBeGreaterThanOrEqual(size - 2000);
    }
    await file.close();
    await volume.settle();
    await expectInStep();
  });

  test("to names keep the node: a folder moved with what is in it, a save by rename", async () => {
    await served(async ({ other }) => {
      await other.makeFolder("old");
      await volume.writeFile("old/file", "content");
      await volume.writeFile("saved", "first");
    });
    const folder = await nodeOf(ROOT_NODE, "old");
    const file = await nodeOf(folder, "file");
    const saved = await nodeOf(ROOT_NODE, "saved");
    await volume.other.rename("old", "new", "keep");
    await volume.writeFile("saved.tmp", "second");
    await volume.other.rename("saved.tmp", "saved", "replace");
    await volume.settle();
    await expectInStep();
    expect(await nodeOf(ROOT_NODE, "new")).toBe(folder);
    expect(await nodeOf(folder, "file")).toBe(file);
    expect(await nodeOf(ROOT_NODE, "saved")).toBe(saved);
  });

  test("to links and types come through", async () => {
    await served(async () => {
      await volume.writeFile("a", "linked");
      await volume.writeFile("turned", "file");
    });
    await volume.other.link("a", "b");
    await volume.other.removeFile("turned");
    await volume.other.makeFolder("turned");
    await volume.writeFile("turned/in", "side");
    await volume.settle();
    await expectInStep();
    expect(await nodeOf(ROOT_NODE, "b")).toBe(await nodeOf(ROOT_NODE, "a"));
    await volume.other.removeFile("a");
    await volume.settle();
    await expectInStep();
  });

  test("[F32] to extended attributes come through, those that the disk refused stay", async () => {
    await served(async ({ other }) => {
      await volume.writeFile("a", "text");
      await other.setXattr("a", ["user.before", Buffer.from("b")]);
      await other.makeFolder("folder");
    });
    const node = await nodeOf(ROOT_NODE, "a");
    const folder = await nodeOf(ROOT_NODE, "folder");
    const names = async (of: number): Promise<string[]> => (await volume.meta.xattrs(of)).map(([name]) => name);
    expect(await names(node)).toEqual(["user.before"]);
    await volume.commit({ op: "setAttr", node, change: { xattr: ["user.large", Buffer.alloc(60_000)] } });
    await volume.settle();
    await volume.other.setXattr("a", ["user.later", Buffer.from("l")]);
    await volume.other.setXattr("a", ["user.before", null]);
    await volume.other.setXattr("folder", ["user.folder", Buffer.from("f")]);
    await volume.settle();
    expect(await names(node)).toEqual(["user.large", "user.later"]);
    expect(await names(folder)).toEqual(["user.folder"]);
    expect((await volume.tree()).get("a")).toBe("file text");
  });

  test("to attributes are no new version", async () => {
    await served(async () => volume.writeFile("a", "content"));
    const before = await volume.meta.lookup(ROOT_NODE, "a");
    await volume.other.setStat("a", { mode: 0o600 });
    await volume.settle();
    const after = await volume.meta.lookup(ROOT_NODE, "a");
    expect(after).toMatchObject({ mode: 0o600, version: before?.version });
    await expectInStep();
  });

  describe("that leave its bytes as they were", () => {
    const OLD_NS = 1_000_000_000_000_000_000n;

    async function replaced(name: string, text: string, mtimeNs?: bigint): Promise<void> {
      await volume.writeFile(".copy", text);
      if (mtimeNs !== undefined) await volume.other.setStat(".copy", { mtimeNs });
      await volume.other.rename(".copy", name, "replace");
    }

    test.each<[string, () => Promise<unknown>]>([
      ["a touch", () => volume.other.setStat("a", { mtimeNs: OLD_NS })],
      ["a write of the same bytes", () => volume.writeFile("a", "content")],
      ["a copy over it", () => replaced("a", "content", OLD_NS)],
      [
        "a touch of a file that has been looked at again and again",
        async () => {
          for (let time = 1n; time < 5n; time++) {
            await volume.other.setStat("a", { mtimeNs: OLD_NS + time });
            await volume.clock.advance(700);
          }
        },
      ],
    ])("[F150] %s: no version is made and none is lost", async (_what, act) => {
      volume = new TestVolume(1, (parts) =>
        openFolderStore({ ...parts, executor: inlineExecutor(), settings: { volume: "volume 1" } }),
      );
      await volume.start();
      await volume.writeFile("a", "content");
      await volume.settle();
      const before = await volume.meta.lookup(ROOT_NODE, "a");
      await act();
      await volume.settle();
      const after = await volume.meta.lookup(ROOT_NODE, "a");
      expect(after).toMatchObject({ node: before?.node, version: before?.version });
      expect(after?.mtimeNs).toBe((await volume.other.stat("a")).mtimeNs);
      expect(after?.mtimeNs).not.toBe(before?.mtimeNs);
      expect(await volume.store.notices()).toEqual([]);
      await expectInStep();
      // A file with the same size and other bytes is a version of its own.
      await replaced("a", "CONTENT");
      await volume.settle();
      expect(await volume.notices("lost")).toMatchObject([{ path: "a", seq: before?.version }]);
      await expectInStep();
    });
  });

  test("that set the mtime back are a new version", async () => {
    await served(async () => volume.writeFile("a", "content"));
    const before = await volume.meta.lookup(ROOT_NODE, "a");
    await volume.writeFile("a", "CONTENT");
    await volume.other.setStat("a", { mtimeNs: before?.mtimeNs ?? 0n });
    await volume.settle();
    expect((await volume.tree()).get("a")).toBe("file CONTENT");
    expect((await volume.meta.lookup(ROOT_NODE, "a"))?.version).not.toBe(before?.version);
    expect(await volume.notices("lost")).toMatchObject([{ path: "a", node: before?.node, seq: before?.version }]);
  });

  test("are probed again and again where a folder cannot be read, which the status says", async () => {
    await served(async ({ other }) => {
      await other.makeFolder("bad");
      await volume.writeFile("bad/file", "1");
    });
    expect(volume.store.status().scan).toBeUndefined();
    let lists = 0;
    volume.disk.fault = (operation, path) => {
      if (operation !== "list" || path !== "bad") return undefined;
      lists++;
      return "Io";
    };
    const scanned = volume.store.scan();
    await volume.clock.advance(100_000);
    expect(volume.store.status().scan).toMatchObject({ why: "missed", stuck: { path: "bad", kind: "Io" } });
    expect(volume.isUncertain).toBe(true);
    // Fewer than once a second for hours.
    expect(lists).toBeLessThan(12);
    volume.disk.fault = undefined;
    // A reason to look again does not wait for the next try.
    void volume.store.scan();
    await volume.clock.advance(100);
    await scanned;
    expect(volume.store.status()).toMatchObject({ isScanning: false, scan: undefined });
    expect(volume.isUncertain).toBe(false);
    await expectInStep();
  });

  test("are all found by a scan after lost events", async () => {
    await served(async ({ other }) => {
      await other.makeFolder("gone");
      await volume.writeFile("gone/file", "1");
      await volume.writeFile("moved", "2");
      await volume.writeFile("changed", "3");
    });
    const moved = await nodeOf(ROOT_NODE, "moved");
    const { watchers } = volume.disk;
    const kept = [...watchers];
    watchers.clear();
    await volume.other.removeFile("gone/file");
    await volume.other.removeFolder("gone");
    await volume.other.makeFolder("a");
    await volume.other.rename("moved", "a/moved", "keep");
    await volume.writeFile("changed", "other");
    await volume.settle();
    for (const watcher of kept) watchers.add(watcher);
    const scanned = volume.store.scan();
    expect(volume.isUncertain).toBe(true);
    await volume.settle();
    await scanned;
    expect(volume.isUncertain).toBe(false);
    await expectInStep();
    expect(await nodeOf(await nodeOf(ROOT_NODE, "a"), "moved")).toBe(moved);
  });
});
