// The addon's chunks as the Executor gives them.
import type { ChunkedRange } from "@runnel/shared";
import type { NativeChunks } from "./core-addon.ts";

export function toChunkedRange(chunks: NativeChunks): ChunkedRange {
  return { lengths: new Uint32Array(chunks.lengths), digests: new Uint8Array(chunks.digests) };
}
