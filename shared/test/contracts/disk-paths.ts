// Disk contract: no path leaves the root, whatever symlinks are in the way and whoever made them.
import { describe, expect, test } from "@jest/globals";
import type { DiskRoot } from "../../src/host/disk.ts";
import type { DiskContext } from "./disk-context.ts";
import { expectKind, listAll, namesIn, writeFile } from "./disk-steps.ts";

/** Every operation with a path, on that path. */
const OPERATIONS: Record<string, (root: DiskRoot, path: string) => Promise<unknown>> = {
  stat: (root, path) => root.stat(path),
  handle: (root, path) => root.handle(path),
  list: (root, path) => listAll(root, path),
  read: (root, path) => root.open(path, "read"),
  write: (root, path) => root.open(path, "write"),
  create: (root, path) => root.open(path, "create"),
  createNew: (root, path) => root.open(path, "createNew"),
  makeFolder: (root, path) => root.makeFolder(path),
  makeSymlink: (root, path) => root.makeSymlink(path, "target"),
  makeSpecial: (root, path) => root.makeSpecial(path, "fifo", 0o600, 0),
  linkFrom: (root, path) => root.link(path, "new"),
  linkTo: (root, path) => root.link("plain", path),
  readSymlink: (root, path) => root.readSymlink(path),
  renameFrom: (root, path) => root.rename(path, "new", "replace"),
  renameTo: (root, path) => root.rename("plain", path, "replace"),
  removeFile: (root, path) => root.removeFile(path),
  removeFolder: (root, path) => root.removeFolder(path),
  setStat: (root, path) => root.setStat(path, { mode: 0o600 }),
  syncFolder: (root, path) => root.syncFolder(path),
};

/** The root has no name of its own within itself. */
const NEED_A_NAME = Object.keys(OPERATIONS).filter(
  (name) => !["stat", "handle", "list", "setStat", "syncFolder"].includes(name),
);

const BAD_PATHS = ["/", "/a", "a/", "a//b", ".", "..", "./a", "../a", "a/.", "a/..", "a/../b", "a\0b", "a\ud800b"];

export function describePaths(context: DiskContext): void {
  describe("paths", () => {
    for (const [name, operate] of Object.entries(OPERATIONS)) {
      test(`${name} refuses paths that are not relative and plain`, async () => {
        await writeFile(context.root, "plain", "P");
        for (const path of BAD_PATHS) await expectKind(operate(context.root, path), "Invalid");
        expect(await namesIn(context.root, "")).toEqual(["plain"]);
      });

      test(`${name} follows no symlink on the way`, async () => {
        await writeFile(context.root, "plain", "P");
        await context.root.makeFolder("folder");
        await writeFile(context.root, "folder/a", "A");
        const targets = ["folder", "/", "..", ".", context.folder, `${context.folder}/folder`];
        for (const [index, target] of targets.entries()) {
          await context.root.makeSymlink(`link-${index}`, target);
          await expectKind(operate(context.root, `link-${index}/a`), "NotFolder");
          await expectKind(operate(context.root, `link-${index}/etc/a`), "NotFolder");
          await expectKind(operate(context.root, `folder/a/b`), "NotFolder");
        }
        expect(await namesIn(context.root, "folder")).toEqual(["a"]);
        expect(await namesIn(context.root, "")).toHaveLength(targets.length + 2);
      });
    }

    test("names the root itself only where it need not have a name", async () => {
      for (const name of NEED_A_NAME) {
        const operate = OPERATIONS[name] as (root: DiskRoot, path: string) => Promise<unknown>;
        await expectKind(operate(context.root, ""), "Invalid");
      }
      expect((await context.root.stat("")).type).toBe("folder");
      await context.root.setStat("", { mode: 0o750 });
      expect((await context.root.stat("")).mode).toBe(0o750);
    });

    test("lists no folder through a final symlink", async () => {
      await context.root.makeFolder("folder");
      await context.root.makeSymlink("a", "folder");
      await expectKind(listAll(context.root, "a"), "NotFolder");
      await expectKind(context.root.syncFolder("a"), "NotFolder");
    });

    test("refuses names that are too long", async () => {
      await expectKind(context.root.makeFolder("x".repeat(256)), "NameTooLong");
      await context.root.makeFolder("x".repeat(255));
    });

    test("walks paths longer than the system's limit for one call", async () => {
      const part = "d".repeat(200);
      const paths = Array.from({ length: 40 }, (_, depth) =>
        Array(depth + 1)
          .fill(part)
          .join("/"),
      );
      for (const path of paths) await context.root.makeFolder(path);
      const deepest = paths.at(-1) as string;
      await writeFile(context.root, `${deepest}/a`, "deep");
      expect((await context.root.stat(`${deepest}/a`)).sizeBytes).toBe(4);
      expect(await namesIn(context.root, deepest)).toEqual(["a"]);
      // Removed through the disk itself: other means of cleaning up may not reach so deep.
      await context.root.removeFile(`${deepest}/a`);
      for (const path of paths.toReversed()) await context.root.removeFolder(path);
    });
  });
}
