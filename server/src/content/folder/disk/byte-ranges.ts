// Ranges of bytes as a set.
import type { ByteRange } from "../../content-store.ts";

/** Ascending, with gaps between. */
export function joinRanges(ranges: readonly ByteRange[]): ByteRange[] {
  const joined: ByteRange[] = [];
  for (const { offset, length } of ranges.toSorted((a, b) => a.offset - b.offset)) {
    const last = joined.at(-1);
    if (last !== undefined && offset <= last.offset + last.length)
      last.length = Math.max(last.length, offset + length - last.offset);
    else if (length > 0) joined.push({ offset, length });
  }
  return joined;
}

/** Ranges of `wanted` that are not in `had`; `had` is joined. */
export function rangesWithout(wanted: readonly ByteRange[], had: readonly ByteRange[]): ByteRange[] {
  const missing: ByteRange[] = [];
  for (const { offset, length } of joinRanges(wanted)) {
    let at = offset;
    const end = offset + length;
    for (const each of had) {
      if (each.offset + each.length <= at) continue;
      if (each.offset >= end) break;
      if (each.offset > at) missing.push({ offset: at, length: each.offset - at });
      at = each.offset + each.length;
    }
    if (at < end) missing.push({ offset: at, length: end - at });
  }
  return missing;
}
