// The served folder: commits as plain files, the store's own folder, the trash, a folder that is not there.
import { readFileSync } from "node:fs";
import { afterEach, describe, expect, test } from "@jest/globals";
import type { DiskEntry, DiskRoot } from "@runnel/shared";
import { ROOT_NODE } from "@runnel/shared";
import { inlineExecutor } from "@runnel/native";
import type { Run } from "../../../src/meta/meta-store.ts";
import type { FolderSettings } from "../../../src/content/folder/folder-store.ts";
import { openFolderStore } from "../../../src/content/folder/folder-store.ts";
import { parseTrashRecord } from "../../../src/content/folder/versions/trash.ts";
import { enclosingVolume } from "../../../src/content/folder/disk/marker.ts";
import { FOLDER, TestVolume, folderStore } from "./test-volume.ts";

let volume: TestVolume;

afterEach(async () => {
  await volume.store.close();
});

async function started(settings: Partial<FolderSettings> = {}): Promise<TestVolume> {
  volume = new TestVolume(1, folderStore(settings));
  await volume.start();
  await volume.settle();
  return volume;
}

async function namesIn(root: DiskRoot, path: string): Promise<string[]> {
  const names: string[] = [];
  await root.list(path, (entries) => {
    for (const { name } of entries) if (name !== undefined) names.push(name);
  });
  return names.sort();
}

/** Makes a copy, as `cp -a` does, of what was moved away, in the folder's place. */
async function copyOf({ disk }: TestVolume): Promise<void> {
  const [from, to] = [await disk.openRoot("/srv/away"), await disk.openRoot(FOLDER)];
  const copy = async (path: string): Promise<void> => {
    const found: DiskEntry[] = [];
    await from.list(path, (entries) => void found.push(...entries));
    for (const { name, stat } of found) {
      const at = path === "" ? `${name}` : `${path}/${name}`;
      if (stat.type === "folder") {
        await to.makeFolder(at);
        await copy(at);
        continue;
      }
      const [source, target] = [await from.open(at, "read"), await to.open(at, "createNew", stat.mode)];
      await target.write(0, await source.read(0, stat.sizeBytes));
      await target.setStat({ mtimeNs: stat.mtimeNs });
      await source.close();
      await target.close();
    }
  };
  await copy("");
}

describe("applied commits", () => {
  test("are plain files, folders and symlinks, and no other program's changes", async () => {
    await started();
    const folder = await volume.make(ROOT_NODE, "docs", { type: "folder", mode: 0o755 });
    const node = await volume.file(folder, "a.txt", "hello");
    await volume.make(folder, "link", { type: "symlink", target: "/etc/passwd" });
    await volume.settle();
    expect(await volume.files()).toEqual(
      new Map([
        ["docs", "folder"],
        ["docs/a.txt", "file hello"],
        ["docs/link", "symlink /etc/passwd"],
      ]),
    );
    expect(await volume.tree()).toEqual(await volume.files());
    const written = await volume.write(node, "hello world");
    await volume.store.whenApplied(written.seq);
    expect(await volume.readFile("docs/a.txt")).toBe("hello world");
    await volume.rename(folder, "a.txt", ROOT_NODE, "b.txt");
    await volume.remove(folder, "link");
    await volume.settle();
    expect([...(await volume.files()).keys()]).toEqual(["b.txt", "docs"]);
    expect(volume.externals.flat().map(({ op }) => op)).toEqual(["externalAttributes"]);
    const { seq, appliedSeq } = await volume.meta.facts();
    expect(appliedSeq).toBe(seq);
  });

  test("give a folder the time that was set last, also when names changed in it before, in the same batch", async () => {
    await started();
    const folder = await volume.make(ROOT_NODE, "docs", { type: "folder", mode: 0o755 });
    for (const name of ["a", "b", "c", "d"]) await volume.file(folder, name, name);
    await volume.commit({ op: "setAttr", node: folder, change: { mtimeNs: 1_234_567_890_123_456_789n } });
    await volume.settle();
    expect((await volume.other.stat("docs")).mtimeNs).toBe(1_234_567_890_123_456_789n);
  });

  test.each<[string, (folder: number) => Promise<unknown>]>([
    ["its mode is set", (node) => volume.commit({ op: "setAttr", node, change: { mode: 0o700 } })],
    ["it is renamed", () => volume.rename(ROOT_NODE, "docs", ROOT_NODE, "papers")],
    ["it changes places with another", () => volume.rename(ROOT_NODE, "docs", ROOT_NODE, "other", "exchange")],
  ])(
    "leave a folder's time as it is where a file in it is saved over and, in the same batch, %s",
    async (_how, act) => {
      await started();
      const folder = await volume.make(ROOT_NODE, "docs", { type: "folder", mode: 0o755 });
      await volume.make(ROOT_NODE, "other", { type: "folder", mode: 0o755 });
      const node = await volume.file(folder, "a", "first");
      await volume.settle();
      volume.externals.length = 0;
      // While the first is applied, the others become one batch.
      volume.disk.delayMs = () => 10;
      await volume.file(ROOT_NODE, "before", "text");
      await volume.write(node, "second");
      await act(folder);
      await volume.settle();
      volume.disk.delayMs = () => 0;
      const [name] = await volume.meta.namesOf(folder);
      const { mtimeNs } = await volume.other.stat(name?.name ?? "");
      expect(mtimeNs).toBe((await volume.meta.node(folder))?.mtimeNs);
      expect(volume.externals.flat()).toEqual([]);
    },
  );

  test("have the attributes of the commit, the folder's time too", async () => {
    await started();
    const node = await volume.make(ROOT_NODE, "file", { mode: 0o640 });
    await volume.write(node, "text");
    await volume.commit({ op: "setAttr", node, change: { mode: 0o600, mtimeNs: 1_234_567_890_123_456_789n } });
    await volume.settle();
    expect(await volume.other.stat("file")).toMatchObject({
      mode: 0o600,
      mtimeNs: 1_234_567_890_123_456_789n,
    });
    const root = await volume.meta.node(ROOT_NODE);
    expect((await volume.other.stat("")).mtimeNs).toBe(root?.mtimeNs);
  });

  test("[F32] have the extended attributes of the commit, as far as the disk holds them, through every save", async () => {
    await started();
    const node = await volume.file(ROOT_NODE, "file", "text");
    const set = (name: string, value: Uint8Array | null): Promise<unknown> =>
      volume.commit({ op: "setAttr", node, change: { xattr: [name, value] } });
    await set("user.small", Buffer.from("s"));
    await set("user.large", Buffer.alloc(60_000));
    await set("user.gone", Buffer.from("g"));
    await set("user.gone", null);
    await volume.settle();
    const onDisk = async (): Promise<string[]> => (await volume.other.xattrs("file")).map(([name]) => name);
    expect(await onDisk()).toEqual(["user.small"]);
    await volume.write(node, "another text");
    await volume.commit({
      op: "rename",
      folder: ROOT_NODE,
      name: "file",
      node,
      toFolder: ROOT_NODE,
      toName: "x",
      how: "keep",
    });
    await volume.commit({
      op: "rename",
      folder: ROOT_NODE,
      name: "x",
      node,
      toFolder: ROOT_NODE,
      toName: "file",
      how: "keep",
    });
    await volume.settle();
    expect(await onDisk()).toEqual(["user.small"]);
    expect((await volume.meta.xattrs(node)).map(([name]) => name)).toEqual(["user.large", "user.small"]);
    expect(volume.externals.flat().map(({ op }) => op)).toEqual(["externalAttributes"]);
  });

  test("keep hard links together", async () => {
    await started();
    const node = await volume.file(ROOT_NODE, "one", "first");
    await volume.commit({ op: "link", node, folder: ROOT_NODE, name: "two" });
    await volume.write(node, "second");
    await volume.settle();
    expect(await volume.readFile("two")).toBe("second");
    expect((await volume.other.stat("one")).ino).toBe((await volume.other.stat("two")).ino);
    expect(await volume.store.notices()).toEqual([]);
  });

  test("wait while the disk is full: the status says so, reads go on, it is tried again", async () => {
    await started();
    const node = await volume.file(ROOT_NODE, "file", "old");
    await volume.settle();
    volume.disk.fault = (operation, path) => (operation === "write" && path.includes("temp") ? "NoSpace" : undefined);
    const { version, seq } = await volume.write(node, "new");
    await volume.clock.advance(10_000);
    expect(volume.store.status()).toMatchObject({ pendingCommits: 1, stuck: { path: "file", kind: "NoSpace" } });
    expect(await volume.readVersion(node, version)).toBe("new");
    expect(await volume.readFile("file")).toBe("old");
    volume.disk.fault = undefined;
    await volume.settle(30_000);
    await volume.store.whenApplied(seq);
    expect(await volume.readFile("file")).toBe("new");
    expect(volume.store.status()).toMatchObject({ pendingCommits: 0, stuck: undefined });
  });

  test("are prepared again when one of a batch fails", async () => {
    await started();
    let left = 7;
    volume.disk.fault = (operation, path) =>
      operation === "sync" && path.includes("temp") && left-- === 0 ? "Io" : undefined;
    for (let index = 0; index < 10; index++) await volume.file(ROOT_NODE, `file ${index}`, `content ${index}`);
    await volume.settle(30_000);
    expect(await volume.tree()).toEqual(await volume.files());
    expect(volume.store.status()).toMatchObject({ pendingCommits: 0, stuck: undefined });
    expect(await volume.store.notices()).toEqual([]);
  });

  test("superseded by a later one of a large file are not copied for nothing", async () => {
    await started();
    const node = await volume.make(ROOT_NODE, "large");
    const text = "x".repeat(1024 * 1024);
    const { version } = await volume.write(node, `${text}1`);
    const last = await volume.write(node, `${text}2`);
    await volume.settle();
    await expect(volume.store.open({ node, seq: version })).rejects.toMatchObject({ kind: "Gone" });
    expect((await volume.readVersion(node, last.version)).endsWith("2")).toBe(true);
  });
});

describe("the store's own folder", () => {
  test("[F20] is never listed, wherever it lies", async () => {
    await started();
    await volume.other.makeFolder("deep");
    await volume.other.makeFolder("deep/.runnel-store");
    await volume.writeFile("deep/.runnel-store/hidden", "1");
    await volume.settle();
    expect([...(await volume.tree()).keys()]).toEqual(["deep"]);
  });

  test("[F22] has a marker with the format and the volume's id", async () => {
    await started();
    expect(JSON.parse(await volume.readFile(".runnel-store/volume"))).toEqual({ format: 1, volume: "volume 1" });
  });

  test("[F22] of a newer format is refused by name", async () => {
    await started();
    await volume.writeFile(".runnel-store/volume", JSON.stringify({ format: 2, volume: "volume 1" }));
    await volume.store.close();
    await expect(volume.start()).rejects.toMatchObject({ kind: "Version", detail: { need: 2 } });
  });

  test("[F24] keeps of temp/ what pending commits need, and nothing else", async () => {
    await started();
    await volume.store.stage();
    const staged = await volume.store.stage();
    await staged.write(0, Buffer.from("staged"));
    await staged.sync(6);
    volume.disk.fault = (operation) => (operation === "rename" ? "Io" : undefined);
    const node = await volume.make(ROOT_NODE, "file");
    await volume.write(node, "", { temp: staged.name, runs: [{ from: "temp", length: 6 }], sizeBytes: 6 });
    await volume.clock.advance(0);
    volume.kill();
    await volume.restart();
    await volume.settle();
    expect(await volume.readFile("file")).toBe("staged");
    expect(await namesIn(volume.other, ".runnel-store/temp")).toEqual([]);
  });
});

describe("a folder that may be another one", () => {
  test("[F21] without its marker is unavailable, never empty, and is served again when the marker is back", async () => {
    await started();
    const node = await volume.file(ROOT_NODE, "file", "text");
    await volume.file(ROOT_NODE, "gone", "text");
    await volume.settle();
    await volume.other.rename(".runnel-store/volume", ".runnel-store/away", "keep");
    await volume.other.removeFile("gone");
    await volume.write(node, "while away");
    await volume.clock.advance(5000);
    await expect(volume.store.checkRoot()).rejects.toMatchObject({ kind: "Unavailable" });
    expect(volume.removals).toEqual([expect.stringContaining("marker")]);
    expect([...(await volume.tree()).keys()]).toEqual(["file", "gone"]);
    await expect(volume.store.open({ node, seq: 3 })).rejects.toMatchObject({ kind: "Unavailable" });
    expect(volume.store.status()).toMatchObject({ pendingCommits: 1, stuck: { path: "file", kind: "Unavailable" } });
    await volume.store.close();
    await expect(volume.start()).rejects.toMatchObject({ kind: "Unavailable" });
    await volume.other.rename(".runnel-store/away", ".runnel-store/volume", "keep");
    await volume.start();
    await volume.settle();
    expect(await volume.tree()).toEqual(new Map([["file", "file while away"]]));
    expect(await volume.store.notices()).toEqual([]);
  });

  test("[F21] is not begun with when it has no marker but was served", async () => {
    volume = new TestVolume(1, folderStore({ wasServed: true }));
    await expect(volume.start()).rejects.toMatchObject({ kind: "Unavailable", message: /marker/ });
    expect(volume.externals).toEqual([]);
    expect(await namesIn(volume.other, "")).toEqual([]);
    await volume.other.makeFolder(".runnel-store");
    await volume.writeFile("file", "text");
    await volume.writeFile(".runnel-store/volume", JSON.stringify({ format: 1, volume: "volume 1" }));
    await volume.start();
    await volume.settle();
    expect([...(await volume.tree()).keys()]).toEqual(["file"]);
  });

  test("[F21] of another volume is unavailable", async () => {
    await started();
    await volume.writeFile(".runnel-store/volume", JSON.stringify({ format: 1, volume: "volume 2" }));
    await volume.store.close();
    await expect(volume.start()).rejects.toMatchObject({ kind: "Unavailable", message: /another volume/ });
  });

  test.each(["nothing", "a copy", "an empty folder"])(
    "[F110] that is moved away is found gone by its path, with %s in its place",
    async (instead) => {
      await started();
      await volume.file(ROOT_NODE, "file", "text");
      await volume.settle();
      const above = await volume.disk.openRoot("/srv");
      await above.rename("docs", "away", "keep");
      if (instead !== "nothing") await above.makeFolder("docs");
      if (instead === "a copy") await copyOf(volume);
      await volume.other.removeFile("file");
      await volume.clock.advance(2000);
      await expect(volume.store.checkRoot()).rejects.toMatchObject({ kind: "Unavailable" });
      expect(volume.removals).toHaveLength(1);
      expect([...(await volume.tree()).keys()]).toEqual(["file"]);
      await volume.store.close();
      if (instead === "nothing") {
        await above.rename("away", "docs", "keep");
        await volume.writeFile("file", "text");
      }
      const starting = volume.start();
      if (instead === "an empty folder") return expect(starting).rejects.toMatchObject({ kind: "Unavailable" });
      await starting;
      await volume.settle();
      expect(await volume.tree()).toEqual(new Map([["file", "file text"]]));
      return undefined;
    },
  );

  test("[F111] reports nothing as applied, and nothing staged as saved, that went into a folder moved away a moment before", async () => {
    await started();
    const node = await volume.file(ROOT_NODE, "file", "text");
    await volume.settle();
    const appliedSeqs = volume.appliedSeqs.length;
    const staged = await volume.store.stage();
    await staged.write(0, Buffer.from("staged"));
    const above = await volume.disk.openRoot("/srv");
    await above.rename("docs", "away", "keep");
    await above.makeFolder("docs");
    await copyOf(volume);
    await expect(staged.sync(6)).rejects.toMatchObject({ kind: "Unavailable" });
    await volume.write(node, "acknowledged");
    await volume.clock.advance(2000);
    expect(volume.appliedSeqs).toHaveLength(appliedSeqs);
    await volume.store.close();
    await volume.start();
    await volume.settle();
    expect(await volume.readFile("file")).toBe("acknowledged");
  });

  test("[F112] that is a copy gets what was half done in the one it was made of", async () => {
    await started();
    const node = await volume.file(ROOT_NODE, "file", "text");
    await volume.settle();
    volume.disk.fault = (operation, path) => (operation === "rename" && !path.includes("staged") ? "Io" : undefined);
    await volume.write(node, "acknowledged");
    await volume.make(ROOT_NODE, "made");
    await volume.clock.advance(1000);
    expect(volume.log.filter(({ kind }) => kind === "handle").length).toBeGreaterThan(0);
    volume.kill();
    volume.disk.fault = undefined;
    const above = await volume.disk.openRoot("/srv");
    await above.rename("docs", "away", "keep");
    await above.makeFolder("docs");
    await copyOf(volume);
    await volume.restart();
    await volume.settle();
    expect(await volume.readFile("file")).toBe("acknowledged");
    expect((await volume.tree()).get("made")).toBe("file ");
    expect(await namesIn(volume.other, ".runnel-store/temp")).toEqual([]);
  });

  test("[F23] is excluded by name when it is a volume inside this one", async () => {
    await started();
    await volume.other.makeFolder("nested");
    await volume.other.makeFolder("nested/.runnel-store");
    await volume.writeFile("nested/.runnel-store/volume", "{}");
    await volume.writeFile("nested/file", "1");
    await volume.settle();
    await volume.store.scan();
    expect(await volume.tree()).toEqual(new Map());
    expect(volume.store.status().excluded.examples).toEqual(["nested (a volume of its own)"]);
    expect(await enclosingVolume(volume.disk, `${FOLDER}/nested/below`)).toBe(`${FOLDER}/nested`);
    expect(await enclosingVolume(volume.disk, `${FOLDER}/other`)).toBe(FOLDER);
    expect(await enclosingVolume(volume.disk, FOLDER)).toBeUndefined();
  });

  test("on another file system below is skipped, and comes to no removal", async () => {
    await started();
    await volume.other.makeFolder("disk");
    await volume.writeFile("disk/file", "1");
    await volume.settle();
    volume.disk.mountOver(`${FOLDER}/disk`);
    await volume.store.scan();
    await volume.settle();
    expect((await volume.meta.list(ROOT_NODE, "", 10)).map(({ name }) => name)).toEqual(["disk"]);
    expect(volume.store.status().excluded.examples).toContain("disk (another file system)");
  });
});

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
    const bytes = readFileSync(new URL("samples/trash-record-1.json", import.meta.url));
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
});

describe("a sample of format 1", () => {
  const sample = (name: string): string => readFileSync(new URL(`samples/${name}`, import.meta.url), "utf8");

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
});
