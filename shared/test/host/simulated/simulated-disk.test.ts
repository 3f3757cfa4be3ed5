import { describe, expect, test } from "@jest/globals";
import type { DiskRoot } from "../../../src/host/disk.ts";
import { SimulatedClock } from "../../../src/host/simulated/simulated-clock.ts";
import { SimulatedDisk } from "../../../src/host/simulated/simulated-disk.ts";
import { diskContract } from "../../contracts/disk-contract.ts";
import { bytesOf, readFile, namesIn, writeFile } from "../../contracts/disk-steps.ts";

function makeDisk(seed = 1): SimulatedDisk {
  return new SimulatedDisk({ clock: new SimulatedClock(), seed });
}

diskContract("simulated", async () => {
  const disk = makeDisk();
  await disk.openRoot("/srv/folder", { permissions: 0o755 });
  return {
    disk,
    folder: "/srv/folder",
    makeRawName: async (name) => disk.makeRawName("/srv/folder", name),
    dispose: async () => {},
  };
});

/** Runs the same steps on many seeds, cuts the power, and gathers what came out. */
async function outcomes(
  steps: (root: DiskRoot) => Promise<void>,
  look: (root: DiskRoot) => Promise<string>,
): Promise<Set<string>> {
  const seen = new Set<string>();
  for (let seed = 0; seed < 200; seed++) {
    const disk = makeDisk(seed);
    await steps(await disk.openRoot("/r", { permissions: 0o700 }));
    disk.crash();
    seen.add(await look(await disk.openRoot("/r")));
  }
  return seen;
}

const scanNames = async (root: DiskRoot): Promise<string> => (await namesIn(root, "")).join(" ");

async function write(root: DiskRoot, path: string, text: string, sync: boolean): Promise<void> {
  const file = await root.open(path, "create");
  await file.write(0, bytesOf(text));
  if (sync) await file.sync();
  await file.close();
}

async function filesAfterCrash(seed: number): Promise<string> {
  const disk = makeDisk(seed);
  const root = await disk.openRoot("/r", { permissions: 0o700 });
  for (let count = 0; count < 30; count++) await writeFile(root, `${count}`, "x".repeat(count * 100));
  disk.crash();
  const again = await disk.openRoot("/r");
  const names = await namesIn(again, "");
  return (await Promise.all(names.map(async (name) => `${name}:${(await readFile(again, name ?? "")).length}`))).join(
    " ",
  );
}

describe("a power cut on the simulated disk", () => {
  test("keeps what was synced, by file and by folder", async () => {
    expect(
      await outcomes(
        async (root) => {
          await write(root, "a", "kept", true);
          await root.syncFolder("");
        },
        (root) => readFile(root, "a"),
      ),
    ).toEqual(new Set(["kept"]));
  });

  test("may lose a name whose folder was not synced, though the file was", async () => {
    expect(await outcomes((root) => write(root, "a", "x", true), scanNames)).toEqual(new Set(["", "a"]));
  });

  test("may lose one of two names, either of them", async () => {
    expect(
      await outcomes(async (root) => {
        await writeFile(root, "a", "");
        await writeFile(root, "b", "");
      }, scanNames),
    ).toEqual(new Set(["", "a", "b", "a b"]));
  });

  test("keeps a rename whole", async () => {
    expect(
      await outcomes(
        async (root) => {
          await write(root, "a", "new", true);
          await write(root, "b", "old", true);
          await root.makeFolder("f");
          await root.syncFolder("");
          await root.rename("a", "b", "replace");
          await root.rename("b", "f/c", "replace");
        },
        async (root) => `${await scanNames(root)} / ${(await namesIn(root, "f")).join(" ")}`,
      ),
    ).toEqual(new Set(["a b f / ", "b f / ", "f / c"]));
  });

  test("never loses a synced file that was moved into a folder that was not synced", async () => {
    expect(
      await outcomes(
        async (root) => {
          await write(root, "a", "x", true);
          await root.syncFolder("");
          await root.makeFolder("f");
          await root.rename("a", "f/a", "replace");
        },
        async (root) => {
          const names = await scanNames(root);
          return names === "f" ? `f/${(await namesIn(root, "f")).join(" ")}` : names;
        },
      ),
    ).toEqual(new Set(["a", "a f", "f/a"]));
  });

  test("keeps with a synced folder what its names cannot be without", async () => {
    expect(
      await outcomes(
        async (root) => {
          await root.makeFolder("f");
          await write(root, "a", "x", true);
          await root.rename("a", "f/a", "replace");
          await root.syncFolder("f");
        },
        async (root) => readFile(root, "f/a"),
      ),
    ).toEqual(new Set(["x"]));
  });

  test("may keep any sector of what was written since the sync, and the length of any moment", async () => {
    const seen = await outcomes(
      async (root) => {
        const file = await root.open("a", "create");
        await file.write(0, new Uint8Array(1024).fill(65));
        await file.sync();
        await root.syncFolder("");
        await file.write(0, new Uint8Array(512).fill(66));
        await file.write(512, new Uint8Array(1024).fill(67));
      },
      async (root) => {
        const text = await readFile(root, "a");
        return `${text.length} ${[0, 512, 1024].map((at) => text.slice(at, at + 1).replace("\0", "-")).join("")}`;
      },
    );
    for (const one of ["1024 AA", "1024 BA", "1536 BCC", "1536 AA-", "1024 AC", "1536 BAC"])
      expect(seen).toContain(one);
    for (const one of seen) expect(one).toMatch(/^(1024 [AB][AC]|1536 [AB][AC][-C])$/);
  });

  test("takes what a sync that did not end has not promised", async () => {
    const seen = new Set<string>();
    for (let seed = 0; seed < 100; seed++) {
      const clock = new SimulatedClock();
      const disk = new SimulatedDisk({ clock, seed });
      const root = await disk.openRoot("/r", { permissions: 0o700 });
      const file = await root.open("a", "create");
      await root.syncFolder("");
      await file.write(0, bytesOf("1"));
      disk.delayMs = (operation) => (operation === "sync" ? 10 : 0);
      const synced = file.sync().then(
        () => "synced",
        (error: { kind: string }) => error.kind,
      );
      await file.write(1, bytesOf("2"));
      if (seed % 2 === 0) await clock.advance(10);
      disk.crash();
      await clock.advance(10);
      disk.delayMs = () => 0;
      seen.add(`${await synced} ${await readFile(await disk.openRoot("/r"), "a")}`.replaceAll("\0", "-"));
    }
    for (const one of ["synced 1", "synced 12", "Io ", "Io 1", "Io 12"]) expect(seen).toContain(one);
    // The length may be there without the bytes.
    for (const one of seen) expect(one).toMatch(/^(synced 1|Io [1-]?)[2-]?$/);
  });

  test("kills what was open", async () => {
    const disk = makeDisk();
    const root = await disk.openRoot("/r", { permissions: 0o700 });
    const file = await root.open("a", "create");
    disk.crash();
    await expect(file.read(0, 1)).rejects.toMatchObject({ kind: "Io" });
    await expect(root.stat("")).rejects.toMatchObject({ kind: "Io" });
  });

  test("repeats itself with the same seed", async () => {
    expect(await filesAfterCrash(5)).toBe(await filesAfterCrash(5));
    expect(await filesAfterCrash(5)).not.toBe(await filesAfterCrash(6));
  });
});

describe("the simulated disk", () => {
  test("says NoSpace when it is full, after writing what had room, and has room again after a removal", async () => {
    const disk = makeDisk();
    const root = await disk.openRoot("/r", { permissions: 0o700 });
    disk.capacityBytes = 10 * 4096;
    const file = await root.open("a", "create");
    await expect(file.write(0, new Uint8Array(11 * 4096))).rejects.toMatchObject({ kind: "NoSpace" });
    expect((await file.stat()).sizeBytes).toBe(10 * 4096);
    expect((await root.space()).freeBytes).toBe(0);
    await file.truncate(4096);
    expect((await root.space()).freeBytes).toBe(9 * 4096);
    await root.removeFile("a");
    expect((await root.space()).freeBytes).toBe(9 * 4096);
    await file.close();
    expect((await root.space()).freeBytes).toBe(10 * 4096);
  });

  test("gives an inode number away again at once, a handle never", async () => {
    const root = await makeDisk().openRoot("/r", { permissions: 0o700 });
    await writeFile(root, "a", "");
    const [before, handle] = [await root.stat("a"), await root.handle("a")];
    await root.removeFile("a");
    await writeFile(root, "b", "");
    expect((await root.stat("b")).ino).toBe(before.ino);
    expect(await root.handle("b")).not.toEqual(handle);
  });

  test("never shows one number on two files after a power cut", async () => {
    expect(
      await outcomes(async (root) => {
        await writeFile(root, "a", "");
        await root.syncFolder("");
        await root.removeFile("a");
        await writeFile(root, "b", "");
      }, scanNames),
    ).toEqual(new Set(["a", "", "b"]));
  });

  test("changes ctime with every change, even if the clock stands still", async () => {
    const root = await makeDisk().openRoot("/r", { permissions: 0o700 });
    const file = await root.open("a", "create");
    const seen = new Set<bigint>();
    const changes = [
      () => file.write(0, bytesOf("x")),
      () => file.write(0, bytesOf("x")),
      () => file.truncate(0),
      () => file.setStat({ mtimeNs: 5n }),
      () => root.link("a", "b"),
      () => root.rename("a", "c", "keep"),
      () => root.removeFile("c"),
    ];
    for (const change of changes) {
      await change();
      seen.add((await file.stat()).ctimeNs);
    }
    expect(seen.size).toBe(changes.length);
  });

  test("takes its time, and fails, as told", async () => {
    const clock = new SimulatedClock({ bootMs: 0 });
    const disk = new SimulatedDisk({ clock, seed: 1 });
    const root = await disk.openRoot("/r", { permissions: 0o700 });
    disk.delayMs = (operation) => (operation === "stat" ? 25 : 0);
    disk.fault = (operation, path) => (operation === "open" && path === "bad" ? "Denied" : undefined);
    const stat = root.stat("");
    await clock.runUntilIdle();
    await stat;
    expect(clock.bootMs()).toBe(25);
    await expect(root.open("bad", "create")).rejects.toMatchObject({ kind: "Denied" });
  });

  test("does not go onto another file system", async () => {
    const disk = makeDisk();
    const root = await disk.openRoot("/r", { permissions: 0o700 });
    await root.makeFolder("other");
    await writeFile(root, "other/a", "");
    disk.mountOver("/r/other");
    for (const path of ["other", "other/a"]) {
      await expect(root.stat(path)).rejects.toMatchObject({ kind: "Unavailable" });
      await expect(root.open(path, "read")).rejects.toMatchObject({ kind: "Unavailable" });
    }
  });

  test("tells watches that events were lost", async () => {
    const disk = makeDisk();
    const root = await disk.openRoot("/r", { permissions: 0o700 });
    const told: string[] = [];
    await root.watch((events) => told.push(...events.map(({ path, kind }) => `${kind} ${path}`)));
    const made = writeFile(root, "a", "");
    disk.overflowWatches();
    await made;
    expect(told[0]).toBe("overflow ");
  });
});
