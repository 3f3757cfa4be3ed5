// Disk contract: renames, links, symlinks, and handles, which stay with a file whatever it is called.
import { describe, expect, test } from "@jest/globals";
import type { DiskContext } from "./disk-context.ts";
import { expectKind, readFile, namesIn, writeFile } from "./disk-steps.ts";

export function describeNames(context: DiskContext): void {
  describe("renames", () => {
    test("replaces, keeps or exchanges", async () => {
      await writeFile(context.root, "a", "A");
      await writeFile(context.root, "b", "B");
      await expectKind(context.root.rename("a", "b", "keep"), "Exists");
      await context.root.rename("a", "b", "exchange");
      expect([await readFile(context.root, "a"), await readFile(context.root, "b")]).toEqual(["B", "A"]);
      await context.root.rename("a", "b", "replace");
      expect(await namesIn(context.root, "")).toEqual(["b"]);
      expect(await readFile(context.root, "b")).toBe("B");
      await context.root.rename("b", "c", "keep");
      expect(await namesIn(context.root, "")).toEqual(["c"]);
    });

    test("needs what it renames, and both for an exchange", async () => {
      await writeFile(context.root, "a", "A");
      for (const how of ["replace", "keep", "exchange"] as const) {
        await expectKind(context.root.rename("missing", "b", how), "NotFound");
      }
      await expectKind(context.root.rename("a", "missing", "exchange"), "NotFound");
      await expectKind(context.root.rename("a", "missing/b", "replace"), "NotFound");
    });

    test("exchanges a file and a folder", async () => {
      await writeFile(context.root, "a", "A");
      await context.root.makeFolder("b");
      await writeFile(context.root, "b/inside", "I");
      await context.root.rename("a", "b", "exchange");
      expect(await readFile(context.root, "b")).toBe("A");
      expect(await readFile(context.root, "a/inside")).toBe("I");
    });

    test("replaces like by like only, and no folder with names in it", async () => {
      await writeFile(context.root, "file", "");
      await context.root.makeFolder("full");
      await writeFile(context.root, "full/a", "");
      await context.root.makeFolder("folder");
      await expectKind(context.root.rename("file", "folder", "replace"), "IsFolder");
      await expectKind(context.root.rename("folder", "file", "replace"), "NotFolder");
      await expectKind(context.root.rename("folder", "full", "replace"), "NotEmpty");
      await context.root.rename("full", "folder", "replace");
      expect(await namesIn(context.root, "folder")).toEqual(["a"]);
    });
  });

  describe("extended attributes", () => {
    test("are set, replaced, removed and copied, and change the ctime", async () => {
      const { root } = context;
      await writeFile(root, "a", "A");
      await root.makeFolder("folder");
      await root.makeSymlink("link", "a");
      for (const path of ["a", "folder", "link"]) expect(await root.xattrs(path)).toEqual([]);
      const before = await root.stat("a");
      await root.setXattr("a", ["user.two", Buffer.from("2")]);
      await root.setXattr("a", ["user.one", Buffer.from("")]);
      await root.setXattr("a", ["user.gone", Buffer.from("x")]);
      await root.setXattr("a", ["user.gone", null]);
      await root.setXattr("a", ["user.gone", null]);
      await root.setXattr("a", ["user.two", Buffer.from("zwei")]);
      const has = [
        ["user.one", new Uint8Array()],
        ["user.two", new Uint8Array(Buffer.from("zwei"))],
      ];
      expect(await root.xattrs("a")).toEqual(has);
      expect((await root.stat("a")).ctimeNs).toBeGreaterThanOrEqual(before.ctimeNs);
      await root.setXattr("folder", ["user.own", Buffer.from("o")]);
      await root.copyXattrs("a", "folder");
      expect((await root.xattrs("folder")).map(([name]) => name)).toEqual(["user.one", "user.own", "user.two"]);
      await expectKind(root.setXattr("link", ["user.a", Buffer.from("x")]), "Denied");
      await expectKind(root.xattrs("missing"), "NotFound");
    });
  });

  describe("links", () => {
    test("gives a file a second name", async () => {
      await writeFile(context.root, "a", "A");
      await context.root.makeFolder("folder");
      await context.root.link("a", "folder/b");
      expect((await context.root.stat("a")).nlink).toBe(2);
      expect(await context.root.handle("folder/b")).toEqual(await context.root.handle("a"));
      await expectKind(context.root.link("a", "folder/b"), "Exists");
      await expectKind(context.root.link("missing", "c"), "NotFound");
    });

    test("keeps symlinks as they are", async () => {
      await context.root.makeSymlink("a", "some/../where");
      await expectKind(context.root.makeSymlink("a", "else"), "Exists");
      expect(await context.root.readSymlink("a")).toBe("some/../where");
      await context.root.rename("a", "b", "keep");
      expect(await context.root.stat("b")).toMatchObject({ type: "symlink", sizeBytes: 13 });
      await context.root.removeFile("b");
      expect(await namesIn(context.root, "")).toEqual([]);
    });

    test("changes a final symlink itself, never what it leads to", async () => {
      await writeFile(context.root, "target", "");
      await context.root.setStat("target", { mode: 0o600, mtimeNs: 1n });
      await context.root.makeSymlink("a", "target");
      await context.root.setStat("a", { mode: 0o777, mtimeNs: 2n });
      expect((await context.root.stat("a")).mtimeNs).toBe(2n);
      expect(await context.root.stat("target")).toMatchObject({ mode: 0o600, mtimeNs: 1n });
      expect(await context.root.handle("a")).not.toEqual(await context.root.handle("target"));
      await context.root.link("a", "b");
      expect((await context.root.stat("b")).type).toBe("symlink");
      await context.root.removeFile("a");
      expect(await readFile(context.root, "target")).toBe("");
    });

    test("reads symlinks only", async () => {
      await writeFile(context.root, "file", "");
      await expect(context.root.readSymlink("file")).rejects.toMatchObject({ name: "RunnelError" });
      await expectKind(context.root.readSymlink("missing"), "NotFound");
    });
  });

  describe("handles", () => {
    test("stay with a file over renames, and are the same by path and by file", async () => {
      await writeFile(context.root, "a", "A");
      const before = await context.root.handle("a");
      await context.root.rename("a", "b", "replace");
      expect(await context.root.handle("b")).toEqual(before);
      const file = await context.root.open("b", "read");
      expect(await file.handle()).toEqual(before);
      await file.close();
      expect(before.length).toBeGreaterThan(4);
    });

    test("are not used again for another file", async () => {
      const seen = new Set<string>();
      for (let round = 0; round < 20; round++) {
        await writeFile(context.root, "a", "A");
        seen.add(Buffer.from(await context.root.handle("a")).toString("hex"));
        await context.root.removeFile("a");
      }
      expect(seen.size).toBe(20);
    });

    test("are of anything", async () => {
      await context.root.makeSpecial("fifo", "fifo", 0o600, 0);
      await context.root.makeFolder("folder");
      const all = await Promise.all(["", "fifo", "folder"].map((path) => context.root.handle(path)));
      expect(new Set(all.map((handle) => Buffer.from(handle).toString("hex"))).size).toBe(3);
      await expectKind(context.root.handle("missing"), "NotFound");
    });
  });
}
