// Tells whether a file that another program has touched, or put in the place of the recorded one, still has the bytes
// of the recorded version: then no version is lost and none is made, whatever its time and its handle say now. It is
// read for that, so how much is bounded: other work waits meanwhile.
import type { DiskRoot, Executor } from "@runnel/shared";
import { DIGEST_BYTES, chunkRanges } from "@runnel/shared";
import type { DiskRow, MetaStore } from "../../../meta/meta-store.ts";
import type { FoundEntry } from "../disk/found.ts";
import { isSameTuple } from "../disk/same-file.ts";
import { readFound } from "./read-found.ts";

/** Bytes read at most for all files of one report. */
export const VERIFIED_BYTES_MAX = 256 * 1024 * 1024;
/** Digested before it is looked whether they are the same: a write mostly shows soon. */
const STEP_BYTES = 8 * 1024 * 1024;

export interface UnchangedBytesDeps {
  root: DiskRoot;
  meta: Pick<MetaStore, "recipe">;
  executor: Executor | undefined;
}

/** True when the file at `path` is `found`, before and after, and between them had the bytes of the row's version. */
export async function hasRecordedBytes(
  { root, meta, executor }: UnchangedBytesDeps,
  path: string,
  found: FoundEntry,
  row: DiskRow,
): Promise<boolean> {
  if (executor === undefined || found.stat.sizeBytes !== row.stat.sizeBytes || row.stat.sizeBytes === 0) return false;
  const recipe = await meta.recipe({ node: row.node, seq: row.version });
  if (recipe === undefined) return false;
  const isUnchanged = await readFound(root, path, found, async (file) => {
    const chunks = chunkRanges(recipe);
    for (let from = 0; from < chunks.length;) {
      let to = from;
      for (let bytes = 0; to < chunks.length && bytes < STEP_BYTES; to++) bytes += chunks[to]?.length ?? 0;
      const digests = await executor.digestFile(file, chunks.slice(from, to));
      const recorded = recipe.digests.subarray(from * DIGEST_BYTES, to * DIGEST_BYTES);
      if (Buffer.compare(digests, recorded) !== 0) return false;
      from = to;
    }
    return isSameTuple(await file.stat(), found.stat);
  });
  return isUnchanged === true;
}
