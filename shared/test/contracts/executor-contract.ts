// The contract of every engine of Executor.
import { createHash, randomBytes } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { isCutFixed } from "../../src/model/cut-kind.ts";
import { CHUNK_PRESETS, isFixedPreset, presetOf } from "../../src/model/chunk-presets.ts";
import type { DiskFile, DiskRoot } from "../../src/host/disk.ts";
import type { ChunkedRange, Executor } from "../../src/host/executor.ts";
import { rechunkedRecipe } from "../../src/model/recipe.ts";

export interface ExecutorUnderTest {
  executor: Executor;
  /** A folder, and an open file in it that holds these bytes, called file-0, file-1…; closed by dispose. */
  root: DiskRoot;
  makeFile(bytes: Uint8Array): Promise<DiskFile>;
  dispose(): Promise<void>;
}

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const DIGEST_BYTES = 32;
const sum = (numbers: Iterable<number>): number => [...numbers].reduce((total, number) => total + number, 0);

export function executorContract(name: string, makeExecutor: () => Promise<ExecutorUnderTest>): void {
  describe(`Executor contract: ${name}`, () => {
    let made: ExecutorUnderTest;
    beforeEach(async () => {
      made = await makeExecutor();
    });
    afterEach(() => made.dispose());

    describeChunks(() => made);
    describeRechunking(() => made);
    describeDigests(() => made);
    describeCompression(() => made);
  });
}

function describeChunks(made: () => ExecutorUnderTest): void {
  test("cuts within the limits and digests each chunk", async () => {
    const bytes = randomBytes(1_000_000);
    const { lengths, digests } = await made().executor.chunkBytes(bytes);
    expect(sum(lengths)).toBe(bytes.length);
    expect(digests).toHaveLength(lengths.length * DIGEST_BYTES);
    expect(lengths.length).toBeGreaterThan(10);
    let at = 0;
    for (const [index, length] of lengths.entries()) {
      const isLast = index === lengths.length - 1;
      expect(length).toBeLessThanOrEqual(CHUNK_PRESETS[0].maxBytes);
      expect(length).toBeGreaterThanOrEqual(isLast ? 1 : CHUNK_PRESETS[0].minBytes);
      const digest = digests.subarray(index * DIGEST_BYTES, (index + 1) * DIGEST_BYTES);
      expect(hexOf(digest)).toBe(sha256(bytes.subarray(at, at + length)));
      at += length;
    }
  });

  test.each([0, 1, 2, 3, 4] as const)(
    "cuts bytes, files and contents in pieces alike, with preset %i",
    async (preset) => {
      const bytes = randomBytes(4_000_000);
      const { executor, makeFile } = made();
      const file = await makeFile(bytes);
      const { minBytes, maxBytes } = CHUNK_PRESETS[preset];
      const whole = await executor.chunkBytes(bytes, preset);
      if (isFixedPreset(preset)) expect(isCutFixed(whole)).toBe(true);
      else expect(presetOf(whole)).toBe(preset);
      expect(Math.min(...whole.lengths.subarray(0, -1))).toBeGreaterThanOrEqual(minBytes);
      expect(Math.max(...whole.lengths)).toBeLessThanOrEqual(maxBytes);
      expect(await executor.chunkFile(file, 0, bytes.length, preset)).toEqual(whole);
      const pieces = [
        { file, offset: 0, length: 1_000_000 },
        { file, offset: 1_000_000, length: 3_000_000 },
      ];
      expect((await executor.rechunk(pieces, new Uint32Array(0), [], preset)).fresh).toEqual(whole);
    },
  );

  test("finds no chunk in nothing", async () => {
    const { lengths, digests } = await made().executor.chunkBytes(new Uint8Array(0));
    expect([lengths.length, digests.length]).toEqual([0, 0]);
    const file = await made().makeFile(new Uint8Array(10));
    expect((await made().executor.chunkFile(file, 5, 0)).lengths).toHaveLength(0);
  });

  test("cuts a file from a chunk border as it cuts the bytes", async () => {
    const bytes = randomBytes(2_500_000);
    const file = await made().makeFile(bytes);
    const whole = await made().executor.chunkFile(file, 0, bytes.length);
    expect(whole).toEqual(await made().executor.chunkBytes(bytes));
    const border = sum(whole.lengths.subarray(0, 7));
    const rest = await made().executor.chunkFile(file, border, bytes.length - border);
    expect([...rest.lengths]).toEqual([...whole.lengths.subarray(7)]);
    expect(hexOf(rest.digests)).toBe(hexOf(whole.digests.subarray(7 * DIGEST_BYTES)));
  });

  test("says Stale when a file is shorter than what is to be cut", async () => {
    const file = await made().makeFile(new Uint8Array(5000));
    await expect(made().executor.chunkFile(file, 0, 5001)).rejects.toMatchObject({ kind: "Stale" });
    await expect(made().executor.chunkFile(file, 9000, 1)).rejects.toMatchObject({ kind: "Stale" });
  });
}

function describeRechunking(made: () => ExecutorUnderTest): void {
  const whole = async (bytes: Uint8Array): Promise<ChunkedRange> => made().executor.chunkBytes(bytes);

  test("cuts a content in pieces as it cuts the bytes", async () => {
    const bytes = randomBytes(300_000);
    bytes.fill(0, 100_000, 180_000);
    const one = await made().makeFile(bytes.subarray(0, 60_000));
    const other = await made().makeFile(bytes);
    const pieces = [
      { file: one, offset: 0, length: 50_000 },
      { file: other, offset: 50_000, length: 50_000 },
      { file: undefined, offset: 0, length: 80_000 },
      { file: other, offset: 180_000, length: 120_000 },
    ];
    const { spans, fresh, bytesRead } = await made().executor.rechunk(pieces, new Uint32Array(0), []);
    expect(fresh).toEqual(await whole(bytes));
    expect(spans).toEqual([{ first: 0, kept: 0, fresh: fresh.lengths.length }]);
    expect(bytesRead).toBe(bytes.length);
  });

  test("reads only around an edit and finds what cutting the whole finds", async () => {
    const bytes = randomBytes(4_000_000);
    const base = await whole(bytes);
    const edited = Uint8Array.from(bytes);
    edited[2_000_000] = (edited[2_000_000] as number) ^ 1;
    const file = await made().makeFile(edited);
    const piece = { file, offset: 0, length: edited.length };
    const found = await made().executor.rechunk([piece], base.lengths, [{ offset: 2_000_000, length: 1 }]);
    expect(rechunkedRecipe(base, found)).toEqual(await whole(edited));
    expect(found.bytesRead).toBeLessThan(300_000);
  });

  test("finds what cutting the whole finds when many small edits lie in pieces of their own", async () => {
    const base = randomBytes(2_000_000);
    const edited = Uint8Array.from(base);
    const edits = Array.from({ length: 60 }, (_, index) => ({
      offset: 30_000 * index + 4096 * (index % 5),
      length: 4096,
    }));
    for (const { offset, length } of edits) edited.set(randomBytes(length), offset);
    const [before, after] = [await made().makeFile(base), await made().makeFile(edited)];
    const pieces = edits.flatMap(({ offset, length }, index) => {
      const next = edits[index + 1]?.offset ?? base.length;
      return [
        { file: after, offset, length },
        { file: before, offset: offset + length, length: next - offset - length },
      ];
    });
    const { executor } = made();
    const recipe = await executor.chunkBytes(base);
    const got = rechunkedRecipe(recipe, await executor.rechunk(pieces, recipe.lengths, edits));
    expect(hexOf(got.digests)).toBe(hexOf((await executor.chunkBytes(edited)).digests));
  });

  test("reads nothing of a content that is its base", async () => {
    const bytes = randomBytes(100_000);
    const base = await whole(bytes);
    const file = await made().makeFile(bytes);
    const found = await made().executor.rechunk([{ file, offset: 0, length: bytes.length }], base.lengths, []);
    expect(found).toMatchObject({ spans: [{ first: 0, kept: base.lengths.length, fresh: 0 }], bytesRead: 0 });
  });

  test("says Stale when a file is shorter than its piece", async () => {
    const file = await made().makeFile(new Uint8Array(5000));
    const short = made().executor.rechunk([{ file, offset: 0, length: 5001 }], new Uint32Array(0), []);
    await expect(short).rejects.toMatchObject({ kind: "Stale" });
  });
}

function describeDigests(made: () => ExecutorUnderTest): void {
  test("digests buffers one after another", async () => {
    const buffers = [new Uint8Array(0), randomBytes(1), randomBytes(100_000)];
    expect(hexOf(await made().executor.digest(buffers))).toBe(buffers.map(sha256).join(""));
    expect(await made().executor.digest([])).toHaveLength(0);
  });

  test("digests a view of a larger buffer", async () => {
    const bytes = randomBytes(100).subarray(33, 77);
    expect(hexOf(await made().executor.digest([bytes]))).toBe(sha256(bytes));
  });

  test("digests ranges of a file", async () => {
    const bytes = randomBytes(3_000_000);
    const file = await made().makeFile(bytes);
    const ranges = [
      { offset: 0, length: bytes.length },
      { offset: 17, length: 0 },
      { offset: 1_048_575, length: 2 },
    ];
    const digests = await made().executor.digestFile(file, ranges);
    const expected = ranges.map(({ offset, length }) => sha256(bytes.subarray(offset, offset + length)));
    expect(hexOf(digests)).toBe(expected.join(""));
  });

  test("digests many ranges of a file, side by side, over each other, with holes between, small and large", async () => {
    const bytes = new Uint8Array(5_000_000);
    bytes.set(randomBytes(3_000_000));
    bytes.set(randomBytes(1_000_000), 4_000_000);
    const file = await made().makeFile(bytes);
    const ranges = Array.from({ length: 400 }, (_, index) => {
      const offset = index % 3 === 0 ? 9_000 * index : (index * 7_919) % 3_900_000;
      return { offset, length: index % 50 === 49 ? 1_048_000 + index : (index * 131) % 27_000 };
    });
    for (let at = 0; at < 3_000_000; at += 9000) ranges.push({ offset: at, length: 9000 });
    const digests = await made().executor.digestFile(file, ranges);
    const expected = ranges.map(({ offset, length }) => sha256(bytes.subarray(offset, offset + length)));
    expect(hexOf(digests)).toBe(expected.join(""));
  });

  test("cuts and digests zeros as anything else", async () => {
    const bytes = new Uint8Array(400_000);
    bytes[200_000] = 1;
    const file = await made().makeFile(bytes);
    const { executor } = made();
    const { lengths, digests } = await executor.chunkFile(file, 0, bytes.length);
    let offset = 0;
    const ranges = [...lengths].map((length) => ({ offset: (offset += length) - length, length }));
    const expected = ranges.map((range) => sha256(bytes.subarray(range.offset, range.offset + range.length))).join("");
    expect(hexOf(digests)).toBe(expected);
    expect(hexOf(await executor.digestFile(file, ranges))).toBe(expected);
    expect(offset).toBe(bytes.length);
  });

  test.each([true, false])(
    "digests ranges of files by their paths, synced: %s; but of those that are not whole",
    async (isSynced) => {
      const { executor, root, makeFile } = made();
      const contents = Array.from({ length: 100 }, (_, at) => randomBytes(at * 37));
      for (const bytes of contents) await makeFile(bytes);
      const files = contents.map(({ length }, at) => ({
        path: `file-${at}`,
        ranges: [
          { offset: 0, length },
          { offset: at, length: length - at },
        ],
      }));
      files.splice(50, 0, { path: "none", ranges: [{ offset: 0, length: 1 }] });
      files.splice(60, 0, { path: "file-3", ranges: [{ offset: 0, length: 3 * 37 + 1 }] });
      const digests = await executor.digestFiles(root, files, isSynced);
      const expected: (string | undefined)[] = contents.map((bytes, at) => sha256(bytes) + sha256(bytes.subarray(at)));
      expected.splice(50, 0, undefined);
      expected.splice(60, 0, undefined);
      expect(digests.map((each) => each && hexOf(each))).toEqual(expected);
      expect(await executor.digestFiles(root, [], isSynced)).toEqual([]);
    },
  );

  test("says Stale when a range is past the end", async () => {
    const file = await made().makeFile(new Uint8Array(100));
    const ranges = [
      { offset: 0, length: 100 },
      { offset: 50, length: 51 },
    ];
    await expect(made().executor.digestFile(file, ranges)).rejects.toMatchObject({ kind: "Stale" });
  });
}

function describeCompression(made: () => ExecutorUnderTest): void {
  test("compresses what shrinks and gives it back", async () => {
    const bytes = Buffer.from("all is well that ends well, ".repeat(1000));
    for (const level of [1, 3, 19]) {
      const compressed = await made().executor.compress(bytes, level);
      expect(compressed?.length).toBeLessThan(bytes.length / 10);
      expect(hexOf(await made().executor.decompress(compressed as Uint8Array, bytes.length))).toBe(hexOf(bytes));
    }
  });

  test("leaves alone what does not shrink", async () => {
    for (const length of [0, 1, 2, 100, 100_000]) {
      expect(await made().executor.compress(randomBytes(length), 3)).toBeUndefined();
    }
  });

  test("says little more than the difference from a prefix", async () => {
    const old = randomBytes(700_000);
    const edited = Buffer.concat([old.subarray(0, 300_000), Buffer.from("a few new words"), old.subarray(300_100)]);
    const packed = (await made().executor.compress(edited, 3, old)) as Uint8Array;
    expect(packed.length).toBeLessThan(1000);
    expect(hexOf(await made().executor.decompress(packed, edited.length, old))).toBe(hexOf(edited));
  });

  test("says Corrupt with another prefix or another length", async () => {
    const old = randomBytes(50_000);
    const edited = Uint8Array.from(old.subarray(100));
    const packed = (await made().executor.compress(edited, 3, old)) as Uint8Array;
    for (const prefix of [undefined, randomBytes(50_000), old.subarray(0, -1)]) {
      const answer = made().executor.decompress(packed, edited.length, prefix);
      await expect(answer).rejects.toMatchObject({ kind: "Corrupt" });
    }
    await expect(made().executor.decompress(packed, old.length, old)).rejects.toMatchObject({ kind: "Corrupt" });
  });

  test("refuses levels that there are not", async () => {
    for (const level of [0, 20, 1.5, Number.NaN]) {
      await expect(made().executor.compress(new Uint8Array(10), level)).rejects.toThrow(RangeError);
    }
  });

  test("says Corrupt unless the result has exactly the length that was said", async () => {
    const compressed = (await made().executor.compress(new Uint8Array(10_000), 3)) as Uint8Array;
    for (const rawBytes of [0, 1, 9_999, 10_001, 2 ** 40]) {
      await expect(made().executor.decompress(compressed, rawBytes)).rejects.toMatchObject({ kind: "Corrupt" });
    }
  });

  test("says Corrupt for what is not one whole run", async () => {
    const bytes = Buffer.from("some text that repeats, some text that repeats, some text that repeats");
    const compressed = (await made().executor.compress(bytes, 3)) as Uint8Array;
    const changed = Uint8Array.from(compressed, (byte, index) => (index === 6 ? byte ^ 0xff : byte));
    const broken: Uint8Array[] = [
      new Uint8Array(0),
      compressed.subarray(0, -1),
      Buffer.concat([compressed, Buffer.of(0)]),
      Buffer.concat([compressed, compressed]),
      randomBytes(100),
      changed,
    ];
    for (const input of broken) {
      await expect(made().executor.decompress(input, bytes.length)).rejects.toMatchObject({ kind: "Corrupt" });
    }
  });

  test("runs many at once", async () => {
    const inputs = Array.from({ length: 200 }, (_, index) => new Uint8Array(1000 + index).fill(index));
    const outputs = await Promise.all(
      inputs.map(async (bytes) => {
        const compressed = (await made().executor.compress(bytes, 1)) as Uint8Array;
        return made().executor.decompress(compressed, bytes.length);
      }),
    );
    expect(outputs.map(hexOf)).toEqual(inputs.map(hexOf));
  });
}
