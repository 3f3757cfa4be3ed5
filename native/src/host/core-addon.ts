// The exports of core.node. Asynchronous functions run on the addon's threads and keep a reference to each buffer they
// are given until their promise settles: nobody may change or transfer it before. They reject with an Error that has a
// `code`: an errno name or one of those in system-call.ts. Arguments are checked by the classes that call them.
import { loadAddon } from "../load.ts";
import type { ChunkPreset } from "@runnel/shared";

/** Lengths as 32-bit numbers; digests of 32 bytes each. */
export interface NativeChunks {
  lengths: ArrayBuffer;
  digests: ArrayBuffer;
}

/** Cuts and digests on the caller's thread. `finish` starts the stream anew. */
export interface ChunkStream {
  update(bytes: Uint8Array): void;
  finish(): NativeChunks;
}

/** The new chunks; `spans` as triples of 32-bit numbers: first, kept, fresh. */
export interface NativeRechunked extends NativeChunks {
  spans: ArrayBuffer;
  bytesRead: number;
}

/** Says what it wants to read until it knows all; then `finish`, once. */
export interface Rechunk {
  next(): { offset: number; length: number } | undefined;
  take(bytes: Uint8Array): void;
  finish(): NativeRechunked;
}

export interface DigestStream {
  update(bytes: Uint8Array): void;
  finish(): ArrayBuffer;
}

/**
 * The way to find breakpoints of large inputs: one of `chunkEngines`, or "plain", one roll that passes over the minimum
 * after a cut, which small inputs get in any case. "roll" is the same over every byte.
 */
export type ChunkEngine = "plain" | "roll" | "portable" | "avx2" | "gfni" | "neon";

/** An engine of `digestEngines`. "instructions" digests one stream at a time, "interleaved" two and "lanes" sixteen. */
export type DigestEngine = "portable" | "instructions" | "interleaved" | "lanes";

/** Mode, uid, gid, mtimeNs; undefined stays as it is. */
type StatChangeArguments = [
  mode: number | undefined,
  uid: number | undefined,
  gid: number | undefined,
  mtimeNs: bigint | undefined,
];

/** A file written as a whole: WholeFile in file/root.h. */
type WholeFileArguments = [
  path: string,
  mode: number,
  permissions: number,
  bytes: Uint8Array,
  isSynced: boolean,
  ...StatChangeArguments,
];

export interface CoreAddon {
  openRoot(path: string): Promise<number>;
  makeRoot(path: string, permissions: number): Promise<void>;
  close(fd: number): Promise<void>;

  open(root: number, path: string, mode: number, permissions: number): Promise<number>;
  readFile(root: number, path: string, lengthMax: number): Promise<ArrayBuffer>;
  writeFile(root: number, ...how: WholeFileArguments): Promise<void>;
  /** `identity` as of `identify`. */
  makeFile(root: number, ...how: WholeFileArguments): Promise<{ fd: number; identity: ArrayBuffer }>;
  /** `lease`: the number of the enumeration in file/file.h. */
  lookForWriter(root: number, path: string): Promise<{ lease: number; stat: ArrayBuffer }>;
  stat(root: number, path: string): Promise<ArrayBuffer>;
  /** A record for each path, of the type -1 where nothing is there, and -2 where it cannot be said. */
  statAll(root: number, paths: readonly string[]): Promise<ArrayBuffer>;
  /** `handle`: empty for whatever is there. */
  setStat(root: number, path: string, ...change: [...StatChangeArguments, handle: Uint8Array]): Promise<void>;
  handle(root: number, path: string): Promise<ArrayBuffer>;
  /** A record (stat-record.ts), then the handle. */
  identify(root: number, path: string): Promise<ArrayBuffer>;
  readSymlink(root: number, path: string): Promise<string>;
  /** Name, bytes, name, bytes, … */
  xattrs(root: number, path: string): Promise<(string | ArrayBuffer)[]>;
  setXattr(root: number, path: string, name: string, value: Uint8Array): Promise<void>;
  removeXattr(root: number, path: string, name: string): Promise<void>;
  copyXattrs(root: number, from: string, to: string): Promise<void>;
  syncFolder(root: number, path: string): Promise<void>;
  space(root: number): Promise<number[]>;
  listOpen(root: number, path: string): Promise<number>;
  /** No names at the end. `stats` has a record for each name (stat-record.ts). */
  listNext(folder: number): Promise<{ names: (string | undefined)[]; stats: ArrayBuffer }>;

  makeFolder(root: number, path: string, permissions: number): Promise<void>;
  makeSymlink(root: number, path: string, target: string): Promise<void>;
  makeSpecial(root: number, path: string, type: number, permissions: number, rdev: number): Promise<void>;
  link(root: number, from: string, to: string): Promise<void>;
  rename(root: number, from: string, to: string, how: number): Promise<void>;
  removeFile(root: number, path: string): Promise<void>;
  removeFolder(root: number, path: string): Promise<void>;

  /** `tell` gets path, kind, path, kind, …; it is not called again before it returned, nor after unwatch was called. */
  watch(root: number, leaveOut: readonly string[], tell: (events: (string | number)[]) => void): Promise<number>;
  unwatch(watch: number): Promise<void>;

  read(fd: number, offset: number, into: Uint8Array): Promise<number>;
  write(fd: number, offset: number, bytes: Uint8Array): Promise<void>;
  copy(from: number, fromOffset: number, to: number, toOffset: number, length: number): Promise<number>;
  truncate(fd: number, length: number): Promise<void>;
  sync(fd: number, dataOnly: boolean): Promise<void>;
  statFile(fd: number): Promise<ArrayBuffer>;
  setStatFile(fd: number, ...change: StatChangeArguments): Promise<void>;
  handleFile(fd: number): Promise<ArrayBuffer>;
  identifyFile(fd: number): Promise<ArrayBuffer>;
  /** The number of the enumeration in file/file.h. */
  takeLease(fd: number): Promise<number>;
  /** The number of the enumeration in file/file.h. */
  takeLock(fd: number): Promise<number>;
  /** At once. */
  leaseStands(fd: number): boolean;

  chunkBytes(bytes: Uint8Array, preset: ChunkPreset): Promise<NativeChunks>;
  chunkFile(fd: number, offset: number, length: number, preset: ChunkPreset): Promise<NativeChunks>;
  digest(buffers: readonly Uint8Array[], engine?: DigestEngine): Promise<ArrayBuffer>;
  /** Offset, length, offset, length, … */
  digestFile(fd: number, ranges: readonly number[]): Promise<ArrayBuffer>;
  /** Digests ranges of files beneath a root, by path. @returns null for a file that is not there, or not all of it. */
  digestFilesAt(
    root: number,
    paths: readonly string[],
    ranges: readonly (readonly number[])[],
    isSynced: boolean,
  ): Promise<(ArrayBuffer | null)[]>;
  /** `pieces`: descriptor (-1 for zeros), offset, length, … `dirty`: offset, length, … */
  rechunk(
    pieces: readonly number[],
    baseLengths: Uint32Array,
    dirty: readonly number[],
    preset: ChunkPreset,
  ): Promise<NativeRechunked>;
  /** An empty prefix is none. */
  compress(bytes: Uint8Array, prefix: Uint8Array, level: number): Promise<ArrayBuffer | undefined>;
  /** Fills `into` or rejects. */
  decompress(bytes: Uint8Array, prefix: Uint8Array, into: Uint8Array): Promise<void>;

  /** On the caller's thread. EOPNOTSUPP where the system has no key for it: anywhere but on Windows. */
  sealSecret(bytes: Uint8Array): ArrayBuffer;
  /** EINVAL for what is not whole, or of another user or machine. */
  openSecret(sealed: Uint8Array): ArrayBuffer;

  /** Names the system's current boot; "" where the system does not say. */
  readonly systemBoot: string;
  /** The number that this process may have open at once. */
  readonly descriptorLimit: number;
  /** Engines that this processor can run, the fastest first. */
  readonly chunkEngines: readonly Exclude<ChunkEngine, "plain">[];
  readonly digestEngines: readonly DigestEngine[];
  /**
   * Without an engine the fastest; `digest` "none" cuts only, and its chunks have no digests. @throws RangeError for
   * instructions that this processor lacks.
   */
  ChunkStream: new (engine?: ChunkEngine, preset?: ChunkPreset, digest?: DigestEngine | "none") => ChunkStream;
  /**
   * Without an engine the fastest. @throws RangeError for instructions that this processor lacks, and for an engine of
   * several streams.
   */
  DigestStream: new (engine?: DigestEngine) => DigestStream;
  Rechunk: new (baseLengths: Uint32Array, dirty: readonly number[], sizeBytes: number, preset: ChunkPreset) => Rechunk;
  compressNow(bytes: Uint8Array, prefix: Uint8Array, level: number): ArrayBuffer | undefined;
  /**
   * Returns true when these bytes are framed as one run that may have this length: to be asked before memory is taken
   * for it.
   */
  mayHoldRun(bytes: Uint8Array, rawBytes: number): boolean;
  decompressNow(bytes: Uint8Array, prefix: Uint8Array, into: Uint8Array): void;
}

let loaded: CoreAddon | undefined;

export function coreAddon(): CoreAddon {
  loaded ??= loadAddon("core") as CoreAddon;
  return loaded;
}
