// The addon's chunks as the Executor gives them.
import type { ChunkedRange, Rechunked } from "@runnel/shared";
import type { NativeChunks, NativeRechunked } from "./core-addon.ts";

export function toChunkedRange(chunks: NativeChunks): ChunkedRange {
  return { lengths: new Uint32Array(chunks.lengths), digests: new Uint8Array(chunks.digests) };
}

export function toRechunked(result: NativeRechunked): Rechunked {
  const numbers = new Uint32Array(result.spans);
  const spans: Rechunked["spans"] = [];
  for (let at = 0; at < numbers.length; at += 3) {
    spans.push({ first: numbers[at] ?? 0, kept: numbers[at + 1] ?? 0, fresh: numbers[at + 2] ?? 0 });
  }
  return { spans, fresh: toChunkedRange(result), bytesRead: result.bytesRead };
}
