// Compresses the runs of one content, never so much that the line has to wait for it.
import type { Encoding, Executor } from "@runnel/shared";

/** Above this rate a core at SLOW_LINE_LEVEL would be the bottleneck. */
const FAST_BYTES_PER_SECOND = 25e6;
const SLOW_LINE_LEVEL = 3;
const FAST_LINE_LEVEL = 1;
/** What did not shrink is followed by more of the same: only a beginning of the next run is tried. */
const SAMPLE_BYTES = 32 * 1024;
const WORTH = 0.97;

export interface PackedRun {
  encoding: Encoding;
  rawBytes: number;
  encoded: Uint8Array;
}

export class RunPacker {
  private readonly executor: Executor;
  private readonly ratePerSecond: () => number;
  private hasShrunk = true;

  /** `ratePerSecond` of the line in bytes, 0 while unknown. */
  constructor(executor: Executor, ratePerSecond: () => number) {
    this.executor = executor;
    this.ratePerSecond = ratePerSecond;
  }

  async pack(bytes: Uint8Array): Promise<PackedRun> {
    const raw: PackedRun = { encoding: "raw", rawBytes: bytes.length, encoded: bytes };
    const level = this.ratePerSecond() > FAST_BYTES_PER_SECOND ? FAST_LINE_LEVEL : SLOW_LINE_LEVEL;
    if (!this.hasShrunk && bytes.length > 2 * SAMPLE_BYTES) {
      const sample = await this.executor.compress(bytes.subarray(0, SAMPLE_BYTES), level);
      if (sample === undefined || sample.length > WORTH * SAMPLE_BYTES) return raw;
    }
    const encoded = await this.executor.compress(bytes, level);
    this.hasShrunk = encoded !== undefined && encoded.length <= WORTH * bytes.length;
    return encoded === undefined ? raw : { encoding: "zstd", rawBytes: bytes.length, encoded };
  }
}
