// Disk contract: open files.
import { describe, expect, test } from "@jest/globals";
import type { DiskFile } from "../../src/host/disk.ts";
import type { DiskContext } from "./disk-context.ts";
import { bytesOf, expectKind, readFile, writeFile, textOf } from "./disk-steps.ts";

export function describeFiles(context: DiskContext): void {
  describe("files", () => {
    test("reads what was written, short only at the end", async () => {
      const file = await context.root.open("a", "create");
      await file.write(0, bytesOf("hello"));
      await file.write(5, bytesOf(" world"));
      expect(textOf(await file.read(0, 11))).toBe("hello world");
      expect(textOf(await file.read(6, 100))).toBe("world");
      expect(await file.read(11, 100)).toHaveLength(0);
      expect(await file.read(1000, 1)).toHaveLength(0);
      expect(await file.read(0, 0)).toHaveLength(0);
      await file.close();
    });

    test("fills with zeros what was skipped", async () => {
      const file = await context.root.open("a", "create");
      await file.write(3, bytesOf("x"));
      expect([...(await file.read(0, 10))]).toEqual([0, 0, 0, 120]);
      await file.truncate(6);
      expect([...(await file.read(0, 10))]).toEqual([0, 0, 0, 120, 0, 0]);
      await file.truncate(2);
      expect((await file.stat()).sizeBytes).toBe(2);
      await file.close();
    });

    test("opens what is there or makes it, as the mode says", async () => {
      await expectKind(context.root.open("a", "read"), "NotFound");
      await expectKind(context.root.open("a", "write"), "NotFound");
      await (await context.root.open("a", "createNew")).close();
      await expectKind(context.root.open("a", "createNew"), "Exists");
      await writeFile(context.root, "a", "kept");
      await (await context.root.open("a", "create")).close();
      await (await context.root.open("a", "write")).close();
      expect(await readFile(context.root, "a")).toBe("kept");
    });

    test("writes a whole file, with what is to be set of it, and cuts one that was longer", async () => {
      const { root } = context;
      const how = { mode: "createNew", permissions: 0o640, isSynced: true } as const;
      await root.writeFile("a", bytesOf("hello"), how);
      expect(await root.stat("a")).toMatchObject({ mode: 0o640, sizeBytes: 5 });
      await expectKind(root.writeFile("a", bytesOf("other"), how), "Exists");
      await root.writeFile("a", bytesOf("hi"), {
        mode: "create",
        permissions: 0o600,
        stat: { mtimeNs: 12_345_678_900n },
      });
      expect(await readFile(root, "a")).toBe("hi");
      expect(await root.stat("a")).toMatchObject({ mode: 0o640, mtimeNs: 12_345_678_900n });
      await root.writeFile("a", new Uint8Array(0), { mode: "create", permissions: 0o600 });
      expect((await root.stat("a")).sizeBytes).toBe(0);
      await expectKind(root.writeFile("folder/b", bytesOf("x"), how), "NotFound");
      await expectKind(root.writeFile("../b", bytesOf("x"), how), "Invalid");
    });

    test("looks at many paths at once", async () => {
      const { root } = context;
      await root.writeFile("a", bytesOf("hello"), { mode: "createNew", permissions: 0o600 });
      await root.makeFolder("folder");
      const stats = await root.statAll(["a", "none", "", "folder", "a/b"]);
      const expected = [await root.stat("a"), "absent", await root.stat(""), await root.stat("folder"), "absent"];
      expect(stats).toEqual(expected);
      expect(await root.statAll([])).toEqual([]);
      await expectKind(root.statAll(["a", "../a"]), "Invalid");
    });

    test("reads a whole file, or its beginning", async () => {
      const { root } = context;
      await root.writeFile("a", bytesOf("hello"), { mode: "createNew", permissions: 0o600 });
      expect(textOf(await root.readFile("a", 100))).toBe("hello");
      expect(textOf(await root.readFile("a", 2))).toBe("he");
      expect(await root.readFile("a", 0)).toHaveLength(0);
      await root.makeFolder("folder");
      await expectKind(root.readFile("folder", 10), "IsFolder");
      await expectKind(root.readFile("none", 10), "NotFound");
    });

    test("makes a whole file, open, with its identity", async () => {
      const { root } = context;
      const how = { mode: "createNew", permissions: 0o600, stat: { mode: 0o444, mtimeNs: 7n } } as const;
      const { file, stat, handle } = await root.makeFile("a", bytesOf("hello"), how);
      expect(stat).toMatchObject({ type: "file", mode: 0o444, mtimeNs: 7n, sizeBytes: 5 });
      expect(await root.identify("a")).toEqual({ stat, handle });
      await root.rename("a", "b", "keep");
      expect(textOf(await file.read(0, 9))).toBe("hello");
      expect((await file.stat()).ino).toBe(stat.ino);
      await file.close();
      await root.makeFolder("folder");
      for (const name of ["b", "folder"]) await expectKind(root.makeFile(name, bytesOf("x"), how), "Exists");
    });

    test("tells whether somebody has a file open for writing", async () => {
      const { root } = context;
      const file = await root.open("a", "createNew");
      await file.write(0, bytesOf("hello"));
      expect(await root.lookForWriter("a")).toMatchObject({ stat: { sizeBytes: 5 } });
      const { lease } = await root.lookForWriter("a");
      expect(["writer", "refused"]).toContain(lease);
      await file.close();
      const now = await root.lookForWriter("a");
      expect(now).toEqual({ lease: lease === "writer" ? "taken" : "refused", stat: await root.stat("a") });
      // It has not kept the lease.
      await (await root.open("a", "write")).close();
      await expectKind(root.lookForWriter("none"), "NotFound");
    });

    test("opens regular files only, without waiting for the others", async () => {
      await context.root.makeFolder("folder");
      await context.root.makeSymlink("symlink", "folder");
      await context.root.makeSpecial("fifo", "fifo", 0o600, 0);
      for (const mode of ["read", "write", "create"] as const) {
        await expectKind(context.root.open("folder", mode), "IsFolder");
        await expectKind(context.root.open("symlink", mode), "NotFolder");
        await expectKind(context.root.open("fifo", mode), "Unsupported");
      }
      for (const name of ["folder", "symlink", "fifo"])
        await expectKind(context.root.open(name, "createNew"), "Exists");
      expect((await context.root.stat("fifo")).type).toBe("fifo");
    });

    test("gives what it makes exactly the permissions asked for", async () => {
      await (await context.root.open("a", "createNew", 0o666)).close();
      await (await context.root.open("b", "create", 0o600)).close();
      await context.root.makeFolder("c", 0o777);
      expect((await context.root.stat("a")).mode).toBe(0o666);
      expect((await context.root.stat("b")).mode).toBe(0o600);
      expect((await context.root.stat("c")).mode).toBe(0o777);
    });

    test("copies ranges between files, short only at the source's end", async () => {
      await writeFile(context.root, "a", "0123456789");
      const source = await context.root.open("a", "read");
      const target = await context.root.open("b", "create");
      await target.write(0, bytesOf("________"));
      expect(await target.copyFrom(source, 2, 4, 3)).toBe(3);
      expect(textOf(await target.read(0, 100))).toBe("____234_");
      expect(await target.copyFrom(source, 8, 0, 100)).toBe(2);
      expect(await target.copyFrom(source, 10, 0, 5)).toBe(0);
      expect(textOf(await target.read(0, 100))).toBe("89__234_");
      await source.close();
      await target.close();
    });

    test("copies holes as zeros, over what was there and past the target's end", async () => {
      const hole = 300_000;
      const source = await context.root.open("a", "create");
      await source.write(0, bytesOf("begin"));
      await source.write(hole, bytesOf("middle"));
      await source.truncate(2 * hole);
      const target = await context.root.open("b", "create");
      await target.write(0, new Uint8Array(hole + 1).fill(95));
      expect(await target.copyFrom(source, 0, 0, 3 * hole)).toBe(2 * hole);
      expect((await target.stat()).sizeBytes).toBe(2 * hole);
      expect(Buffer.compare(await target.read(0, 3 * hole), await source.read(0, 3 * hole))).toBe(0);
      await target.write(0, new Uint8Array(100_000).fill(95));
      expect(await target.copyFrom(source, 2 * hole - 90_000, 1, 90_000)).toBe(90_000);
      const expected = new Uint8Array(100_000).fill(95).fill(0, 1, 90_001);
      expect(Buffer.compare(await target.read(0, 100_000), expected)).toBe(0);
      await source.close();
      await target.close();
    });

    test("copies within one file where the ranges are apart", async () => {
      const file = await context.root.open("a", "create");
      await file.write(0, bytesOf("abcdef"));
      expect(await file.copyFrom(file, 0, 6, 3)).toBe(3);
      expect(textOf(await file.read(0, 100))).toBe("abcdefabc");
      await file.close();
    });

    test("syncs a file and a folder", async () => {
      const file = await context.root.open("a", "create");
      await file.write(0, bytesOf("abc"));
      await file.sync();
      await file.sync(true);
      expect((await file.stat()).sizeBytes).toBe(3);
      await file.close();
      await context.root.syncFolder("");
    });

    test("changes mode and times to the nanosecond, by file and by path", async () => {
      const file = await context.root.open("a", "create");
      await file.setStat({ mode: 0o640, mtimeNs: 1_700_000_000_123_456_789n });
      expect(await file.stat()).toMatchObject({ mode: 0o640, mtimeNs: 1_700_000_000_123_456_789n });
      await context.root.setStat("a", { mode: 0o1755, mtimeNs: -1_500_000_001n });
      expect(await file.stat()).toMatchObject({ mode: 0o1755, mtimeNs: -1_500_000_001n });
      await context.root.setStat("a", {});
      const handle = await context.root.handle("a");
      await context.root.setStat("a", { mode: 0o1755 }, handle);
      await (await context.root.open("other", "createNew")).close();
      await context.root.rename("other", "a", "exchange");
      const other = await context.root.stat("a");
      await expect(context.root.setStat("a", { mode: 0o711, mtimeNs: 1n }, handle)).rejects.toMatchObject({
        kind: "NotFound",
      });
      expect(await context.root.stat("a")).toEqual(other);
      await context.root.rename("other", "a", "exchange");
      expect(await context.root.stat("a")).toEqual(await file.stat());
      await file.close();
    });

    test("keeps serving a file that has lost its name", async () => {
      const file = await context.root.open("a", "create");
      await file.write(0, bytesOf("still here"));
      await context.root.removeFile("a");
      expect(textOf(await file.read(0, 100))).toBe("still here");
      expect((await file.stat()).nlink).toBe(0);
      await file.close();
    });

    test("waits with close for what is under way, and refuses what comes later", async () => {
      const file = await context.root.open("a", "create");
      const writes = Array.from({ length: 50 }, (_, index) => file.write(index, bytesOf("x")));
      await file.close();
      await Promise.all(writes);
      await expect(file.read(0, 1)).rejects.toThrow(/close/);
      await expect(file.close()).rejects.toThrow(/close/);
      expect(await readFile(context.root, "a")).toBe("x".repeat(50));
    });

    test("locks a file for one opening until that is closed, where the disk has locks, and hides nothing", async () => {
      await writeFile(context.root, "a", "text");
      const [file, other] = [await context.root.open("a", "write"), await context.root.open("a", "read")];
      const first = await file.takeLock();
      if (first === "refused") return void (await Promise.all([file.close(), other.close()]));
      expect(first).toBe("taken");
      expect(await other.takeLock()).toBe("held");
      expect(textOf(await other.read(0, 100))).toBe("text");
      await file.close();
      expect(await other.takeLock()).toBe("taken");
      await other.close();
    });

    test("keeps a leased file from being written to until it is closed, and says that somebody waits", async () => {
      await writeFile(context.root, "a", "as it was");
      const writer = await context.root.open("a", "write");
      const file = await context.root.open("a", "read");
      const wanted = Promise.withResolvers<void>();
      const first = await file.takeLease(wanted.resolve);
      await writer.close();
      if (process.platform !== "linux") {
        expect(first).toBe("refused");
        return file.close();
      }
      expect(first).toBe("writer");
      // A library that handles every signal for a moment leaves them as the system has them: this one would end the
      // process.
      const handle = (): void => undefined;
      process.on("SIGIO", handle).off("SIGIO", handle);
      expect(await file.takeLease(wanted.resolve)).toBe("taken");
      let isOpen = false;
      // A call that must not wait is refused, as the real disk's own opening.
      const tryOpening = (): Promise<DiskFile> => context.root.open("a", "write").catch(tryOpening);
      const opening = tryOpening().then((opened) => {
        isOpen = true;
        return opened;
      });
      await wanted.promise;
      const probe = await context.root.open("a", "read");
      expect(await probe.takeLease(() => undefined)).toBe("writer");
      await probe.close();
      expect(isOpen).toBe(false);
      expect(textOf(await file.read(0, 100))).toBe("as it was");
      await file.close();
      await (await opening).close();
    });
  });
}
