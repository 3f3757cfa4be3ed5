// Compares bytes with the chunks that they should be.
import { type Recipe, chunkOffsets, wrongChunks } from "./recipe.ts";
import type { Executor } from "../host/executor.ts";

/**
 * Digests bytes that should be these chunks, one after another. @returns the indexes of those that they are not: all
 * where the length is another.
 */
export async function wrongIn(
  bytes: Uint8Array,
  chunks: Recipe,
  executor: Pick<Executor, "digest">,
): Promise<number[]> {
  const indexes = [...chunks.lengths.keys()];
  const offsets = chunkOffsets(chunks);
  if (offsets.at(-1) !== bytes.length) return indexes;
  const parts = indexes.map((index) => bytes.subarray(offsets[index], offsets[index + 1]));
  return wrongChunks(chunks, indexes, await executor.digest(parts));
}
