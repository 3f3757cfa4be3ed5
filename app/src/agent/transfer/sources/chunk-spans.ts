// Spans of chunks and ranges of bytes, from one to the other (sets of spans: shared/src/model/chunk-spans.ts). Pure.
import type { ByteRange } from "@runnel/native/drive";
import { type Recipe, chunkAt, chunkOffsets } from "@runnel/shared";
import type { ChunkSpan } from "./chunk-source.ts";

/** The chunks that overlap the ranges, which ascend; each once. */
export function spansOf(recipe: Recipe, ranges: readonly ByteRange[]): ChunkSpan[] {
  const offsets = chunkOffsets(recipe);
  const spans: { from: number; count: number }[] = [];
  for (const { offset, length } of ranges) {
    if (length === 0 || recipe.lengths.length === 0) continue;
    const last = spans.at(-1);
    const lastEnd = last === undefined ? 0 : last.from + last.count;
    const from = Math.max(lastEnd, chunkAt(recipe, offset));
    const to = chunkAt(recipe, offset + length - 1) + 1;
    if (to <= from || (offsets[from] ?? Infinity) >= offset + length) continue;
    if (last !== undefined && from === lastEnd) last.count += to - from;
    else spans.push({ from, count: to - from });
  }
  return spans;
}

/** Bytes that a span stands for. */
export function rangeOf(recipe: Recipe, { from, count }: ChunkSpan): ByteRange {
  const offsets = chunkOffsets(recipe);
  const offset = offsets[from] ?? 0;
  return { offset, length: (offsets[from + count] ?? offset) - offset };
}
