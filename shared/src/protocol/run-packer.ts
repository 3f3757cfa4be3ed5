// Compresses the runs of one content, never so much that the line has to wait for it.
import type { Executor } from "../host/executor.ts";

/** Above this rate a core at SLOW_LINE_LEVEL would be the bottleneck. */
const FAST_BYTES_PER_SECOND = 25e6;

/** `ratePerSecond` in bytes, 0 while unknown. */
export function isFastLine(ratePerSecond: number): boolean {
  return ratePerSecond > FAST_BYTES_PER_SECOND;
}

const SLOW_LINE_LEVEL = 3;
const FAST_LINE_LEVEL = 1;
/**
 * Levels against old bytes: zstd looks all of them through from level 5 on, and a level less says several times as
 * much.
 */
const SLOW_LINE_DELTA_LEVEL = 6;
const FAST_LINE_DELTA_LEVEL = 3;
/** A save of a small file waits for its bytes longer than for these milliseconds of a core, which take a tenth off. */
const SLOW_LINE_SMALL_DELTA_LEVEL = 12;
/** With the old bytes. */
const SMALL_BYTES = 512 * 1024;
/**
 * Bytes of a run that are tried after one that did not shrink: more of the same is likely to follow, so only a
 * beginning is tried.
 */
const SAMPLE_BYTES = 32 * 1024;
/** On a fast line the longer it has not shrunk, the more runs in a row go untried, at most so many. */
const UNTRIED_MAX = 15;
const WORTH = 0.97;

/** Old bytes that the other side has too, and how it is told which. */
export interface OldBytes<Delta> {
  bytes: Uint8Array;
  encoding: Delta;
}

export interface PackedRun<Delta> {
  encoding: "raw" | "zstd" | Delta;
  rawBytes: number;
  encoded: Uint8Array;
}

/** `Delta`: how the message says which old bytes. */
export class RunPacker<Delta> {
  private readonly executor: Executor;
  private readonly ratePerSecond: () => number;
  private hasShrunk = true;
  /** Samples in a row that did not shrink, and runs to go untried yet. */
  private failures = 0;
  private untried = 0;

  /** `ratePerSecond` of the line in bytes, 0 while unknown. */
  constructor(executor: Executor, ratePerSecond: () => number) {
    this.executor = executor;
    this.ratePerSecond = ratePerSecond;
  }

  /** `findOld` is asked only when old bytes are to be tried. */
  async pack(bytes: Uint8Array, findOld?: () => Promise<OldBytes<Delta> | undefined>): Promise<PackedRun<Delta>> {
    const raw: PackedRun<Delta> = { encoding: "raw", rawBytes: bytes.length, encoded: bytes };
    const isFast = isFastLine(this.ratePerSecond());
    const level = isFast ? FAST_LINE_LEVEL : SLOW_LINE_LEVEL;
    const isSampled = !this.hasShrunk && bytes.length > 2 * SAMPLE_BYTES;
    if (isSampled && isFast && this.untried-- > 0) return raw;
    const old = await findOld?.();
    if (isSampled) {
      const sample = await this.executor.compress(bytes.subarray(0, SAMPLE_BYTES), level, old?.bytes);
      if (sample === undefined || sample.length > WORTH * SAMPLE_BYTES) {
        this.untried = Math.min(this.failures++, UNTRIED_MAX);
        return raw;
      }
      this.failures = 0;
    }
    const encoded =
      old === undefined
        ? await this.executor.compress(bytes, level)
        : await this.executor.compress(bytes, deltaLevel(bytes.length + old.bytes.length, isFast), old.bytes);
    this.hasShrunk = encoded !== undefined && encoded.length <= WORTH * bytes.length;
    if (encoded === undefined) return raw;
    return { encoding: old?.encoding ?? "zstd", rawBytes: bytes.length, encoded };
  }
}

function deltaLevel(sizeBytes: number, isFast: boolean): number {
  if (isFast) return FAST_LINE_DELTA_LEVEL;
  return sizeBytes <= SMALL_BYTES ? SLOW_LINE_SMALL_DELTA_LEVEL : SLOW_LINE_DELTA_LEVEL;
}
