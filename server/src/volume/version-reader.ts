// Reads chunks of versions and proves them: bytes leave here only when their digest is the recipe's.
import type { ChunkPreset, ChunkedRange, Executor, Recipe, VersionId } from "@runnel/shared";
import { DIGEST_BYTES, LIMITS, RunnelError, chunkOffsets, digestAt, isRunnelError, presetFor } from "@runnel/shared";
import type { ContentStore, OpenVersion } from "../content/content-store.ts";

/** Chunks of a version that lie one after another, at most LIMITS.runBytes. */
export interface ChunkRun {
  from: number;
  count: number;
  offset: number;
  length: number;
}

/** Joins ascending chunk indexes to runs. */
export function chunkRuns(recipe: Recipe, indexes: Iterable<number>): ChunkRun[] {
  const offsets = chunkOffsets(recipe);
  const runs: ChunkRun[] = [];
  for (const index of indexes) {
    const length = recipe.lengths[index] ?? 0;
    const last = runs.at(-1);
    if (last !== undefined && last.from + last.count === index && last.length + length <= LIMITS.runBytes) {
      last.count++;
      last.length += length;
    } else {
      runs.push({ from: index, count: 1, offset: offsets[index] ?? 0, length });
    }
  }
  return runs;
}

/** @throws Stale when the bytes are no longer those of the recipe, and what ContentStore.open throws. */
export async function readRun(
  open: OpenVersion,
  recipe: Recipe,
  run: ChunkRun,
  executor: Executor,
): Promise<Uint8Array> {
  const bytes = await open.read(run.offset, run.length);
  const digests = await executor.digest(splitRun(bytes, recipe, run));
  for (let index = 0; index < run.count; index++) {
    const got = digests.subarray(index * DIGEST_BYTES, (index + 1) * DIGEST_BYTES);
    if (Buffer.compare(got, digestAt(recipe, run.from + index)) !== 0) throw changedUnderneath();
  }
  return bytes;
}

/** True when the chunks of the run are what the recipe says; costs no reading when the file is settled. */
export async function holdsRun(open: OpenVersion, recipe: Recipe, run: ChunkRun, executor: Executor): Promise<boolean> {
  if (open.file?.isSettled === true) return true;
  try {
    await readRun(open, recipe, run, executor);
    return true;
  } catch (error) {
    if (!isRunnelError(error)) throw error;
    return false;
  }
}

/**
 * Cuts a file that has no recipe yet; undefined while that cannot be done: it is not up, or its tuple is so young that a change after the cut might not
 * show in it, and the recipe would be another content's for good. @throws Stale when it changed meanwhile.
 */
export async function chunkVersion(
  content: ContentStore,
  version: VersionId,
  executor: Executor,
  presetOf: (sizeBytes: number) => ChunkPreset | Promise<ChunkPreset> = presetFor,
): Promise<ChunkedRange | undefined> {
  const open = await content.open(version);
  try {
    if (open.file?.isSettled !== true) return undefined;
    const before = await open.file.file.stat();
    const chunked = await executor.chunkFile(open.file.file, 0, open.sizeBytes, await presetOf(open.sizeBytes));
    const after = await open.file.file.stat();
    if (before.ctimeNs !== after.ctimeNs || before.sizeBytes !== after.sizeBytes || after.sizeBytes !== open.sizeBytes)
      throw changedUnderneath();
    return chunked;
  } finally {
    await open.close();
  }
}

function splitRun(bytes: Uint8Array, recipe: Recipe, run: ChunkRun): Uint8Array[] {
  const parts: Uint8Array[] = [];
  let at = 0;
  for (let index = run.from; index < run.from + run.count; index++) {
    const length = recipe.lengths[index] ?? 0;
    parts.push(bytes.subarray(at, at + length));
    at += length;
  }
  return parts;
}

function changedUnderneath(): RunnelError {
  return new RunnelError("Stale", "read version", "The file was changed by another program while it was read.");
}
