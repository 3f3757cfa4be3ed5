import { describe, expect, test } from "@jest/globals";
import type { FolderView } from "../../src/agent/control/host/folder-view.ts";
import { type MountTableEntry, parseMountInfo } from "@runnel/shared";
import { checkMountPoint, resolvePath } from "../../src/agent/control/mount-point.ts";
import type { PathForm } from "../../src/agent/control/paths/path-form.ts";
import { posixPaths } from "../../src/agent/control/paths/posix-paths.ts";
import { windowsPaths } from "../../src/agent/control/paths/windows-paths.ts";

/** Folders end with "/", symlinks have a target, "!" marks what must never be touched. */
function view(tree: Record<string, string>, paths: PathForm = posixPaths): FolderView {
  const touch = (path: string): string | undefined => {
    const isIn = (name: string): boolean =>
      path === name || ["/", "\\"].some((end) => path.startsWith(name.endsWith(end) ? name : name + end));
    if (Object.entries(tree).some(([name, what]) => what === "!" && isIn(name))) {
      throw new Error(`touched ${path}`);
    }
    return tree[path];
  };
  return {
    paths,
    async probe(path) {
      const what = touch(path);
      if (what === undefined) return { type: "missing" };
      if (what === "/") return { type: "folder" };
      return what === "" ? { type: "other" } : { type: "symlink", target: what };
    },
    async mayWrite() {
      return true;
    },
    async isEmpty(folder) {
      touch(folder);
      return !Object.keys(tree).some((path) => path.startsWith(`${folder}/`));
    },
  };
}

function runnelMount(mountpoint: string): MountTableEntry {
  return { mountpoint, device: "0:42", fileSystem: "fuse", source: "runnel:docs" };
}

const OWN = { home: "/state/runnel", cache: "/state/runnel/cache" };

async function check(
  path: string,
  tree: Record<string, string>,
  mounts: MountTableEntry[] = [],
  paths: PathForm = posixPaths,
): Promise<string> {
  const folders = view(tree, paths);
  try {
    const point = await resolvePath(path, mounts, folders);
    await checkMountPoint(point, mounts, folders, OWN);
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

describe("a mount point", () => {
  test.each<[string, string, Record<string, string>, MountTableEntry[], string]>([
    ["an empty folder", "/a/b", { "/a": "/", "/a/b": "/" }, [], ""],
    ["a symlink to an empty folder", "/l", { "/a": "/", "/a/b": "/", "/l": "a/b" }, [], ""],
    ["nothing", "/a", {}, [], "/a does not exist. Make it first: mkdir /a"],
    [
      "nothing in nothing",
      "/a/b",
      {},
      [],
      "/a does not exist. Choose another path, or make this one first: mkdir -p /a/b",
    ],
    ["a name in a file", "/a/b", { "/a": "" }, [], "/a is not a folder. Choose another path."],
    ["a file", "/a", { "/a": "" }, [], "/a is not a folder. Choose an empty folder."],
    ["a full folder", "/a", { "/a": "/", "/a/b": "" }, [], "/a is not empty. Choose an empty folder."],
    [
      "another mount",
      "/a",
      { "/a": "/" },
      [{ mountpoint: "/a", device: "0:20", fileSystem: "tmpfs", source: "tmpfs" }],
      "Something else is already mounted at /a. Choose another folder.",
    ],
    [
      "a drive",
      "/a",
      { "/a": "!" },
      [runnelMount("/a")],
      "/a is already a drive of another agent. Unmount it there first.",
    ],
    [
      "a folder in a drive",
      "/a/b/c",
      { "/a": "!" },
      [runnelMount("/a")],
      "/a/b/c lies inside the drive /a. Choose a folder outside of it.",
    ],
    [
      "a folder that a symlink puts into a drive",
      "/l/c",
      { "/a": "!", "/l": "/a/b" },
      [runnelMount("/a")],
      "/a/b/c lies inside the drive /a. Choose a folder outside of it.",
    ],
    [
      "a served folder",
      "/a/b",
      { "/a": "/", "/a/.runnel-store": "/", "/a/b": "/" },
      [],
      "/a/b lies in /a, which a server serves. Choose a folder outside of it.",
    ],
    [
      "the home's parent",
      "/state",
      { "/state": "/" },
      [],
      "/state would hide Runnel's own files in /state/runnel/cache. Choose another folder.",
    ],
    ["symlinks in a circle", "/a", { "/a": "b", "/b": "a" }, [], "/a is a circle of symlinks. Choose another path."],
  ])("that is %s", async (_, path, tree, mounts, sentence) => {
    expect(await check(path, tree, mounts)).toBe(sentence);
  });
});

describe("a mount point of Windows", () => {
  const tree = {
    "C:\\": "/",
    "C:\\docs": "/",
    "C:\\link": "r:/work/here",
    "C:\\up": "..\\docs",
    "C:\\share": "\\\\?\\UNC\\Runnel\\docs",
    "D:\\": "/",
  };
  const mounts = [runnelMount("R:"), runnelMount("\\\\runnel\\docs")];
  const places = "A drive is mapped at a free letter or share here: R: or \\\\runnel\\docs.";
  const badServer = "its server may have letters a to z, digits, - and _ in its name, and is not localhost. " + places;

  test.each([
    ["X:", ""],
    ["x:/", ""],
    ["R:", "R: is already a drive of another agent. Unmount it there first."],
    ["R:\\work", "R:\\work lies inside the drive R:. Choose a folder outside of it."],
    ["D:", "D: is the letter of another drive. Choose a free one."],
    ["C:\\docs", `C:\\docs is neither a drive letter nor a share. ${places}`],
    ["C:\\none", `C:\\none is neither a drive letter nor a share. ${places}`],
    ["\\\\runnel\\photos", ""],
    ["//Runnel/Photos/", ""],
    ["\\\\?\\UNC\\runnel\\photos", ""],
    ["\\\\a-b_1\\Ä photos & more", ""],
    ["\\\\RUNNEL\\Docs", "\\\\runnel\\docs is already a drive of another agent. Unmount it there first."],
    [
      "\\\\runnel\\docs\\a",
      "\\\\runnel\\docs\\a lies inside the drive \\\\runnel\\docs. Choose a folder outside of it.",
    ],
    ["\\\\nas\\photos\\a", `\\\\nas\\photos\\a is neither a drive letter nor a share. ${places}`],
    ["\\\\runnel", "\\\\runnel is a server alone. Name a share of it: \\\\runnel\\docs"],
    ["\\\\LocalHost\\docs", `\\\\localhost\\docs is no share for a drive: ${badServer}`],
    ["\\\\files.example.org\\docs", `\\\\files.example.org\\docs is no share for a drive: ${badServer}`],
    ["\\\\127.0.0.1\\docs", `\\\\127.0.0.1\\docs is no share for a drive: ${badServer}`],
    ["\\\\wsl$\\docs", `\\\\wsl$\\docs is no share for a drive: ${badServer}`],
    ["\\\\h@ssl\\docs", `\\\\h@ssl\\docs is no share for a drive: ${badServer}`],
    ["\\\\runnel\\a:b", `\\\\runnel\\a:b is no share for a drive: Windows takes no such name. ${places}`],
    ["\\\\runnel\\end.", `\\\\runnel\\end. is no share for a drive: Windows takes no such name. ${places}`],
    [`\\\\runnel\\${"a".repeat(80)}`, ""],
    [
      `\\\\runnel\\${"a".repeat(81)}`,
      `\\\\runnel\\${"a".repeat(81)} is no share for a drive: Windows takes no such name. ${places}`,
    ],
    ["\\\\runnel\\IPC$", `Windows has \\\\runnel\\ipc$ for itself. ${places}`],
    ["\\\\runnel\\pipe", `Windows has \\\\runnel\\pipe for itself. ${places}`],
    [
      "\\\\.\\pipe\\x",
      "\\\\.\\pipe\\x is the name of a device. Name a file or folder: C:\\folder or \\\\server\\share\\folder.",
    ],
    [
      "//?/GLOBALROOT/Device/Mup/runnel/docs",
      "\\\\?\\GLOBALROOT\\Device\\Mup\\runnel\\docs is the name of a device. Name a file or folder: C:\\folder or \\\\server\\share\\folder.",
    ],
  ])("that is typed as %s", async (typed, sentence) => {
    // No share is looked at, whether a drive of Runnel is there or not.
    expect(await check(typed, { ...tree, "\\\\runnel": "!" }, mounts, windowsPaths)).toBe(sentence);
  });

  test.each([
    ["r:/a/b", { path: "R:\\a\\b", runnelMount: "R:" }],
    ["R:\\a\\..", { path: "R:", runnelMount: "R:" }],
    ["C:\\link\\x", { path: "R:\\work\\here\\x", runnelMount: "R:" }],
    ["C:\\up", { path: "C:\\docs", runnelMount: undefined }],
    ["\\\\?\\c:\\docs", { path: "C:\\docs", runnelMount: undefined }],
    ["C:", { path: "C:\\", runnelMount: undefined }],
    ["\\\\runnel-r\\docs\\a", { path: "R:\\a", runnelMount: "R:" }],
    ["//Runnel/Docs/A.txt", { path: "\\\\runnel\\docs\\A.txt", runnelMount: "\\\\runnel\\docs" }],
    ["\\\\?\\UNC\\runnel\\docs\\", { path: "\\\\runnel\\docs", runnelMount: "\\\\runnel\\docs" }],
    ["C:\\share\\x", { path: "\\\\runnel\\docs\\x", runnelMount: "\\\\runnel\\docs" }],
    ["\\\\runnel\\gone", { path: "\\\\runnel\\gone", runnelMount: undefined, type: "missing" }],
  ])("is reached from %s, and no drive is touched", async (typed, place) => {
    const never = { "R:\\": "!", "\\\\runnel\\docs": "!", "\\\\runnel-r": "!" };
    expect(await resolvePath(typed, mounts, view({ ...tree, ...never }, windowsPaths))).toMatchObject(place);
  });
});

describe("the mount table", () => {
  test("is read with its escapes, with and without optional fields", () => {
    const text = [
      String.raw`36 35 98:0 / /mnt/a\040b\134c rw,noatime shared:1 master:2 - ext4 /dev/root rw`,
      "40 35 0:50 / /home/drive rw,nosuid - fuse.runnel runnel:docs rw,user_id=0",
      "nonsense",
      "",
    ].join("\n");
    expect(parseMountInfo(text)).toEqual([
      { mountpoint: String.raw`/mnt/a b\c`, device: "98:0", fileSystem: "ext4", source: "/dev/root" },
      { mountpoint: "/home/drive", device: "0:50", fileSystem: "fuse.runnel", source: "runnel:docs" },
    ]);
  });
});
