// Spans of chunks and ranges of bytes.
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { chunkOffsets, indexesOf, joinIndexes } from "@runnel/shared";
import { rangeOf, spansOf } from "../../../src/agent/transfer/sources/chunk-spans.ts";

const recipes = fc
  .array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 30 })
  .map((lengths) => ({ lengths: Uint32Array.from(lengths), digests: new Uint8Array(32 * lengths.length) }));

test("the spans of ranges are the chunks that overlap them, each once", () => {
  fc.assert(
    fc.property(
      recipes,
      fc.array(fc.record({ gap: fc.integer({ min: 0, max: 9 }), length: fc.integer({ min: 0, max: 20 }) }), {
        maxLength: 9,
      }),
      (recipe, gaps) => {
        let at = 0;
        const size = recipe.lengths.reduce((sum, length) => sum + length, 0);
        const ranges = gaps
          .map(({ gap, length }) => {
            const offset = at + gap;
            at = offset + length;
            return { offset, length: Math.min(length, Math.max(0, size - offset)) };
          })
          .filter(({ offset }) => offset < size);
        const offsets = chunkOffsets(recipe);
        const overlapping = [...recipe.lengths.keys()].filter((index) =>
          ranges.some(
            ({ offset, length }) =>
              length > 0 && (offsets[index] ?? 0) < offset + length && (offsets[index + 1] ?? 0) > offset,
          ),
        );
        const spans = spansOf(recipe, ranges);
        expect([...indexesOf(spans)]).toEqual(overlapping);
        expect(joinIndexes(overlapping)).toEqual(spans);
        for (const span of spans)
          expect(rangeOf(recipe, span)).toEqual({
            offset: offsets[span.from],
            length: (offsets[span.from + span.count] ?? 0) - (offsets[span.from] ?? 0),
          });
      },
    ),
  );
});
