// Cache: contents of versions as sparse files with a presence map, their recipes, and an index of their chunks.
// Rebuildable: losing it costs bandwidth. Keyed by version; a content also has its OID, by which it survives a new
// epoch.
import type { ByteRange } from "@runnel/native/drive";
import type { DiskFile, Recipe, VersionId } from "@runnel/shared";

export interface CachedContent {
  /** Id that is never used again in this cache; also the drive's content id. */
  readonly id: number;
  /** { node: 0, seq: 0 } while it belongs to no version (forgetVersions, replaced). */
  readonly version: VersionId;
  readonly sizeBytes: number;
  /** Absolute path of the sparse file. */
  readonly path: string;
  readonly recipe: Recipe | undefined;
  /** 32 bytes, with the recipe. */
  readonly oid: Uint8Array | undefined;
}

/**
 * Keeps a content from being evicted until it is disposed of (open files, transfers); to dispose of it again does
 * nothing.
 */
export interface Hold extends Disposable {
  readonly content: CachedContent;
}

/** A place of a chunk: present bytes of a cached content, and where they are in a version known to the server. */
export interface FoundChunk {
  content: CachedContent;
  /** Index in the content's recipe. */
  index: number;
  offset: number;
  length: number;
}

/**
 * Knowledge of bytes that are written: that they are whole chunks of the content's recipe, if it has one; their own
 * descriptors; or nothing: then they are a range that lies across chunks, and unverified until the chunk is here
 * (F141).
 */
export type Written = "chunks" | Recipe | "range";

/** A version with its recipe. */
export interface VersionContent {
  version: VersionId;
  sizeBytes: number;
  recipe: Recipe;
  /** 32 bytes. */
  oid: Uint8Array;
}

/**
 * Difference between a version and an older one: the first `keptBytes` of that, then zeros, and over both the pieces,
 * in order.
 */
export interface Edit {
  keptBytes: number;
  /** `from`: where the bytes lie in the file, one of the same disk; `offset`: in the content. */
  pieces: readonly { file: DiskFile; from: number; offset: number; length: number }[];
}

/** Methods given a content that is no longer in the cache throw Gone; after close all but close throw Interrupted. */
export interface Cache {
  /**
   * Finds the content of a version, if any of it is here. A content known by OID from an older epoch is found through
   * `oid`. Bytes that another process wrote are unverified, and count as not present, until `verify`: a disk may rot,
   * or have lost them in a power cut.
   */
  find(version: VersionId, oid?: Uint8Array): CachedContent | undefined;
  /**
   * Digests what is unverified of the range (of the whole) and keeps what is right; at once when nothing is. @returns
   * undefined when it has been evicted.
   */
  verify(content: CachedContent, range?: ByteRange): Promise<CachedContent | undefined>;
  /** Marks all of it unverified, as after a restart, unless it is in use. */
  markUnverified(content: CachedContent): void;
  byId(id: number): CachedContent | undefined;
  /** Finds a content of whatever version, or of none. */
  byOid(oid: Uint8Array): CachedContent | undefined;
  /** Newest cached versions of a node, newest first. */
  versionsOf(node: number): CachedContent[];
  /** Lists contents of versions that have a recipe and more than so many bytes, used lately, the last first. */
  lately(countMax: number, aboveBytes: number): CachedContent[];
  /**
   * Makes a new, empty sparse file of that size; holds the present content of that version where there is one of that
   * size. @throws NoSpace.
   */
  create(version: VersionId, sizeBytes: number): Promise<Hold>;
  /**
   * Makes a new, empty content of the version in place of this one, which goes when nobody holds it any more: there is
   * space when `formerEvicted` resolves.
   * @throws NoSpace.
   */
  startOver(content: CachedContent): Promise<{ hold: Hold; formerEvicted: Promise<void> }>;
  /**
   * Takes in a file that nobody changes any more (a committed overlay of a new file): by a second name where it lies
   * below the cache's root, else by a copy within the system. The file stays where it is (the journal removes it with
   * `done`). `path` is absolute, below the cache's root or `adoptFrom`. `unverified`: ranges whose bytes nobody has
   * compared with the recipe; `absent`: those that are not in the file.
   * @throws NotFound, NoSpace.
   */
  adopt(
    path: string,
    content: VersionContent,
    unverified?: readonly ByteRange[],
    absent?: readonly ByteRange[],
  ): Promise<CachedContent>;
  /**
   * The file of `content` becomes that of another version, written where the two differ; `content` is gone. What cannot
   * be written is absent. `release` releases the `holds` that the caller knows of, or returns false, when it is still
   * needed as it is. @throws Busy then, and while anybody else uses it.
   */
  edit(
    content: CachedContent,
    users: { holds: number; release(): boolean },
    next: VersionContent,
    edit: Edit,
  ): Promise<CachedContent>;
  /**
   * Sets the recipe of the whole content. What came before it is unverified, unless the recipe was made from the bytes
   * that are here.
   */
  setRecipe(content: CachedContent, recipe: Recipe, oid: Uint8Array, isMadeHere?: boolean): CachedContent;

  present(content: CachedContent): readonly ByteRange[];
  /** Parts of the range that are not here, or unverified. */
  missing(content: CachedContent, range: ByteRange): ByteRange[];
  /** Parts of the range that are not here at all. */
  absent(content: CachedContent, range: ByteRange): ByteRange[];
  /** Writes bytes and records them present (bytes first). `written`: "chunks" when it is not said. */
  write(content: CachedContent, offset: number, bytes: Uint8Array, written?: Written): Promise<void>;
  /** Copies present bytes from another cached content, and records. @throws Gone when `from` lacks them. */
  copy(from: CachedContent, fromOffset: number, to: CachedContent, offset: number, length: number): Promise<void>;
  /** Proves them first. @throws Gone when not all of them are present. */
  read(content: CachedContent, offset: number, length: number): Promise<Uint8Array>;
  /** Opens the file for core.node's threads; read only. Close it. */
  openFile(content: CachedContent): Promise<DiskFile>;

  /**
   * Finds a chunk for each digest (32 bytes each in `digests`), verified or not: a hint. Its bytes are got by `read`.
   */
  findChunks(digests: Uint8Array): (FoundChunk | undefined)[];

  /** Digest keys of chunks that are here or were, ascending as signed numbers: those behind `after`. */
  chunkKeys(after: bigint | undefined, most: number): bigint[];

  hold(content: CachedContent): Hold;
  usedBytes(): number;
  /** Least recently used contents above the budget are removed. */
  evict(budgetBytes: number): Promise<void>;
  /**
   * Removes a content that nobody uses. @returns the bytes that it took; undefined when it is in use, and stays.
   */
  remove(content: CachedContent): Promise<number | undefined>;
  /** Registers who says which versions are kept, whatever is evicted for space. */
  keep(isKept: (version: VersionId) => boolean): void;
  /**
   * Registers who is asked before a content goes (evicted, replaced, failed verification), so that the drive forgets
   * it. `mayEvict` returns false when the content is still read from: who says so holds it from then on.
   */
  onEvicting(mayEvict: (id: number) => boolean): void;
  /** Called with how many bytes of a version turned out not to be what was written. */
  onDamaged(report: (version: VersionId, bytes: number) => void): void;
  /**
   * Called with a sentence for a person when its index turns out to be damaged: at once for what was found, and
   * dropped, at opening.
   */
  onIndexDamage(report: (sentence: string) => void): void;
  /** A new epoch: versions mean nothing any more; contents with an OID stay findable by it. */
  forgetVersions(): void;
  close(): Promise<void>;
}
