// Chooses the runs that bring a range of a content: chunks one after another that the client lacks, and of a long chunk
// that sticks out of the range only what lies in it. Pure.
import type { HeldChunks, Recipe } from "@runnel/shared";
import { LIMITS, chunkAt, chunkOffsets, digestAt } from "@runnel/shared";
import type { ByteRange } from "../content/content-store.ts";
import type { ChunkRun } from "../content/version-reader.ts";

/** A run is stored when all of it has come, and whoever waits for it goes on then: on a slow line it is short. */
const RUN_SECONDS = 0.1;
const RUN_BYTES_MIN = 32 * 1024;
const FIRST_RUN_BYTES = 64 * 1024;

/** `ratePerSecond` of the line in bytes, 0 while unknown. */
export function runBytesAt(ratePerSecond: number): number {
  if (ratePerSecond === 0) return FIRST_RUN_BYTES;
  return Math.min(LIMITS.runBytes, Math.max(RUN_BYTES_MIN, Math.floor(ratePerSecond * RUN_SECONDS)));
}

/** Whole chunks, or with `cut` one chunk, of which that part is wanted. */
export interface FetchRun extends ChunkRun {
  cut: ByteRange | undefined;
}

export interface FetchSettings {
  /** Chunks that the client holds: they are not wanted. */
  held: HeldChunks;
  /** Chunks longer than this are cut where the range begins and ends (W141). */
  wholeBytes: number;
  /** No run goes on over this offset: what follows is not waited for. */
  border: number;
  /** At most, asked for each run; a chunk may be longer. */
  runBytes(): number;
}

/** The runs that bring bytes `from` to `to`, in order. */
export function* fetchRuns(recipe: Recipe, from: number, to: number, settings: FetchSettings): Generator<FetchRun> {
  const offsets = chunkOffsets(recipe);
  const lengthOf = (index: number): number => recipe.lengths[index] ?? 0;
  const offsetOf = (index: number): number => offsets[index] ?? 0;
  const end = Math.min(to, offsetOf(recipe.lengths.length));
  // A range of no bytes overlaps nothing.
  if (from >= end) return;
  const isHeld = (index: number): boolean => settings.held.find(digestAt(recipe, index), lengthOf(index)) !== undefined;
  const isCut = (index: number): boolean =>
    lengthOf(index) > settings.wholeBytes && (offsetOf(index) < from || offsetOf(index + 1) > end);
  for (let index = chunkAt(recipe, from); offsetOf(index) < end; index++) {
    if (isHeld(index)) continue;
    const run: FetchRun = { from: index, count: 1, offset: offsetOf(index), length: lengthOf(index), cut: undefined };
    if (isCut(index)) {
      const start = Math.max(from, run.offset);
      yield { ...run, cut: { offset: start, length: Math.min(end, offsetOf(index + 1)) - start } };
      continue;
    }
    const runBytes = settings.runBytes();
    const stop = run.offset < settings.border ? Math.min(settings.border, end) : end;
    for (let next = index + 1; offsetOf(next) < stop && !isCut(next) && !isHeld(next); next++) {
      if (run.length + lengthOf(next) > runBytes) break;
      run.count++;
      run.length += lengthOf(next);
      index = next;
    }
    yield run;
  }
}
