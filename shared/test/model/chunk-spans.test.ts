// Sets of chunks as spans, against sets of numbers.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  type ChunkSpan,
  commonSpans,
  countOf,
  firstOf,
  joinSpans,
  longestOf,
  spansFrom,
  withoutSpans,
} from "../../src/model/chunk-spans.ts";

const anySpans = fc.array(fc.record({ from: fc.nat(30), count: fc.nat(6) }), { maxLength: 8 });

function setOf(spans: readonly ChunkSpan[]): Set<number> {
  return new Set(spans.flatMap(({ from, count }) => Array.from({ length: count }, (_, at) => from + at)));
}

function spansOfSet(chunks: readonly number[]): ChunkSpan[] {
  return spansFrom(chunks.map((from) => ({ from, count: 1 })));
}

describe("spans of chunks", () => {
  test("are ascending and do not touch, whatever they are made from", () => {
    fc.assert(
      fc.property(anySpans, (some) => {
        const spans = spansFrom(some);
        expect(setOf(spans)).toEqual(setOf(some));
        for (const [at, { from, count }] of spans.entries()) {
          expect(count).toBeGreaterThan(0);
          const next = spans[at + 1];
          if (next !== undefined) expect(next.from).toBeGreaterThan(from + count);
        }
      }),
    );
  });

  test("are joined, taken away and compared as sets of numbers are", () => {
    fc.assert(
      fc.property(anySpans, anySpans, (some, others) => {
        const [one, other] = [spansFrom(some), spansFrom(others)];
        const [mine, theirs] = [setOf(one), setOf(other)];
        expect(joinSpans(one, other)).toEqual(spansOfSet([...mine, ...theirs]));
        expect(withoutSpans(one, other)).toEqual(spansOfSet([...mine].filter((chunk) => !theirs.has(chunk))));
        expect(commonSpans(one, other)).toEqual(spansOfSet([...mine].filter((chunk) => theirs.has(chunk))));
      }),
    );
  });

  test("are cut to so many chunks from the beginning, or to the longest", () => {
    const spans = spansFrom([
      { from: 0, count: 2 },
      { from: 5, count: 4 },
      { from: 20, count: 3 },
    ]);
    expect(countOf(firstOf(spans, 4))).toBe(4);
    expect(firstOf(spans, 4)).toEqual([
      { from: 0, count: 2 },
      { from: 5, count: 2 },
    ]);
    expect(longestOf(spans, 2)).toEqual([
      { from: 5, count: 4 },
      { from: 20, count: 3 },
    ]);
  });
});
