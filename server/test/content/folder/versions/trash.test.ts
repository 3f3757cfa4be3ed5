// The trash: whole old files with their records, within a budget, through the loss of the database.
import { readFileSync } from "node:fs";
import { afterEach, describe, expect, test } from "@jest/globals";
import { ROOT_NODE } from "@runnel/shared";
import { parseTrashRecord } from "../../../../src/content/folder/versions/trash.ts";
import type { FolderSettings } from "../../../../src/content/folder/folder-store.ts";
import { TestVolume, namesIn, startedVolume } from "../test-volume.ts";

let volume: TestVolume;

afterEach(async () => {
  await volume.store.close();
});

async function started(settings: Partial<FolderSettings> = {}): Promise<void> {
  volume = await startedVolume(settings);
}

describe("the trash", () => {
  test("[F25][F26] has whole old files, each with a record beside it", async () => {
    await started();
    const node = await volume.file(ROOT_NODE, "file", "old");
    await volume.settle();
    const { ino } = await volume.other.stat("file");
    const old = (await volume.meta.node(node))?.version ?? 0;
    await volume.write(node, "new");
    await volume.settle();
    const name = `01234567-${node}-${old}`;
    expect(await namesIn(volume.other, ".runnel-store/trash")).toEqual([name, `${name}.json`]);
    expect((await volume.other.stat(`.runnel-store/trash/${name}`)).ino).toBe(ino);
    const record: unknown = JSON.parse(await volume.readFile(`.runnel-store/trash/${name}.json`));
    expect(record).toMatchObject({ format: 1, node, seq: old, path: "file", sizeBytes: 3 });
    expect(await volume.readVersion(node, old)).toBe("old");
  });

  test("[F26] tells a record with any changed byte", () => {
    const bytes = readFileSync(new URL("../samples/trash-record-1.json", import.meta.url));
    expect(parseTrashRecord(bytes)).toMatchObject({ node: 7, seq: 12 });
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(at) ^ (1 << (at % 7)), at);
      expect(() => parseTrashRecord(changed)).toThrow(expect.objectContaining({ kind: "Corrupt" }));
    }
  });

  test("drops the oldest when it is over its budget, but nothing that is open", async () => {
    await started({ trash: { bytesMax: 10 } });
    const node = await volume.make(ROOT_NODE, "file");
    const versions: number[] = [];
    for (const text of ["one 1", "two 2", "three", "four.", "five."]) {
      versions.push((await volume.write(node, text)).version);
      await volume.settle(3000);
    }
    const [one, two, three, four] = versions as [number, number, number, number];
    for (const removed of [one, two])
      await expect(volume.store.open({ node, seq: removed })).rejects.toMatchObject({ kind: "Gone" });
    const opened = await volume.store.open({ node, seq: three });
    await volume.write(node, "six..");
    await volume.settle(3000);
    expect(Buffer.from(await opened.read(0, 5)).toString()).toBe("three");
    await expect(volume.store.open({ node, seq: four })).rejects.toMatchObject({ kind: "Gone" });
    await opened.close();
  });

  test("drops others where one cannot be dropped, and applying goes on", async () => {
    await started({ trash: { bytesMax: 10 } });
    const node = await volume.make(ROOT_NODE, "file");
    const versions: number[] = [];
    for (const text of ["one 1", "two 2", "three", "four."]) {
      versions.push((await volume.write(node, text)).version);
      if (versions.length === 2)
        volume.disk.fault = (operation, path) =>
          operation === "removeFile" && path.endsWith(`-${versions[0]}`) ? "Denied" : undefined;
      await volume.settle(3000);
    }
    expect(volume.store.status()).toMatchObject({ pendingCommits: 0, stuck: undefined });
    const [, two] = versions as [number, number];
    await expect(volume.store.open({ node, seq: two })).rejects.toMatchObject({ kind: "Gone" });
  });

  test("drops what is older than its days", async () => {
    await started({ trash: { daysMax: 1 } });
    const node = await volume.file(ROOT_NODE, "file", "old");
    await volume.settle();
    const old = (await volume.meta.node(node))?.version ?? 0;
    await volume.write(node, "new");
    await volume.settle();
    expect(await volume.readVersion(node, old)).toBe("old");
    volume.clock.suspend(25 * 3_600_000);
    await volume.settle(120_000);
    await expect(volume.store.open({ node, seq: old })).rejects.toMatchObject({ kind: "Gone" });
    expect(await namesIn(volume.other, ".runnel-store/trash")).toEqual([]);
  });

  test("[F27] says that an old version is lost when a program goes on writing to its file", async () => {
    await started();
    const node = await volume.file(ROOT_NODE, "file", "old");
    await volume.settle();
    const old = (await volume.meta.node(node))?.version ?? 0;
    const opened = await volume.other.open("file", "write");
    await volume.write(node, "new");
    await volume.settle();
    await opened.write(0, Buffer.from("OLD"));
    await expect(volume.readVersion(node, old)).rejects.toMatchObject({ kind: "Lost" });
    expect(await volume.notices("lost")).toMatchObject([{ path: "file", node, seq: old }]);
    await opened.close();
  });

  test("[F25] survives the loss of the database, and its names mean nothing in the new epoch", async () => {
    await started();
    const node = await volume.file(ROOT_NODE, "file", "old");
    await volume.settle();
    await volume.write(node, "new");
    await volume.settle();
    const before = await namesIn(volume.other, ".runnel-store/trash");
    await volume.loseMeta();
    await volume.start();
    await volume.settle();
    expect(await volume.tree()).toEqual(new Map([["file", "file new"]]));
    const again = (await volume.meta.lookup(ROOT_NODE, "file"))?.node ?? 0;
    await volume.write(again, "newer");
    await volume.settle();
    const after = await namesIn(volume.other, ".runnel-store/trash");
    expect(after).toHaveLength(4);
    expect(after).toEqual(expect.arrayContaining(before));
  });

  test("gives way where the quota on its disk is used up", async () => {
    await started();
    const node = await volume.file(ROOT_NODE, "file", "old");
    await volume.settle();
    await volume.write(node, "new");
    await volume.settle();
    let isOver = true;
    volume.disk.fault = (operation, path) => {
      if (operation === "removeFile" && path.startsWith(".runnel-store/trash/")) isOver = false;
      return isOver && operation === "write" && path.includes("temp") ? "Quota" : undefined;
    };
    await volume.write(node, "newer");
    await volume.settle(3000);
    expect(volume.store.status()).toMatchObject({ pendingCommits: 0, stuck: undefined });
    expect(await volume.readFile("file")).toBe("newer");
  });

  test("does not give way where another disk is full: the log's, the index's", async () => {
    await started();
    const node = await volume.file(ROOT_NODE, "file", "old");
    await volume.settle();
    await volume.write(node, "new");
    await volume.settle();
    const kept = await namesIn(volume.other, ".runnel-store/trash");
    expect(kept).toHaveLength(2);
    volume.disk.fault = (operation, path) => (operation === "write" && path.includes("temp") ? "NoSpace" : undefined);
    await volume.write(node, "newer");
    await volume.clock.advance(60_000);
    expect(volume.store.status()).toMatchObject({ stuck: { kind: "NoSpace" } });
    expect(await namesIn(volume.other, ".runnel-store/trash")).toEqual(kept);
    // Now it is this one.
    volume.disk.takePages(Math.floor(volume.disk.freeBytes / 4096));
    await volume.clock.advance(60_000);
    expect(await namesIn(volume.other, ".runnel-store/trash")).toEqual([]);
    volume.disk.fault = undefined;
  });
});

describe("a sample of format 1", () => {
  const sample = (name: string): string => readFileSync(new URL(`../samples/${name}`, import.meta.url), "utf8");

  test("[F22][F26] is served: marker and trash of another epoch", async () => {
    volume = new TestVolume();
    await volume.fillFirst(async ({ other }) => {
      for (const folder of ["", "/temp", "/trash"]) await other.makeFolder(`.runnel-store${folder}`);
      await volume.writeFile(".runnel-store/volume", sample("volume-1.json"));
      await volume.writeFile(".runnel-store/trash/fedcba98-7-12", "old");
      await volume.writeFile(".runnel-store/trash/fedcba98-7-12.json", sample("trash-record-1.json"));
      await volume.writeFile(".runnel-store/trash/fedcba98-8-1.json", "a record without its file");
    });
    await volume.start();
    await volume.settle();
    expect(await namesIn(volume.other, ".runnel-store/trash")).toEqual(["fedcba98-7-12", "fedcba98-7-12.json"]);
  });
});
