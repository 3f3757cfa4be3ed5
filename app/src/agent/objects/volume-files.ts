// Files of a volume for the agent itself: what it puts, gets and copies for programs goes neither through a kernel nor
// through open files of a drive. Engines: drive-files.ts over the services of a mount, and one in memory for tests.
import type { ByteRange } from "@runnel/native/drive";
import type { ChunkKind, DiskFile, FileType, Recipe, VersionId } from "@runnel/shared";
import type { KnownVersion } from "../transfer/delta-base.ts";

export interface FileFacts {
  type: FileType;
  sizeBytes: number;
  mtimeNs: bigint;
  mode: number;
}

export interface NamedFile extends FileFacts {
  name: string;
}

/** Bytes that are to be written, wherever they lie. */
export interface FileSource extends Pick<FileFacts, "sizeBytes" | "mtimeNs" | "mode"> {
  /** The file that has all of them, or will have where `bring` has been asked for a range. Undefined for no bytes. */
  readonly file: DiskFile | undefined;
  /** Known where the content has been cut before. */
  readonly recipe?: Recipe | undefined;
  /** The volume and version that it is, where it is one. */
  readonly version?: { url: string; known: KnownVersion } | undefined;
  /** Has a range of the file in its place. @throws what bringing it throws. */
  bring?(range: ByteRange): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A version of a file, held in the cache until it is disposed of. */
export interface OpenedFile extends FileFacts {
  readonly recipe: Recipe | undefined;
  /** 32 bytes, with the recipe. */
  readonly oid: Uint8Array | undefined;
  /** Absolute path of the file here that has what was brought, at its offsets; "" for no bytes. */
  readonly path: string;
  /** Ranges that are here and right. */
  present(): readonly ByteRange[];
  /** Has the range here and right. @throws Unreachable, Gone, Lost, Corrupt, NoSpace; the signal's reason. */
  bring(range: ByteRange, signal: AbortSignal): Promise<void>;
  /** Returns its bytes for another file; those that are not here are brought when they are read. */
  source(): Promise<FileSource>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface WriteOptions {
  signal: AbortSignal;
  /** Called with how far the content has been read to be sent. */
  progress?(doneBytes: number): void;
  /**
   * Second since 1970 until which it lives at least: said before there are any bytes, so that a file that is left
   * behind has an end too.
   */
  until?: number;
  /** The way that the source's recipe was cut in; left out: as its recipe shows, or as a new file is. */
  chunks?: ChunkKind;
}

export interface VolumeFiles {
  /** Address of the volume. */
  readonly url: string;
  /** @throws ReadOnly where this device may not change anything, or cannot now. */
  mayChange(operation: string): void;
  /** @returns undefined when nothing is there. @throws Unreachable where that cannot be known. */
  find(path: string): Promise<FileFacts | undefined>;
  /** Lists a folder, in name order. @throws NotFound, NotFolder, Unreachable. */
  list(path: string): Promise<NamedFile[]>;
  /** Makes a folder, and those above it, where they are missing. @throws NotFolder where a file is in the way. */
  makeFolders(path: string): Promise<void>;
  /** @throws NotFound, IsFolder, Unsupported for what is no file. */
  open(path: string): Promise<OpenedFile>;
  /**
   * Makes the file a new content. Only chunks that the volume lacks cross the wire: the others are named. When it
   * resolves the server has it. @throws the server's refusals: then a file that was there is as it was, and one that
   * was not is removed where that can be done. Unsupported for fixed chunks where it knows none.
   */
  write(path: string, source: FileSource, how: WriteOptions): Promise<VersionId>;
  /** Has an object live until this second at least. Resolves to the second until which it lives. @throws NotFound. */
  liveUntil(path: string, seconds: number): Promise<number>;
  /** Notes the recipe of what was just written from here, so that it need not be brought to be compared. */
  noteRecipe(path: string, recipe: Recipe, oid: Uint8Array): Promise<void>;
  /** Cuts a content as a new one, unless its recipe is that already; and digests its recipe. @throws Io, Stale. */
  cut(source: FileSource, chunks: ChunkKind): Promise<{ recipe: Recipe; oid: Uint8Array }>;
}
