// Sets of bytes as sorted, disjoint ranges that do not touch each other. Pure.
import type { ByteRange } from "@runnel/native/drive";
import { RunnelError } from "@runnel/shared";

const RANGE_BYTES = 16;

export function endOf(range: ByteRange): number {
  return range.offset + range.length;
}

/** Index of the first range that ends behind `offset`. */
function firstEndingAfter(ranges: readonly ByteRange[], offset: number): number {
  let [low, high] = [0, ranges.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (endOf(ranges[middle] as ByteRange) > offset) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Adds in place. */
export function addRange(ranges: ByteRange[], added: ByteRange): void {
  if (added.length === 0) return;
  let [start, end] = [added.offset, endOf(added)];
  // Ranges that only touch are joined too, hence one byte earlier.
  const from = firstEndingAfter(ranges, start - 1);
  let to = from;
  for (let range = ranges[to]; range !== undefined && range.offset <= end; range = ranges[++to]) {
    start = Math.min(start, range.offset);
    end = Math.max(end, endOf(range));
  }
  ranges.splice(from, to - from, { offset: start, length: end - start });
}

/** Takes away in place. */
export function removeRange(ranges: ByteRange[], removed: ByteRange): void {
  const from = firstEndingAfter(ranges, removed.offset);
  const left: ByteRange[] = [];
  let to = from;
  for (let range = ranges[to]; range !== undefined && range.offset < endOf(removed); range = ranges[++to]) {
    if (range.offset < removed.offset) left.push({ offset: range.offset, length: removed.offset - range.offset });
    if (endOf(range) > endOf(removed)) left.push({ offset: endOf(removed), length: endOf(range) - endOf(removed) });
  }
  ranges.splice(from, to - from, ...left);
}

/** Parts of `wanted` that are in the set. */
export function presentIn(ranges: readonly ByteRange[], wanted: ByteRange): ByteRange[] {
  const present: ByteRange[] = [];
  for (let index = firstEndingAfter(ranges, wanted.offset); ; index++) {
    const range = ranges[index];
    if (range === undefined || range.offset >= endOf(wanted)) return present;
    const offset = Math.max(range.offset, wanted.offset);
    const end = Math.min(endOf(range), endOf(wanted));
    if (end > offset) present.push({ offset, length: end - offset });
  }
}

/** Parts of `wanted` that are not in the set. */
export function missingIn(ranges: readonly ByteRange[], wanted: ByteRange): ByteRange[] {
  const missing: ByteRange[] = [];
  let at = wanted.offset;
  const end = endOf(wanted);
  for (let index = firstEndingAfter(ranges, at); at < end; index++) {
    const range = ranges[index];
    const until = Math.min(range?.offset ?? end, end);
    if (until > at) missing.push({ offset: at, length: until - at });
    at = range === undefined ? end : Math.max(at, endOf(range));
  }
  return missing;
}

export function holdsRange(ranges: readonly ByteRange[], offset: number, length: number): boolean {
  if (length === 0) return true;
  const range = ranges[firstEndingAfter(ranges, offset)];
  return range !== undefined && range.offset <= offset && endOf(range) >= offset + length;
}

export function sumOf(ranges: readonly ByteRange[]): number {
  let sum = 0;
  for (const { length } of ranges) sum += length;
  return sum;
}

/** [F52]: offset and length of each (u64, little-endian). */
export function encodeRanges(ranges: readonly ByteRange[]): Uint8Array {
  const bytes = new Uint8Array(ranges.length * RANGE_BYTES);
  const view = new DataView(bytes.buffer);
  for (const [index, { offset, length }] of ranges.entries()) {
    view.setBigUint64(index * RANGE_BYTES, BigInt(offset), true);
    view.setBigUint64(index * RANGE_BYTES + 8, BigInt(length), true);
  }
  return bytes;
}

/** @throws RunnelError Corrupt for anything but sorted, disjoint ranges below `sizeBytes`. */
export function decodeRanges(bytes: Uint8Array, sizeBytes: number): ByteRange[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const ranges: ByteRange[] = [];
  let end = 0;
  for (let at = 0; at + RANGE_BYTES <= bytes.length; at += RANGE_BYTES) {
    const range = { offset: Number(view.getBigUint64(at, true)), length: Number(view.getBigUint64(at + 8, true)) };
    if (range.offset < end || range.length === 0) break;
    end = endOf(range);
    ranges.push(range);
  }
  if (ranges.length * RANGE_BYTES !== bytes.length || end > sizeBytes) {
    throw new RunnelError("Corrupt", "read cache index", "The ranges of a cached content are not in order.");
  }
  return ranges;
}
