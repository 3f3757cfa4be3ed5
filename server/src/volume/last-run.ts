// The last compressed run of a write, decoded and cut. A large hole comes as thousands of the same one.
import type { Recipe, RunEncoding } from "@runnel/shared";

/** What repeats has shrunk to little. */
const ENCODED_BYTES_MAX = 1024;

export interface DecodedRun {
  bytes: Uint8Array;
  recipe: Recipe;
}

export class LastRun {
  private last: (DecodedRun & { encoded: Uint8Array }) | undefined;

  /** What these bytes were last time, if they are the last run's. */
  find(encoding: RunEncoding, encoded: Uint8Array, sizeBytes: number): DecodedRun | undefined {
    const { last } = this;
    const isSame =
      encoding === "zstd" && last?.bytes.length === sizeBytes && Buffer.compare(last.encoded, encoded) === 0;
    return isSame ? last : undefined;
  }

  /** `bytes` are kept as they are, and must not change. */
  keep(encoding: RunEncoding, encoded: Uint8Array, run: DecodedRun): void {
    if (encoding === "zstd" && encoded.length <= ENCODED_BYTES_MAX) this.last = { ...run, encoded: encoded.slice() };
  }
}
