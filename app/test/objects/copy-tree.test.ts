// Copies between places, over files in memory and a simulated disk.
import { expect, test } from "@jest/globals";
import { SimulatedClock, SimulatedDisk } from "@runnel/shared";
import { type CopyPlace, copyTree, localEnd, volumeEnd } from "../../src/agent/objects/copy-tree.ts";
import { splitUrl } from "../../src/agent/objects/find-object.ts";
import { LocalFiles } from "../../src/agent/objects/local-files.ts";
import { MemoryFiles } from "./memory-files.ts";

async function makeRig() {
  const disk = new SimulatedDisk({ clock: new SimulatedClock(), seed: 1 });
  const root = await disk.openRoot("/home", { permissions: 0o700 });
  await root.makeFolder("tree");
  await root.makeFolder("tree/below");
  const write = (path: string, text: string): Promise<void> =>
    root.writeFile(path, Buffer.from(text), { mode: "create", permissions: 0o640, stat: { mtimeNs: 7n } });
  await write("tree/a.txt", "one");
  await write("tree/below/b.txt", "two");
  await root.makeSymlink("tree/link", "a.txt");
  const [one, two] = ["one", "two"].map((name) => new MemoryFiles(`wss://files.example.org:7473/${name}`, disk));
  const here = (path: string): CopyPlace => ({ end: localEnd(new LocalFiles(disk), async () => false), path });
  const there = (files: MemoryFiles | undefined, path: string): CopyPlace => ({
    end: volumeEnd(files as MemoryFiles),
    path,
  });
  const copy = (from: CopyPlace, to: CopyPlace, isRecursive = true): ReturnType<typeof copyTree> =>
    copyTree(from, to, { isRecursive, signal: new AbortController().signal });
  return { root, one, two, here, there, copy };
}

test("a tree goes into a volume, from there into another, and back; what is no file is named", async () => {
  const { root, one, two, here, there, copy } = await makeRig();
  const copied = await copy(here("/home/tree"), there(one, ""));
  expect(copied).toEqual({ files: 2, folders: 2, bytes: 6, skipped: ["/home/tree/link"] });
  expect([...(one?.stored.keys() ?? [])]).toEqual(["tree", "tree/a.txt", "tree/below", "tree/below/b.txt"]);
  expect(one?.stored.get("tree/a.txt")).toMatchObject({ mode: 0o640, mtimeNs: 7n });
  await copy(there(one, "tree"), there(two, "other"));
  expect([...(two?.stored.keys() ?? [])]).toEqual(["other", "other/a.txt", "other/below", "other/below/b.txt"]);
  await copy(there(two, "other"), here("/home/back"));
  expect(Buffer.from(await root.readFile("back/below/b.txt", 10)).toString()).toBe("two");
  expect(await root.stat("back/a.txt")).toMatchObject({ mode: 0o640, mtimeNs: 7n });
});

test("a file takes the name that is given, or its own in a folder that is there", async () => {
  const { one, here, there, copy } = await makeRig();
  await one?.makeFolders("folder");
  await copy(here("/home/tree/a.txt"), there(one, "new.txt"), false);
  await copy(here("/home/tree/a.txt"), there(one, "folder"), false);
  expect([...(one?.stored.keys() ?? [])]).toEqual(["folder", "new.txt", "folder/a.txt"]);
});

test("what cannot be is refused, and nothing is changed", async () => {
  const { one, here, there, copy } = await makeRig();
  await copy(here("/home/tree"), there(one, "tree"));
  const before = [...(one?.stored.keys() ?? [])];
  const refused: [CopyPlace, CopyPlace, boolean, string][] = [
    [here("/home/nothing"), there(one, "x"), true, "NotFound"],
    [here("/home/tree"), there(one, "x"), false, "IsFolder"],
    [here("/home/tree"), there(one, "tree/a.txt"), true, "NotFolder"],
    [there(one, "tree"), there(one, "tree/below"), true, "Invalid"],
    [there(one, ""), there(one, "x"), true, "Invalid"],
    [there(one, "tree/a.txt"), there(one, "tree/a.txt"), false, "Invalid"],
  ];
  for (const [from, to, isRecursive, kind] of refused)
    await expect(copy(from, to, isRecursive)).rejects.toMatchObject({ kind });
  expect([...(one?.stored.keys() ?? [])]).toEqual(before);
});

test("an address is that of a volume, and a path in it that leads nowhere else", () => {
  const url = "wss://files.example.org:7473/docs";
  expect(splitUrl(url)).toEqual({ url, path: "" });
  expect(splitUrl(`${url}/`)).toEqual({ url, path: "" });
  expect(splitUrl(`${url}/a/K%C3%A4se%20b`)).toEqual({ url, path: "a/Käse b" });
  for (const wrong of ["/../x", "/a/./b", "/a%2Fb", "/%", "/a?b", "/a#b", "/%2e%2e"])
    expect(() => splitUrl(url + wrong)).toThrow(expect.objectContaining({ kind: "Invalid" }));
  for (const wrong of ["https://a/b/c", "wss://a", "wss:///docs", "wss://me@a:1/docs/x"])
    expect(() => splitUrl(wrong)).toThrow(expect.objectContaining({ kind: "Invalid" }));
});
