// Executor: work that costs CPU (chunking, digests, compression), run off the event loop (threads) or at once (inline,
// simulated). Bytes that are passed are not copied: they stay as they are until the promise settles. What it resolves
// to is the caller's.
import type { ChunkPreset } from "../model/chunk-presets.ts";
import type { DiskFile, DiskRoot } from "./disk.ts";

/** Compression of one run. */
export type Encoding = "raw" | "zstd";

export interface ChunkedRange {
  /** Lengths of the chunks in order; their sum is the length of the input. */
  lengths: Uint32Array;
  /** SHA-256 of each chunk, 32 bytes each, one after another. */
  digests: Uint8Array;
}

/** A file that is only read. */
export type ReadableFile = Pick<DiskFile, "fd" | "read">;

/** [offset, offset + length) of a file as a part of a content; without a file: zeros. */
export interface Piece {
  file: ReadableFile | undefined;
  offset: number;
  length: number;
}

/**
 * Difference between an edited content and its base: the parts that its recipe keeps, the new ones, and how much was
 * read to know.
 */
export interface Rechunked {
  /** Spans in order: `kept` chunks of the base from `first` on, then `fresh` new ones. */
  spans: { first: number; kept: number; fresh: number }[];
  /** The new chunks, in order. */
  fresh: ChunkedRange;
  bytesRead: number;
}

export interface Executor {
  /**
   * Cuts and digests a whole buffer that ends the file (its last chunk is cut by the end). Here and below the preset is
   * 0 when none is given.
   */
  chunkBytes(bytes: Uint8Array, preset?: ChunkPreset): Promise<ChunkedRange>;
  /**
   * Cuts and digests `length` bytes of a file from `offset` (a chunk border) to the end of that range, reading ahead in
   * megabyte steps. @throws RunnelError Io; Stale when the file was shorter than `length`.
   */
  chunkFile(file: ReadableFile, offset: number, length: number, preset?: ChunkPreset): Promise<ChunkedRange>;
  /**
   * Cuts a content that was made from a base by overwriting in place, appending or truncating; `dirty` is where it may
   * differ (what lies past the base's end does by itself). Reads only around that, and gives what cutting the whole
   * would give, if the base was cut with this preset. Without a base: cuts the whole.
   * @throws RunnelError Io; Stale when a file is shorter than its piece.
   */
  rechunk(
    content: readonly Piece[],
    baseLengths: Uint32Array,
    dirty: readonly { offset: number; length: number }[],
    preset?: ChunkPreset,
  ): Promise<Rechunked>;
  /** SHA-256 of each buffer, 32 bytes each. */
  digest(buffers: readonly Uint8Array[]): Promise<Uint8Array>;
  /** Reads ranges of a file and digests each: 32 bytes each. @throws Stale when a range is past the end. */
  digestFile(file: ReadableFile, ranges: readonly { offset: number; length: number }[]): Promise<Uint8Array>;
  /**
   * Reads ranges of files in a folder and digests each as `digestFile`: far cheaper than to open many small ones.
   * `isSynced`: their bytes are on stable storage first. @returns undefined for a file that is not there, or that is
   * too short.
   */
  digestFiles(
    root: DiskRoot,
    files: readonly { path: string; ranges: readonly { offset: number; length: number }[] }[],
    isSynced: boolean,
  ): Promise<(Uint8Array | undefined)[]>;
  /**
   * zstd, against a `prefix` that the bytes resemble if there is one; resolves to undefined when the result is not
   * smaller. `level` 1–19.
   */
  compress(bytes: Uint8Array, level: number, prefix?: Uint8Array): Promise<Uint8Array | undefined>;
  /**
   * Inverse of compress. Never allocates more than `rawBytes`. @throws RunnelError Corrupt when the result is not
   * exactly `rawBytes`, or the prefix is not the one given to compress.
   */
  decompress(bytes: Uint8Array, rawBytes: number, prefix?: Uint8Array): Promise<Uint8Array>;
}
