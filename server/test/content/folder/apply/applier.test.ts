// Applied commits: plain files with their attributes, tried again while the disk fails.
import { afterEach, describe, expect, test } from "@jest/globals";
import { ROOT_NODE } from "@runnel/shared";
import { type TestVolume, startedVolume } from "../test-volume.ts";

let volume: TestVolume;

afterEach(async () => {
  await volume.store.close();
});

async function started(): Promise<void> {
  volume = await startedVolume();
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
