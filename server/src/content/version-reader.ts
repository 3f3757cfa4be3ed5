// Reads chunks of versions and verifies them: bytes leave here only when their digest is the recipe's.
import type { ChunkPreset, ChunkedRange, Executor, Recipe, VersionId } from "@runnel/shared";
import {
  LIMITS,
  RunnelError,
  chunkOffsets,
  chunkRanges,
  isRunnelError,
  presetFor,
  wrongChunks,
  withOpened,
} from "@runnel/shared";
import type { MetaStore } from "../meta/meta-store.ts";
import type { ContentStore, OpenVersion } from "./content-store.ts";
import { cutAsNamed, objectOidOf } from "./object-recipe.ts";

/** Others wait for the thread meanwhile. */
const PROVED_AT_ONCE = 256;

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
  const indexes = Array.from({ length: run.count }, (_, at) => run.from + at);
  const chunks = chunkRanges(recipe, indexes).map(({ offset, length }) => {
    return bytes.subarray(offset - run.offset, offset - run.offset + length);
  });
  if (wrongChunks(recipe, indexes, await executor.digest(chunks)).length === 0) return bytes;
  await open.reportMismatch();
  throw changedUnderneath();
}

/** True when so many chunks from `from` on are what the recipe says; costs no reading when they are settled. */
export async function holdsChunks(
  open: OpenVersion,
  recipe: Recipe,
  from: number,
  count: number,
  executor: Executor,
): Promise<boolean> {
  const offsets = chunkOffsets(recipe);
  const [start = 0, end = 0] = [offsets[from], offsets[from + count]];
  if (await open.isSettled(start, end - start)) return true;
  try {
    for (let at = from; at < from + count; at += PROVED_AT_ONCE) {
      const all = Array.from({ length: Math.min(PROVED_AT_ONCE, from + count - at) }, (_, index) => at + index);
      const indexes: number[] = [];
      for (const [place, { offset, length }] of chunkRanges(recipe, all).entries())
        if (!(await open.isSettled(offset, length))) indexes.push(at + place);
      const digests = await open.digest(chunkRanges(recipe, indexes), executor);
      const wrong = wrongChunks(recipe, indexes, digests);
      // They may lie elsewhere by now.
      for (const run of chunkRuns(recipe, wrong)) await readRun(open, recipe, run, executor);
    }
    return true;
  } catch (error) {
    if (!isRunnelError(error)) throw error;
    return false;
  }
}

/**
 * Cuts a file that has no recipe yet; undefined while that cannot be done: it is not applied, or its tuple is so young
 * that a change after the cut might not show in it, and the recipe would be another content's for good. @throws Stale
 * when it changed meanwhile.
 */
export async function chunkVersion(
  {
    content,
    meta,
    executor,
  }: { content: ContentStore; meta: Pick<MetaStore, "lookup" | "namesOf">; executor: Executor },
  version: VersionId,
  presetOf: (sizeBytes: number) => ChunkPreset | Promise<ChunkPreset> = (sizeBytes) => presetFor(sizeBytes),
): Promise<ChunkedRange | undefined> {
  const oid = await objectOidOf(meta, version.node);
  return withOpened(await content.open(version), async (open) => {
    const { file, sizeBytes } = open;
    if (file === undefined || !(await open.isSettled(0, sizeBytes))) return undefined;
    const before = await file.stat();
    const how = { oid, sizeBytes, preset: await presetOf(sizeBytes) };
    const chunked = await cutAsNamed(executor, how, (preset) => executor.chunkFile(file, 0, sizeBytes, preset));
    const after = await file.stat();
    if (before.ctimeNs !== after.ctimeNs || before.sizeBytes !== after.sizeBytes || after.sizeBytes !== sizeBytes)
      throw changedUnderneath();
    return chunked;
  });
}

function changedUnderneath(): RunnelError {
  return new RunnelError("Stale", "read version", "The file was changed by another program while it was read.");
}
