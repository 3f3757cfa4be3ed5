// Windows and the disk contract: what it cannot ask in one test with what Windows lacks; run under Wine by
// windows.long.test.ts.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { DiskRoot } from "@runnel/shared";
import { expectKind, readFile, namesIn, writeFile } from "@runnel/shared/test/contracts/disk-steps.ts";
import { realDisk } from "../index.ts";

(process.platform === "win32" ? describe : describe.skip)("the real disk on Windows", () => {
  let folder: string;
  let root: DiskRoot;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "runnel-windows-"));
    root = await realDisk().openRoot(folder);
  });
  afterEach(async () => {
    await root.close();
    await rm(folder, { recursive: true });
  });

  test("renames over a name or keeps it, and exchanges none", async () => {
    await writeFile(root, "a", "A");
    await writeFile(root, "b", "B");
    await expectKind(root.rename("a", "b", "keep"), "Exists");
    await expectKind(root.rename("a", "b", "exchange"), "Unsupported");
    await root.rename("a", "b", "replace");
    expect(await namesIn(root, "")).toEqual(["b"]);
    expect(await readFile(root, "b")).toBe("A");
    await root.rename("b", "c", "keep");
    expect(await namesIn(root, "")).toEqual(["c"]);
  });

  test("keeps times to 100 ns, and of a mode whether one may write", async () => {
    const file = await root.open("a", "create", 0o444);
    expect((await file.stat()).mode).toBe(0o444);
    await file.setStat({ mode: 0o640, mtimeNs: 1_700_000_000_123_456_789n });
    expect(await file.stat()).toMatchObject({ mode: 0o644, mtimeNs: 1_700_000_000_123_456_700n });
    await root.setStat("a", { mtimeNs: -1_500_000_001n });
    expect(await root.stat("a")).toEqual(await file.stat());
    expect((await file.stat()).mtimeNs).toBe(-1_500_000_100n);
    await expectKind(file.setStat({ uid: 1 }), "Unsupported");
    await file.close();
  });

  test("takes no part of a path for a stream or a folder of Windows", async () => {
    await writeFile(root, "a", "A");
    for (const name of ["a:stream", "a::$DATA", "folder\\a", "\\\\server\\share"]) {
      for (const mode of ["read", "write", "create", "createNew"] as const) {
        await expect(root.open(name, mode)).rejects.toMatchObject({ name: "RunnelError" });
      }
    }
    expect(await namesIn(root, "")).toEqual(["a"]);
    expect(await readFile(root, "a")).toBe("A");
  });

  test("says by name what it has not", async () => {
    await writeFile(root, "a", "A");
    await expectKind(root.makeSymlink("link", "a"), "Unsupported");
    await expectKind(root.makeSpecial("fifo", "fifo", 0o600, 0), "Unsupported");
    await expectKind(root.setXattr("a", ["user.a", Buffer.from("x")]), "Unsupported");
    expect(await root.xattrs("a")).toEqual([]);
    await expectKind(
      root.watch(() => undefined),
      "Unsupported",
    );
    expect(await namesIn(root, "")).toEqual(["a"]);
  });
});
