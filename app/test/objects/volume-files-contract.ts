// The contract that the files of every volume keep for the agent itself, whatever is below them.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  CHUNK_PRESETS,
  type DiskRoot,
  RunnelError,
  SeededRandom,
  SimulatedClock,
  SimulatedDisk,
  encodeRecipe,
} from "@runnel/shared";
import { inlineExecutor } from "@runnel/native";
import type { FileSource, VolumeFiles } from "../../src/agent/objects/volume-files.ts";

export interface OpenedFiles {
  files: VolumeFiles;
  close(): Promise<void>;
}

const LARGE_BYTES = 300_000;
const MTIME_NS = 1_700_000_000_000_000_000n;

/** `open` gives the files of an empty volume that may be changed. */
export function volumeFilesContract(what: string, open: () => Promise<OpenedFiles>): void {
  let opened: OpenedFiles;
  let files: VolumeFiles;
  let root: DiskRoot;
  let count = 0;

  async function sourceOf(bytes: Uint8Array, mode = 0o640): Promise<FileSource> {
    const name = `source-${++count}`;
    await root.writeFile(name, bytes, { mode: "create", permissions: 0o600 });
    const file = await root.open(name, "read");
    const facts = { sizeBytes: bytes.length, mtimeNs: MTIME_NS, mode };
    return { ...facts, file, [Symbol.asyncDispose]: () => file.close() };
  }

  async function write(path: string, bytes: Uint8Array, signal = new AbortController().signal): Promise<void> {
    await using source = await sourceOf(bytes);
    await files.write(path, source, { signal });
  }

  async function read(path: string): Promise<Uint8Array> {
    await using file = await files.open(path);
    await file.bring({ offset: 0, length: file.sizeBytes }, new AbortController().signal);
    await using source = await file.source();
    return (await source.file?.read(0, file.sizeBytes)) ?? new Uint8Array();
  }

  const noise = (seed: number, length: number): Uint8Array => Uint8Array.from(new SeededRandom(seed).bytes(length));

  describe(`files of a volume: ${what}`, () => {
    beforeEach(async () => {
      opened = await open();
      ({ files } = opened);
      const disk = new SimulatedDisk({ clock: new SimulatedClock(), seed: 1 });
      root = await disk.openRoot("/sources", { permissions: 0o700 });
    });

    afterEach(() => opened.close());

    test.each([0, 5, LARGE_BYTES])(
      "%d bytes that are written are read, with their time and mode, and their OID",
      async (length) => {
        const bytes = noise(1, length);
        await write("a", bytes);
        expect(await files.find("a")).toMatchObject({
          type: "file",
          sizeBytes: length,
          mtimeNs: MTIME_NS,
          mode: 0o640,
        });
        expect(await read("a")).toEqual(bytes);
        await using source = await sourceOf(bytes);
        const { recipe, oid } = await files.cut(source, "content");
        const cut = await inlineExecutor().chunkBytes(bytes);
        expect(Buffer.compare(encodeRecipe(recipe), encodeRecipe(cut))).toBe(0);
        await using file = await files.open("a");
        if (length > 0) expect(Buffer.compare(file.oid ?? new Uint8Array(), oid)).toBe(0);
      },
    );

    test("[W211] a content in fixed chunks is read as it was, of any size around theirs, and has the OID of those", async () => {
      const border = CHUNK_PRESETS[3].maxBytes;
      const sizes = fc.oneof(
        fc.constantFrom(0, 1, border - 1, border, border + 1, 7 * border),
        fc
          .tuple(fc.integer({ min: 1, max: 20 }), fc.integer({ min: -2, max: 2 }))
          .map(([n, more]) => n * border + more),
        fc.nat(1_500_000),
      );
      let seed = 0;
      await fc.assert(
        fc.asyncProperty(sizes, async (size) => {
          const bytes = noise(++seed, size);
          await using source = await sourceOf(bytes);
          const { recipe, oid } = await files.cut(source, "fixed");
          expect(recipe.lengths).toHaveLength(Math.ceil(size / border));
          const name = `fixed-${seed}`;
          await files.write(name, { ...source, recipe }, { signal: new AbortController().signal, chunks: "fixed" });
          expect(Buffer.compare(await read(name), bytes)).toBe(0);
          await using file = await files.open(name);
          if (size > 0) expect(Buffer.compare(file.oid ?? new Uint8Array(), oid)).toBe(0);
        }),
        { numRuns: 15, seed: 1 },
      );
    });

    test("[W211] a file that was cut otherwise is cut anew to be an object, one that was cut so is not", async () => {
      const bytes = noise(1, LARGE_BYTES);
      const signal = new AbortController().signal;
      await using source = await sourceOf(bytes);
      const [content, fixed] = [await files.cut(source, "content"), await files.cut(source, "fixed")];
      await files.write("content", { ...source, recipe: content.recipe }, { signal, chunks: "content" });
      await files.write("fixed", { ...source, recipe: fixed.recipe }, { signal, chunks: "fixed" });
      for (const name of ["content", "fixed"]) {
        await using stored = await files.open(name);
        await using known = await stored.source();
        expect(Buffer.compare((await files.cut(known, "content")).oid, content.oid)).toBe(0);
        expect(Buffer.compare((await files.cut(known, "fixed")).oid, fixed.oid)).toBe(0);
      }
      // A copy of it needs no more than its chunks.
      await using stored = await files.open("fixed");
      await using known = await stored.source();
      await files.write("copy", known, { signal });
      expect(Buffer.compare(await read("copy"), bytes)).toBe(0);
    });

    test("another content takes the place of the first, and keeps its mode", async () => {
      await write("a", noise(1, LARGE_BYTES));
      await write("a", noise(2, 1000));
      expect(await read("a")).toEqual(noise(2, 1000));
      expect(await files.find("a")).toMatchObject({ sizeBytes: 1000, mode: 0o640 });
    });

    test("folders are made with those above them, once, and listed in the order of their names", async () => {
      await files.makeFolders("one/two");
      await files.makeFolders("one/two");
      await write("one/b", noise(1, 3));
      await write("one/a", noise(1, 4));
      const listed = await files.list("one");
      expect(listed.map(({ name, type }) => [name, type])).toEqual([
        ["a", "file"],
        ["b", "file"],
        ["two", "folder"],
      ]);
      expect(await files.list("one/two")).toEqual([]);
      expect((await files.list("")).map(({ name }) => name)).toEqual(["one"]);
    });

    test("what is not there, or is something else, is refused by name", async () => {
      await files.makeFolders("folder");
      await write("file", noise(1, 3));
      expect(await files.find("nothing")).toBeUndefined();
      expect(await files.find("nothing/below")).toBeUndefined();
      const refused: [Promise<unknown>, string][] = [
        [files.open("nothing"), "NotFound"],
        [files.open("folder"), "IsFolder"],
        [files.list("nothing"), "NotFound"],
        [files.list("file"), "NotFolder"],
        [files.makeFolders("file/below"), "NotFolder"],
        [write("nothing/a", noise(1, 3)), "NotFound"],
        [write("file/a", noise(1, 3)), "NotFolder"],
        [write("folder", noise(1, 3)), "IsFolder"],
        [files.liveUntil("nothing", 5), "NotFound"],
      ];
      const kinds = await Promise.all(
        refused.map(([work]) =>
          work.then(
            () => "done",
            (error: RunnelError) => error.kind,
          ),
        ),
      );
      expect(kinds).toEqual(refused.map(([, kind]) => kind));
      expect(await read("file")).toEqual(noise(1, 3));
    });

    test("a life is lengthened and never shortened", async () => {
      await using source = await sourceOf(noise(1, 3));
      await files.write("a", source, { signal: new AbortController().signal, until: 2_000_000_000 });
      expect(await files.liveUntil("a", 1_900_000_000)).toBe(2_000_000_000);
      expect(await files.liveUntil("a", 2_100_000_000)).toBe(2_100_000_000);
      expect(await files.liveUntil("a", 1)).toBe(2_100_000_000);
      await files.write("a", source, { signal: new AbortController().signal, until: 1_900_000_000 });
      expect(await files.liveUntil("a", 1)).toBe(2_100_000_000);
    });

    test("a write that is ended leaves no new file, and an old one as it was", async () => {
      await write("old", noise(1, LARGE_BYTES));
      const stop = new AbortController();
      stop.abort(new RunnelError("Interrupted", "put", "It was ended."));
      for (const path of ["old", "new"])
        await expect(write(path, noise(2, LARGE_BYTES), stop.signal)).rejects.toMatchObject({ kind: "Interrupted" });
      expect(await files.find("new")).toBeUndefined();
      expect(await read("old")).toEqual(noise(1, LARGE_BYTES));
      await using file = await files.open("old");
      await expect(file.bring({ offset: 0, length: 1 }, stop.signal)).rejects.toMatchObject({ kind: "Interrupted" });
    });

    test("what a source lacks is asked for before it is read", async () => {
      const bytes = noise(3, LARGE_BYTES);
      await using source = await sourceOf(bytes);
      const asked: number[] = [];
      const lazy = { ...source, bring: async ({ length }: { length: number }) => void asked.push(length) };
      await files.write("a", lazy, { signal: new AbortController().signal });
      expect(asked.length).toBeGreaterThan(0);
      expect(await read("a")).toEqual(bytes);
    });
  });
}
