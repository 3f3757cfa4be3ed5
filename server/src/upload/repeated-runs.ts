// Compressed runs that were received lately and had shrunk to little, decoded and cut: a large hole is sent as
// thousands of the same one. All writes share them, since each is a mebibyte.
import { type ChunkPreset, RecentMap, type Recipe, type RunEncoding } from "@runnel/shared";

/** Encoded bytes of a run that is kept: one that repeats has shrunk to little. */
const ENCODED_BYTES_MAX = 1024;
const RUNS_MAX = 8;

export interface DecodedRun {
  bytes: Uint8Array;
  recipe: Recipe;
}

export class RepeatedRuns {
  /** Decoded runs by what was received, the least recently used first. */
  readonly #runs = new RecentMap<string, DecodedRun>(RUNS_MAX);

  /** Finds what these bytes were the last time. */
  find(encoding: RunEncoding, encoded: Uint8Array, sizeBytes: number, preset: ChunkPreset): DecodedRun | undefined {
    const key = keyOf(encoding, encoded, sizeBytes, preset);
    const run = key === undefined ? undefined : this.#runs.get(key);
    if (key === undefined || run === undefined) return undefined;
    this.#runs.set(key, run);
    return run;
  }

  /** Keeps a run. Its bytes are not copied, and must not change. */
  keep(encoding: RunEncoding, encoded: Uint8Array, preset: ChunkPreset, run: DecodedRun): void {
    const key = keyOf(encoding, encoded, run.bytes.length, preset);
    if (key !== undefined) this.#runs.set(key, run);
  }
}

function keyOf(encoding: RunEncoding, encoded: Uint8Array, sizeBytes: number, preset: ChunkPreset): string | undefined {
  if (encoding !== "zstd" || encoded.length > ENCODED_BYTES_MAX) return undefined;
  return `${sizeBytes} ${preset} ${Buffer.from(encoded).toString("latin1")}`;
}
