// Objects over a volume's files in memory: what is put is found by its OID, lives as long as anybody wanted it, and is
// what its name says or is refused.
import { describe, expect, test } from "@jest/globals";
import {
  type ChunkKind,
  type DiskRoot,
  OBJECTS_FOLDER,
  RunnelError,
  SeededRandom,
  SimulatedClock,
  SimulatedDisk,
} from "@runnel/shared";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type ContentPart, buildContent } from "@runnel/shared/vectors/content.ts";
import { LocalFiles } from "../../src/agent/objects/local-files.ts";
import { bringAll, objectPath, openObject, putObject } from "../../src/agent/objects/objects.ts";
import type { OpenedFile } from "../../src/agent/objects/volume-files.ts";
import { MemoryFiles } from "./memory-files.ts";

const VECTORS = join(import.meta.dirname, "../../../shared/vectors/objects.json");
const { objects } = JSON.parse(readFileSync(VECTORS, "utf8")) as {
  objects: { name: string; cut: ChunkKind; parts: ContentPart[]; sizeBytes: number; oid: string }[];
};
const HOUR_MS = 3_600_000;
const going = (): AbortSignal => new AbortController().signal;

class Rig {
  readonly clock = new SimulatedClock();
  readonly disk = new SimulatedDisk({ clock: this.clock, seed: 1 });
  readonly files = new MemoryFiles(undefined, this.disk);
  readonly local = new LocalFiles(this.disk);
  #root: DiskRoot | undefined;

  async root(): Promise<DiskRoot> {
    this.#root ??= await this.disk.openRoot("/home", { permissions: 0o700 });
    return this.#root;
  }

  async fileOf(bytes: Uint8Array, name = "file"): Promise<string> {
    await (await this.root()).writeFile(name, bytes, { mode: "create", permissions: 0o600 });
    return `/home/${name}`;
  }

  async put(bytes: Uint8Array, lifeMs = HOUR_MS, chunks?: ChunkKind): ReturnType<typeof putObject> {
    await using source = await this.local.open(await this.fileOf(bytes));
    return await putObject(this.files, source, this.clock, { lifeMs, chunks, signal: going() });
  }
}

test.each(objects)("an object is named as the vectors say: $name", async ({ cut, parts, sizeBytes, oid }) => {
  const rig = new Rig();
  const put = await rig.put(buildContent(parts), HOUR_MS, cut);
  expect(put).toMatchObject({ oid, sizeBytes, hints: [rig.files.url], wasThere: false });
  await using opened = await openObject(rig.files, put);
  expect(opened.sizeBytes).toBe(sizeBytes);
});

test("the same again is not written again, and lives longer, never shorter", async () => {
  const rig = new Rig();
  const bytes = new Uint8Array(100_000).fill(7);
  const first = await rig.put(bytes, 5 * HOUR_MS);
  expect(await rig.put(bytes, HOUR_MS)).toMatchObject({ oid: first.oid, wasThere: true, until: first.until });
  const later = await rig.put(bytes, 9 * HOUR_MS);
  expect(later.until).toBe(first.until + 4 * 3600);
  expect(rig.files.writtenBytes).toBe(bytes.length);
  expect(rig.files.stored.get(objectPath(first.oid))?.until).toBe(later.until);
});

test("a content that is put both ways is two objects, and both are got; one that is a single chunk is one", async () => {
  const rig = new Rig();
  const bytes = Uint8Array.from(new SeededRandom(1).bytes(100_000));
  const [asContent, asFixed] = [await rig.put(bytes), await rig.put(bytes, HOUR_MS, "fixed")];
  expect(asFixed.oid).not.toBe(asContent.oid);
  expect(asFixed.wasThere).toBe(false);
  for (const put of [asContent, asFixed]) {
    await using opened = await openObject(rig.files, put);
    expect(opened.sizeBytes).toBe(bytes.length);
  }
  expect(await rig.put(bytes, HOUR_MS, "fixed")).toMatchObject({ oid: asFixed.oid, wasThere: true });
  const short = await rig.put(bytes.subarray(0, 1000));
  expect(await rig.put(bytes.subarray(0, 1000), HOUR_MS, "fixed")).toMatchObject({ oid: short.oid, wasThere: true });
});

test("what somebody wrote under the name of an object is never given out as it, and the next put mends it", async () => {
  const rig = new Rig();
  const bytes = new Uint8Array(5000).fill(1);
  const put = await rig.put(bytes);
  await using other = await rig.local.open(await rig.fileOf(new Uint8Array(5000).fill(2)));
  await rig.files.write(objectPath(put.oid), other, { signal: going() });
  await expect(openObject(rig.files, put)).rejects.toMatchObject({ kind: "Corrupt" });
  expect((await rig.put(bytes)).wasThere).toBe(false);
  await using opened = await openObject(rig.files, put);
  expect(Buffer.from(opened.oid ?? []).toString("hex")).toBe(put.oid);
});

test("an object that is just being put is not there yet", async () => {
  const rig = new Rig();
  const put = await rig.put(new Uint8Array(5000).fill(1));
  await using nothing = await rig.local.open(await rig.fileOf(new Uint8Array()));
  await rig.files.write(objectPath(put.oid), nothing, { signal: going() });
  await expect(openObject(rig.files, put)).rejects.toMatchObject({ kind: "NotFound" });
});

describe("refuses", () => {
  test("to put where this device may only read: nothing is made", async () => {
    const rig = new Rig();
    rig.files.isReadOnly = true;
    await expect(rig.put(new Uint8Array(10))).rejects.toMatchObject({ kind: "ReadOnly" });
    expect(rig.files.stored.size).toBe(0);
  });

  test("a URI with another size, and an OID that nobody has", async () => {
    const rig = new Rig();
    const put = await rig.put(new Uint8Array(10));
    await expect(openObject(rig.files, { ...put, sizeBytes: 11 })).rejects.toMatchObject({ kind: "Invalid" });
    await expect(openObject(rig.files, { ...put, oid: "0".repeat(64) })).rejects.toMatchObject({ kind: "NotFound" });
  });

  test("a file in the place of the folder of objects", async () => {
    const rig = new Rig();
    await using source = await rig.local.open(await rig.fileOf(new Uint8Array(10)));
    await rig.files.write(OBJECTS_FOLDER, source, { signal: going() });
    await expect(rig.put(new Uint8Array(10))).rejects.toMatchObject({ kind: "NotFolder" });
  });

  test("folders, and paths where nothing is", async () => {
    const rig = new Rig();
    await (await rig.root()).makeFolder("folder");
    await (await rig.root()).makeSymlink("link", "folder");
    await expect(rig.local.open("/home/folder")).rejects.toMatchObject({ kind: "IsFolder" });
    await expect(rig.local.open("/home/link")).rejects.toMatchObject({ kind: "Unsupported" });
    await expect(rig.local.open("/home/nothing")).rejects.toMatchObject({ kind: "NotFound" });
    await expect(rig.local.open("/nowhere/nothing")).rejects.toMatchObject({ kind: "NotFound" });
  });
});

test("a source that is changed meanwhile is told as such", async () => {
  const rig = new Rig();
  await using source = await rig.local.open(await rig.fileOf(new Uint8Array(5000)));
  rig.files.write = async () => {
    await rig.clock.advance(5);
    await rig.fileOf(new Uint8Array(4000));
    throw new RunnelError("Corrupt", "write", "It is not what its OID says.");
  };
  const put = putObject(rig.files, source, rig.clock, { lifeMs: HOUR_MS, signal: going() });
  await expect(put).rejects.toMatchObject({ kind: "Stale" });
});

describe("a file that is written", () => {
  test("is there whole, with its mode and time, or not at all", async () => {
    const rig = new Rig();
    const root = await rig.root();
    const path = await rig.fileOf(new Uint8Array([1, 2, 3]), "old");
    await expect(
      rig.local.write(
        path,
        async (file) => {
          await file.write(0, new Uint8Array(10));
          throw new RunnelError("Unreachable", "get", "The line broke.");
        },
        { mode: 0o644 },
      ),
    ).rejects.toMatchObject({ kind: "Unreachable" });
    expect(await root.readFile("old", 100)).toEqual(new Uint8Array([1, 2, 3]));
    expect((await rig.local.list("/home")).map(({ name }) => name)).toEqual(["old"]);
    await rig.local.write(path, (file) => file.write(0, new Uint8Array([9])), { mode: 0o644, mtimeNs: 5n });
    expect(await root.readFile("old", 100)).toEqual(new Uint8Array([9]));
    expect(await rig.local.find(path)).toMatchObject({ mode: 0o644, mtimeNs: 5n, sizeBytes: 1 });
  });

  test("takes no folder's place", async () => {
    const rig = new Rig();
    await (await rig.root()).makeFolder("folder");
    await expect(rig.local.write("/home/folder", async () => undefined, { mode: 0o644 })).rejects.toMatchObject({
      kind: "IsFolder",
    });
  });
});

describe("bringing all of an object", () => {
  const MiB = 1024 * 1024;
  const sizeBytes = 21 * MiB + 5;

  /** Windows that have been asked for, each with what lets it come. */
  function rigOf(present: { offset: number; length: number }[] = []) {
    const asked: { offset: number; come(): void; fail(error: unknown): void }[] = [];
    const opened: Pick<OpenedFile, "sizeBytes" | "present" | "bring"> = {
      sizeBytes,
      present: () => present,
      bring: ({ offset }) => new Promise<void>((come, fail) => asked.push({ offset, come, fail })),
    };
    return { asked, opened };
  }

  test("goes in order, a few windows at once, however they come", async () => {
    const { asked, opened } = rigOf();
    const ranges = bringAll(opened, { inOrder: true, signal: going() });
    const first = ranges.next();
    expect(asked.map(({ offset }) => offset)).toEqual([0, 4 * MiB]);
    asked[1]?.come();
    asked[0]?.come();
    expect((await first).value).toEqual({ offset: 0, length: 4 * MiB });
    const found = [4 * MiB];
    expect((await ranges.next()).value).toMatchObject({ offset: found[0] });
    for (let at = 2; at < 6; at++) {
      asked[at]?.come();
      found.push(((await ranges.next()).value as { offset: number }).offset);
    }
    expect(found).toEqual([4, 8, 12, 16, 20].map((each) => each * MiB));
    expect((await ranges.next()).done).toBe(true);
  });

  test("out of order gives first what is here, and then what comes first", async () => {
    const { asked, opened } = rigOf([{ offset: 8 * MiB, length: 4 * MiB }]);
    const ranges = bringAll(opened, { inOrder: false, signal: going() });
    const first = ranges.next();
    expect(asked.map(({ offset }) => offset)).toEqual([8 * MiB, 0]);
    asked[1]?.come();
    expect((await first).value).toMatchObject({ offset: 0 });
    asked[0]?.come();
    expect((await ranges.next()).value).toMatchObject({ offset: 8 * MiB });
    await ranges.return(undefined);
  });

  test("fails with what a window fails with", async () => {
    const { asked, opened } = rigOf();
    const first = bringAll(opened, { inOrder: true, signal: going() }).next();
    asked[0]?.fail(new RunnelError("Gone", "get", "It is gone."));
    await expect(first).rejects.toMatchObject({ kind: "Gone" });
  });
});
