// After a power cut: which of the chunks that should be in a file are.
import type { ByteRange } from "@runnel/native/drive";
import type { DiskFile, Executor } from "@runnel/shared";
import { DIGEST_BYTES, digestAt, isRunnelError } from "@runnel/shared";
import type { Content } from "./content.ts";
import { holdsRange } from "./ranges.ts";

/** Chunks digested at a time. */
const BATCH_CHUNKS = 1024;

/** Ranges of whole chunks within `content.doubtful` whose bytes have the digests of the recipe. @throws RunnelError Io. */
export async function verifyChunks(content: Content, file: DiskFile, executor: Executor): Promise<ByteRange[]> {
  const { recipe, doubtful } = content;
  const kept: ByteRange[] = [];
  if (recipe === undefined) return kept;
  const offsets = content.offsets();
  const indexes = Array.from(recipe.lengths.keys()).filter((index) =>
    holdsRange(doubtful, offsets[index] ?? 0, recipe.lengths[index] ?? 0),
  );
  for (let at = 0; at < indexes.length; at += BATCH_CHUNKS) {
    const batch = indexes.slice(at, at + BATCH_CHUNKS);
    const ranges = batch.map((index) => ({ offset: offsets[index] ?? 0, length: recipe.lengths[index] ?? 0 }));
    const digests = await digestAll(file, executor, ranges);
    for (const [place, index] of batch.entries()) {
      const found = digests?.subarray(place * DIGEST_BYTES, (place + 1) * DIGEST_BYTES);
      const range = ranges[place];
      if (found !== undefined && range !== undefined && Buffer.compare(found, digestAt(recipe, index)) === 0)
        kept.push(range);
    }
  }
  return kept;
}

/** undefined when the file is shorter than it should be. */
async function digestAll(
  file: DiskFile,
  executor: Executor,
  ranges: readonly ByteRange[],
): Promise<Uint8Array | undefined> {
  try {
    return await executor.digestFile(file, ranges);
  } catch (error) {
    if (isRunnelError(error, "Stale")) return undefined;
    throw error;
  }
}
