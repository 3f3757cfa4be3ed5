// Disk contract: roots, folders and lists.
import { describe, expect, test } from "@jest/globals";
import type { DiskContext } from "./disk-context.ts";
import { expectKind, readFile, listAll, namesIn, writeFile } from "./disk-steps.ts";

const MANY = 5000;
const BATCH_MAX = 8192;

export function describeFolders(context: DiskContext): void {
  describe("folders", () => {
    test("lists every name once with its lstat", async () => {
      await writeFile(context.root, "file", "abc");
      await context.root.makeFolder("folder");
      await context.root.makeSymlink("symlink", "nowhere");
      const entries = await listAll(context.root, "");
      expect(entries.map((entry) => entry.name).sort()).toEqual(["file", "folder", "symlink"]);
      for (const entry of entries) expect(entry.stat).toEqual(await context.root.stat(entry.name ?? ""));
      expect(entries.find((entry) => entry.name === "symlink")?.stat.type).toBe("symlink");
      expect(await namesIn(context.root, "folder")).toEqual([]);
    });

    test("lists a large folder in batches and waits for each to be taken", async () => {
      await context.root.makeFolder("many");
      const names = Array.from({ length: MANY }, (_, index) => `entry-${index}`);
      await Promise.all(names.map((name) => context.root.makeFolder(`many/${name}`)));
      const seen: (string | undefined)[] = [];
      let batches = 0;
      let isTaken = true;
      await context.root.list("many", async (entries) => {
        expect(isTaken).toBe(true);
        expect(entries.length).toBeLessThanOrEqual(BATCH_MAX);
        isTaken = false;
        seen.push(...entries.map((entry) => entry.name));
        batches++;
        await Promise.resolve();
        isTaken = true;
      });
      expect(batches).toBeGreaterThan(0);
      expect(seen.sort()).toEqual(names.sort());
    });

    test("passes on what the taker of a batch throws", async () => {
      await writeFile(context.root, "a", "");
      const listing = context.root.list("", () => {
        throw new Error("enough");
      });
      await expect(listing).rejects.toThrow("enough");
    });

    test("[W78] gives names that are not UTF-8 as the text that stands for them, and finds them by it", async () => {
      if (!context.makeRawName) return;
      await context.makeRawName(Uint8Array.of(0x66, 0xff, 0x6f));
      await context.makeRawName(Uint8Array.of(0xed, 0xa0, 0x80));
      await context.makeRawName(Uint8Array.from({ length: 86 }, () => 0xff));
      await writeFile(context.root, "grüße-🌊", "");
      const entries = await listAll(context.root, "");
      const names = ["f\uf7ffo", "grüße-🌊", "\uf7ed\uf7a0\uf780", undefined];
      expect(entries.map((entry) => entry.name).sort()).toEqual(names);
      expect(entries.every((entry) => entry.stat.type === "file")).toBe(true);
      await context.root.rename("f\uf7ffo", "\uf780", "replace");
      await context.root.makeSymlink("link", "to/\uf7ff");
      expect(await context.root.readSymlink("link")).toBe("to/\uf7ff");
      expect(await namesIn(context.root, "")).toEqual(expect.arrayContaining(["\uf780"]));
    });

    test("lists folders only", async () => {
      await writeFile(context.root, "file", "");
      await expectKind(listAll(context.root, "file"), "NotFolder");
      await expectKind(listAll(context.root, "missing"), "NotFound");
    });

    test("removes folders that are empty", async () => {
      await context.root.makeFolder("a");
      await expectKind(context.root.makeFolder("a"), "Exists");
      await expectKind(context.root.makeFolder("missing/b"), "NotFound");
      await writeFile(context.root, "a/file", "");
      await expectKind(context.root.removeFolder("a"), "NotEmpty");
      await expectKind(context.root.removeFile("a"), "IsFolder");
      await expectKind(context.root.removeFolder("a/file"), "NotFolder");
      await context.root.removeFile("a/file");
      await context.root.removeFolder("a");
      await expectKind(context.root.removeFolder("a"), "NotFound");
    });

    test("syncs folders", async () => {
      await context.root.makeFolder("a");
      await context.root.syncFolder("a");
      await expectKind(context.root.syncFolder("missing"), "NotFound");
    });

    test("tells the space of its file system", async () => {
      const space = await context.root.space();
      expect(space.totalBytes).toBeGreaterThan(0);
      expect(space.freeBytes).toBeLessThanOrEqual(space.totalBytes);
      expect(space.availableBytes).toBeLessThanOrEqual(space.freeBytes);
      expect(space.freeFiles).toBeLessThanOrEqual(space.totalFiles);
    });
  });

  describe("roots", () => {
    test("opens what exists, and makes it with its parents when asked to", async () => {
      const path = `${context.folder}/deep/er/root`;
      await expectKind(context.disk.openRoot(path), "NotFound");
      const made = await context.disk.openRoot(path, { permissions: 0o700 });
      expect(await made.stat("")).toMatchObject({ type: "folder", mode: 0o700 });
      expect(made.path).toBe(path);
      await made.close();
      const again = await context.disk.openRoot(path, { permissions: 0o755 });
      expect((await again.stat("")).mode).toBe(0o700);
      await again.close();
    });

    test("is a folder", async () => {
      await writeFile(context.root, "file", "");
      await expectKind(context.disk.openRoot(`${context.folder}/file`), "NotFolder");
      await expectKind(context.disk.openRoot(`${context.folder}/file`, { permissions: 0o755 }), "NotFolder");
    });

    test("may itself be reached by symlinks", async () => {
      await context.root.makeFolder("real");
      await writeFile(context.root, "real/a", "found");
      await context.root.makeSymlink("way", "real");
      const root = await context.disk.openRoot(`${context.folder}/way`);
      expect(await readFile(root, "a")).toBe("found");
      await root.close();
    });
  });
}
