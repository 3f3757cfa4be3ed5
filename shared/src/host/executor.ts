// Executor: work that costs CPU (chunking, digests, compression), run off the event loop (threads) or at once (inline, simulated).
import type { DiskFile } from "./disk.ts";

/** Compression of one run. */
export type Encoding = "raw" | "zstd";

export interface ChunkedRange {
  /** Lengths of the chunks in order; their sum is the length of the input. */
  lengths: Uint32Array;
  /** SHA-256 of each chunk, 32 bytes each, one after another. */
  digests: Uint8Array;
}

export interface Executor {
  /** Cuts and digests a whole buffer that ends the file (its last chunk is cut by the end). */
  chunkBytes(bytes: Uint8Array): Promise<ChunkedRange>;
  /**
   * Cuts and digests `length` bytes of a file from `offset` (a chunk border) to the end of that range, reading ahead in
   * megabyte steps. @throws RunnelError Io; Stale when the file was shorter than `length`.
   */
  chunkFile(file: DiskFile, offset: number, length: number): Promise<ChunkedRange>;
  /** SHA-256 of each buffer, 32 bytes each. */
  digest(buffers: readonly Uint8Array[]): Promise<Uint8Array>;
  /** Reads ranges of a file and digests each: 32 bytes each. @throws Stale when a range is past the end. */
  digestFile(file: DiskFile, ranges: readonly { offset: number; length: number }[]): Promise<Uint8Array>;
  /** zstd; resolves to undefined when the result is not smaller. `level` 1–19. */
  compress(bytes: Uint8Array, level: number): Promise<Uint8Array | undefined>;
  /** Inverse of compress. Never allocates more than `rawBytes`. @throws RunnelError Corrupt when the result is not exactly `rawBytes`. */
  decompress(bytes: Uint8Array, rawBytes: number): Promise<Uint8Array>;
}
