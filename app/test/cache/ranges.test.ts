import { expect, test } from "@jest/globals";
import type { ByteRange } from "@runnel/native/drive";
import * as fc from "fast-check";
import {
  addRange,
  decodeRanges,
  encodeRanges,
  holdsRange,
  missingIn,
  presentIn,
  removeRange,
  sumOf,
} from "../../src/agent/cache/ranges.ts";

const SIZE = 40;
const range = fc.record({ offset: fc.nat(SIZE / 2), length: fc.nat(SIZE / 2) });

function bytesOf(ranges: readonly ByteRange[]): Set<number> {
  return new Set(ranges.flatMap(({ offset, length }) => Array.from({ length }, (_, at) => offset + at)));
}

test("[F52] ranges are a set of bytes, sorted, disjoint and not touching", () => {
  fc.assert(
    fc.property(fc.array(range), range, (added, wanted) => {
      const ranges: ByteRange[] = [];
      for (const one of added) addRange(ranges, one);
      const held = bytesOf(added);
      expect(bytesOf(ranges)).toEqual(held);
      expect(sumOf(ranges)).toBe(held.size);
      for (const [index, { offset, length }] of ranges.entries()) {
        expect(length).toBeGreaterThan(0);
        const next = ranges[index + 1];
        if (next !== undefined) expect(next.offset).toBeGreaterThan(offset + length);
      }
      const missing = [...bytesOf([wanted])].filter((byte) => !held.has(byte));
      expect([...bytesOf(missingIn(ranges, wanted))]).toEqual(missing);
      expect(holdsRange(ranges, wanted.offset, wanted.length)).toBe(missing.length === 0);
      expect(decodeRanges(encodeRanges(ranges), SIZE)).toEqual(ranges);
      expect(bytesOf(presentIn(ranges, wanted))).toEqual(
        new Set([...bytesOf([wanted])].filter((byte) => held.has(byte))),
      );
      removeRange(ranges, wanted);
      expect(bytesOf(ranges)).toEqual(new Set([...held].filter((byte) => !bytesOf([wanted]).has(byte))));
      expect(decodeRanges(encodeRanges(ranges), SIZE)).toEqual(ranges);
    }),
  );
});

test("[F52] ranges out of order, empty, overlapping, ragged or past the end are damage", () => {
  const corrupt = expect.objectContaining({ kind: "Corrupt" });
  for (const ranges of [
    [
      { offset: 8, length: 4 },
      { offset: 0, length: 4 },
    ],
    [{ offset: 0, length: 0 }],
    [
      { offset: 0, length: 4 },
      { offset: 3, length: 4 },
    ],
    [{ offset: 30, length: 11 }],
  ]) {
    expect(() => decodeRanges(encodeRanges(ranges), SIZE)).toThrow(corrupt);
  }
  expect(() => decodeRanges(encodeRanges([{ offset: 0, length: 4 }]).subarray(1), SIZE)).toThrow(corrupt);
});
