// Re-chunking: whatever the edit, what it finds is what cutting the whole finds.
import { randomBytes } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import type { ChunkPreset, Piece } from "@runnel/shared";
import { rechunkedRecipe } from "@runnel/shared";
import { buildContent } from "@runnel/shared/vectors/content.ts";
import * as fc from "fast-check";
import { inlineExecutor } from "../index.ts";

const executor = inlineExecutor();
const PRESETS: readonly ChunkPreset[] = [0, 0, 1, 2, 3, 4];

/** A content in memory as one piece; counts what is read of it. */
function pieceOf(bytes: Uint8Array): Piece {
  const read = async (offset: number, length: number): Promise<Uint8Array> => bytes.slice(offset, offset + length);
  return { file: { read } as unknown as NonNullable<Piece["file"]>, offset: 0, length: bytes.length };
}

type Edit =
  | { does: "overwrite"; at: number; length: number; seed: number }
  | { does: "append"; length: number; seed: number }
  | { does: "truncate"; to: number }
  | { does: "extend"; by: number }
  | { does: "rewrite with an insertion"; at: number; length: number; seed: number };

const at = fc.double({ min: 0, max: 1, noNaN: true });
const lengths = fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 90_000 }));
const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc.record({ does: fc.constant("overwrite" as const), at, length: lengths, seed: fc.nat() }),
  fc.record({ does: fc.constant("append" as const), length: lengths, seed: fc.nat() }),
  fc.record({ does: fc.constant("truncate" as const), to: at }),
  fc.record({ does: fc.constant("extend" as const), by: lengths }),
  fc.record({ does: fc.constant("rewrite with an insertion" as const), at, length: lengths, seed: fc.nat() }),
);

interface Edited {
  bytes: Uint8Array;
  dirty: { offset: number; length: number }[];
}

function apply({ bytes, dirty }: Edited, one: Edit): Edited {
  const place = "at" in one ? Math.floor(one.at * bytes.length) : bytes.length;
  switch (one.does) {
    case "overwrite": {
      const news = buildContent([{ random: { seed: one.seed, length: one.length } }]);
      const next = new Uint8Array(Math.max(bytes.length, place + news.length));
      next.set(bytes);
      next.set(news, place);
      return { bytes: next, dirty: [...dirty, { offset: place, length: news.length }] };
    }
    case "append": {
      const news = buildContent([{ random: { seed: one.seed, length: one.length } }]);
      return { bytes: Buffer.concat([bytes, news]), dirty: [...dirty, { offset: bytes.length, length: news.length }] };
    }
    case "truncate":
      return { bytes: bytes.slice(0, Math.floor(one.to * bytes.length)), dirty: withCut(dirty, one.to * bytes.length) };
    case "extend":
      return {
        bytes: Buffer.concat([bytes, new Uint8Array(one.by)]),
        dirty: [...dirty, { offset: bytes.length, length: one.by }],
      };
    case "rewrite with an insertion": {
      const news = buildContent([{ random: { seed: one.seed, length: one.length } }]);
      const next = Buffer.concat([bytes.subarray(0, place), news, bytes.subarray(place)]);
      return { bytes: next, dirty: [{ offset: 0, length: next.length }] };
    }
  }
}

/** Bytes that were cut off and come back are not the base's any more. */
function withCut(dirty: Edited["dirty"], to: number): Edited["dirty"] {
  return [...dirty, { offset: Math.floor(to), length: Number.MAX_SAFE_INTEGER }];
}

describe("re-chunking", () => {
  test("finds what cutting the whole finds, whatever the edits", async () => {
    const content = fc.array(
      fc.oneof(
        fc.record({ random: fc.record({ seed: fc.nat(), length: fc.nat(150_000) }) }),
        fc.record({ zeros: fc.nat(150_000) }),
      ),
      { maxLength: 4 },
    );
    await fc.assert(
      fc.asyncProperty(
        content,
        fc.array(edit, { maxLength: 6 }),
        fc.constantFrom(...PRESETS),
        async (parts, edits, preset) => {
          const before = buildContent(parts);
          const base = await executor.chunkBytes(before, preset);
          const { bytes, dirty } = edits.reduce(apply, { bytes: before, dirty: [] } as Edited);
          const found = await executor.rechunk([pieceOf(bytes)], base.lengths, dirty, preset);
          expect(rechunkedRecipe(base, found)).toEqual(await executor.chunkBytes(bytes, preset));
        },
      ),
      { numRuns: process.env["RUNNEL_LONG"] === "1" ? 2000 : 60 },
    );
  }, 300_000);

  test.each([
    [0, 1024 * 1024],
    [1, 2 * 1024 * 1024],
    [2, 8 * 1024 * 1024],
  ] as const)(
    "reads little for one byte in 100 MB: preset %i, at most %i bytes",
    async (preset, bytesMax) => {
      const bytes = randomBytes(100_000_000);
      const base = await executor.chunkBytes(bytes, preset);
      for (const place of [0, 50_000_000, bytes.length - 1]) {
        bytes[place] = (bytes[place] as number) ^ 0x55;
        const found = await executor.rechunk([pieceOf(bytes)], base.lengths, [{ offset: place, length: 1 }], preset);
        expect(found.bytesRead).toBeLessThanOrEqual(bytesMax);
        expect(found.fresh.lengths.length).toBeGreaterThan(0);
        bytes[place] = (bytes[place] as number) ^ 0x55;
      }
    },
    120_000,
  );

  test("reads little where much was written in many places", async () => {
    const bytes = randomBytes(20_000_000);
    const base = await executor.chunkBytes(bytes);
    const dirty = Array.from({ length: 20 }, (_, index) => ({ offset: index * 1_000_000 + 500, length: 10 }));
    for (const { offset } of dirty) bytes.fill(7, offset, offset + 10);
    const found = await executor.rechunk([pieceOf(bytes)], base.lengths, dirty);
    expect(found.bytesRead).toBeLessThan(20 * 200_000);
    expect(rechunkedRecipe(base, found)).toEqual(await executor.chunkBytes(bytes));
  });
});
