// Commits that cannot be put in place for the sake of one folder or file: what does not depend on them goes on.
import { afterEach, describe, expect, test } from "@jest/globals";
import { inlineExecutor } from "@runnel/native";
import { ROOT_NODE } from "@runnel/shared";
import { openFolderStore } from "../../../../src/content/folder/folder-store.ts";
import { FOLDER as ROOT, TestVolume, folderStore, locked } from "../test-volume.ts";

let volume: TestVolume;

afterEach(async () => {
  await volume.store.close();
});

async function started(open = folderStore()): Promise<void> {
  volume = new TestVolume(1, open);
  await volume.start();
  await volume.settle();
}

const FOLDER = { type: "folder", mode: 0o755 } as const;

/** All is applied, and nothing was taken for another program's doing. */
async function endsWell(): Promise<void> {
  volume.disk.fault = undefined;
  await volume.settle(40_000);
  expect(volume.store.status()).toMatchObject({ pendingCommits: 0, stuck: undefined });
  expect(await volume.tree()).toEqual(await volume.files());
  const reported = volume.externals.flat();
  expect(reported.filter(({ op }) => op !== "setRecipe" && op !== "externalAttributes")).toEqual([]);
  expect(await volume.store.notices()).toEqual([]);
}

async function mtimes(): Promise<[string, bigint, bigint][]> {
  const all: [string, bigint, bigint][] = [];
  for (const { name, state } of await volume.meta.list(ROOT_NODE, "", 100))
    all.push([name, state.mtimeNs, (await volume.other.stat(name)).mtimeNs]);
  return all;
}

describe("[F166] a commit that cannot be put in place", () => {
  test("lets three behind it be applied at once, waits through restarts, and is applied when it can be", async () => {
    await started();
    const shut = await volume.make(ROOT_NODE, "shut", FOLDER);
    const free = await volume.make(ROOT_NODE, "free", FOLDER);
    const old = await volume.file(free, "old", "old");
    await volume.file(free, "gone", "gone");
    await volume.settle();
    volume.disk.fault = locked(["shut/"]);
    const stuck = await volume.file(shut, "stuck", "text");
    await volume.file(free, "new", "new");
    await volume.write(old, "newer");
    const { seq } = await volume.remove(free, "gone");
    const isApplied: number[] = [];
    void volume.store.whenApplied(seq).then(() => isApplied.push(seq));
    await volume.clock.advance(100);
    const shown = [
      ["free", "folder"],
      ["free/new", "file new"],
      ["free/old", "file newer"],
      ["shut", "folder"],
    ];
    expect([...(await volume.files())]).toEqual(shown);
    const status = { pendingCommits: 2, stuck: { path: "shut/stuck", kind: "Denied" } };
    expect(volume.store.status()).toMatchObject(status);
    expect(await volume.readVersion(stuck, (await volume.meta.node(stuck))?.version ?? 0)).toBe("text");
    for (const end of ["kill", "cutPower", "kill"] as const) {
      volume[end]();
      await volume.restart(locked(["shut/"]));
      await volume.clock.advance(5000);
      expect(volume.store.status()).toMatchObject(status);
      expect([...(await volume.files())]).toEqual(shown);
    }
    await volume.file(free, "later", "later");
    await volume.clock.advance(100);
    expect(await volume.readFile("free/later")).toBe("later");
    expect(isApplied).toEqual([]);
    await endsWell();
  });

  test.each<[string, (shut: number, file: number) => Promise<unknown>]>([
    ["something is made in it", (shut) => volume.file(shut, "new", "text")],
    ["a file in it is saved", (_, file) => volume.write(file, "newer")],
    ["a file in it is removed", (shut) => volume.remove(shut, "file")],
    ["a file is moved out of it", (shut) => volume.rename(shut, "file", ROOT_NODE, "moved")],
    ["it is renamed", () => volume.rename(ROOT_NODE, "shut", ROOT_NODE, "moved")],
    ["its mode is set", (shut) => volume.commit({ op: "setAttr", node: shut, change: { mode: 0o700 } })],
  ])("lets others go on where another file system is mounted on a folder and %s", async (_how, act) => {
    await started();
    const shut = await volume.make(ROOT_NODE, "shut", FOLDER);
    const file = await volume.file(shut, "file", "old");
    await volume.settle();
    volume.disk.mountOver(`${ROOT}/shut`);
    await act(shut, file);
    await volume.clock.advance(100);
    await volume.file(ROOT_NODE, "free", "text");
    await volume.clock.advance(5000);
    expect(volume.store.status().stuck).toMatchObject({ kind: "Busy", sentence: expect.stringContaining("mounted") });
    expect(await volume.readFile("free")).toBe("text");
  });

  test.each<[string, "disk" | "volume", () => Promise<unknown>]>([
    ["make of a file", "disk", () => volume.make(ROOT_NODE, "taken")],
    ["make of a folder", "disk", () => volume.make(ROOT_NODE, "taken", FOLDER)],
    ["rename", "disk", () => volume.rename(ROOT_NODE, "folder", ROOT_NODE, "taken")],
    ["make of a file", "volume", () => volume.make(ROOT_NODE, "taken")],
    ["make of a folder", "volume", () => volume.make(ROOT_NODE, "taken", FOLDER)],
    ["rename", "volume", () => volume.rename(ROOT_NODE, "folder", ROOT_NODE, "taken")],
  ])("by %s leaves alone another %s at the name, and lets others go on", async (_how, what, act) => {
    await started();
    await volume.make(ROOT_NODE, "folder", FOLDER);
    await volume.settle();
    volume.disk.fault = locked(["taken"]);
    await act();
    await volume.clock.advance(100);
    volume.disk.fault = undefined;
    await volume.other.makeFolder("taken");
    if (what === "disk") volume.disk.mountOver(`${ROOT}/taken`);
    else {
      await volume.other.makeFolder("taken/.runnel-store");
      await volume.writeFile("taken/.runnel-store/volume", "{}");
    }
    await volume.clock.advance(1000);
    await volume.file(ROOT_NODE, "free", "text");
    await volume.clock.advance(5000);
    expect(volume.store.status().stuck).toMatchObject({ path: "taken", kind: "Busy" });
    expect(await volume.readFile("free")).toBe("text");
    const names: string[] = [];
    await volume.other.list("", (entries) => void names.push(...entries.map(({ name }) => name ?? "")));
    expect(names.filter((name) => name.startsWith("taken"))).toEqual(["taken"]);
  });

  test("lets its folder's other names be applied, and does not turn back the folder's time", async () => {
    await started();
    const folder = await volume.make(ROOT_NODE, "folder", FOLDER);
    const fixed = await volume.file(folder, "fixed", "old");
    await volume.settle();
    volume.disk.fault = locked(["folder/fixed", "folder/long"], "BadName");
    await volume.make(folder, "long");
    await volume.write(fixed, "new");
    await volume.clock.advance(5000);
    await volume.file(folder, "other", "text");
    await volume.clock.advance(100);
    expect([...(await volume.files())]).toEqual([
      ["folder", "folder"],
      ["folder/fixed", "file old"],
      ["folder/other", "file text"],
    ]);
    await endsWell();
    for (const [, wanted, got] of await mtimes()) expect(got).toBe(wanted);
  });

  test("keeps what depends on it waiting: the same file, its name, what is in it, what is copied from it", async () => {
    await started();
    const shut = await volume.make(ROOT_NODE, "shut", FOLDER);
    const below = await volume.file(shut, "file", "1");
    await volume.settle();
    volume.disk.fault = locked(["shut/"]);
    const made = await volume.make(shut, "made", FOLDER);
    await volume.file(made, "in it", "text");
    const { version } = await volume.write(below, "22");
    await volume.write(below, "333");
    const copy = await volume.make(ROOT_NODE, "copy");
    const runs = [{ from: "version" as const, version: { node: below, seq: version }, offset: 0, length: 2 }];
    await volume.write(copy, "", { runs, sizeBytes: 2 });
    await volume.rename(shut, "file", ROOT_NODE, "moved");
    await volume.file(shut, "file", "another");
    await volume.rename(ROOT_NODE, "shut", ROOT_NODE, "opened");
    await volume.file(ROOT_NODE, "shut", "in its place");
    await volume.file(ROOT_NODE, "free", "text");
    await volume.clock.advance(100);
    expect([...(await volume.files())]).toEqual([
      ["copy", "file "],
      ["free", "file text"],
      ["shut", "folder"],
      ["shut/file", "file 1"],
    ]);
    volume.kill();
    await volume.restart();
    await endsWell();
    expect(await volume.readVersion(copy, (await volume.meta.node(copy))?.version ?? 0)).toBe("22");
    expect(await volume.readFile("opened/made/in it")).toBe("text");
  });

  test("does not cost the versions of what was applied behind it, also through a restart", async () => {
    await started();
    const shut = await volume.make(ROOT_NODE, "shut", FOLDER);
    const node = await volume.file(ROOT_NODE, "file", "first");
    await volume.settle();
    volume.disk.fault = locked(["shut/"]);
    await volume.make(shut, "stuck");
    const versions: [number, string][] = [];
    for (const text of ["second", "third"]) {
      versions.push([(await volume.write(node, text)).version, text]);
      await volume.clock.advance(100);
    }
    expect(await volume.readFile("file")).toBe("third");
    volume.kill();
    await volume.restart(locked(["shut/"]));
    await volume.clock.advance(5000);
    for (const [version, text] of versions) expect(await volume.readVersion(node, version)).toBe(text);
    await endsWell();
    for (const [version, text] of versions) expect(await volume.readVersion(node, version)).toBe(text);
  });

  test("keeps with it what it has superseded: the log has the bytes", async () => {
    await started();
    const node = await volume.make(ROOT_NODE, "large");
    await volume.settle();
    volume.disk.fault = locked(["large"]);
    const text = "x".repeat(1024 * 1024);
    // While this is on its way, the others gather to one batch.
    await volume.file(ROOT_NODE, "before", "text");
    const first = await volume.write(node, `${text}1`);
    const last = await volume.write(node, `${text}2`);
    await volume.file(ROOT_NODE, "free", "text");
    await volume.clock.advance(100);
    expect(await volume.readFile("free")).toBe("text");
    expect((await volume.meta.passed()).waiting).toEqual([first.seq, last.seq]);
    expect((await volume.meta.facts()).appliedSeq).toBeLessThan(first.seq);
    await endsWell();
    expect((await volume.readVersion(node, last.version)).endsWith("2")).toBe(true);
  });

  test("for a sector that cannot be read, of a file that it copies from", async () => {
    await started((parts) =>
      openFolderStore({ ...parts, executor: inlineExecutor(), settings: { volume: "volume 1" } }),
    );
    const bad = await volume.file(ROOT_NODE, "bad", "some bytes");
    await volume.settle();
    const version = { node: bad, seq: (await volume.meta.node(bad))?.version ?? 0 };
    volume.disk.fault = (operation, path) =>
      path === "bad" && ["open", "read", "copyFrom"].includes(operation) ? "Io" : undefined;
    await volume.write(bad, "", { runs: [{ from: "version", version, offset: 0, length: 4 }], sizeBytes: 4 });
    await volume.file(ROOT_NODE, "free", "text");
    await volume.clock.advance(100);
    expect(await volume.readFile("free")).toBe("text");
    expect(volume.store.status()).toMatchObject({ pendingCommits: 1, stuck: { path: "bad", kind: "Io" } });
    await endsWell();
    expect(await volume.readFile("bad")).toBe("some");
  });

  test("reports the first, and the next when that is applied", async () => {
    await started();
    const folders = [];
    for (const name of ["a", "b"]) folders.push(await volume.make(ROOT_NODE, name, FOLDER));
    await volume.settle();
    volume.disk.fault = locked(["a/", "b/"]);
    for (const folder of folders) await volume.make(folder, "stuck");
    await volume.clock.advance(1000);
    expect(volume.store.status()).toMatchObject({ pendingCommits: 2, stuck: { path: "a/stuck" } });
    volume.disk.fault = locked(["b/"], "ReadOnly");
    await volume.clock.advance(30_000);
    expect(volume.store.status()).toMatchObject({ pendingCommits: 1, stuck: { path: "b/stuck", kind: "ReadOnly" } });
    await endsWell();
  });

  test("and hundreds like it", async () => {
    await started();
    const shut = await volume.make(ROOT_NODE, "shut", FOLDER);
    await volume.settle();
    volume.disk.fault = locked(["shut/"]);
    for (let index = 0; index < 500; index++) await volume.make(shut, `file ${index}`);
    await volume.file(ROOT_NODE, "free", "text");
    await volume.clock.runUntil(() => volume.store.status().pendingCommits === 500, 60_000);
    expect(await volume.readFile("free")).toBe("text");
    await volume.clock.advance(60_000);
    await volume.file(ROOT_NODE, "later", "text");
    await volume.clock.advance(100);
    expect(await volume.readFile("later")).toBe("text");
    await endsWell();
  });
});
