// Cache: contents of versions as sparse files with a presence map, their recipes, and an index of their chunks. Rebuildable: losing it
// costs bandwidth. Keyed by version; a content also has its OID, by which it survives a new epoch.
import type { ByteRange } from "@runnel/native/drive";
import type { DiskFile, Recipe, VersionId } from "@runnel/shared";

export interface CachedContent {
  /** Never reused while the cache lives; also the drive's content id. */
  readonly id: number;
  readonly version: VersionId;
  readonly sizeBytes: number;
  /** Absolute path of the sparse file. */
  readonly path: string;
  readonly recipe: Recipe | undefined;
  /** 32 bytes, with the recipe. */
  readonly oid: Uint8Array | undefined;
}

/** Where a chunk with this digest is: present bytes of a cached content, and its place in a version known to the server. */
export interface FoundChunk {
  content: CachedContent;
  /** Index in the content's recipe. */
  index: number;
  offset: number;
  length: number;
}

export interface Cache {
  /** The content of a version, if any of it is here. A content known by OID from an older epoch is found through `oid`. */
  find(version: VersionId, oid?: Uint8Array): CachedContent | undefined;
  byId(id: number): CachedContent | undefined;
  /** Newest cached versions of a node, newest first. */
  versionsOf(node: number): CachedContent[];
  /** A new, empty sparse file of that size. @throws NoSpace. */
  create(version: VersionId, sizeBytes: number): Promise<CachedContent>;
  /** Takes over a complete file (a committed overlay of a new file) by renaming it in. */
  adopt(path: string, version: VersionId, sizeBytes: number, recipe: Recipe, oid: Uint8Array): Promise<CachedContent>;
  /**
   * The file of `content` becomes that of another version: between `begin` and `finish` it belongs to no version (a crash loses it, never mixes it).
   * `finish` gives it its new identity as a complete or partial content.
   */
  transform(content: CachedContent): Promise<{
    finish(version: VersionId, sizeBytes: number, recipe: Recipe, oid: Uint8Array, present: readonly ByteRange[]): Promise<CachedContent>;
  }>;
  setRecipe(content: CachedContent, recipe: Recipe, oid: Uint8Array): CachedContent;

  present(content: CachedContent): readonly ByteRange[];
  /** Parts of the range that are not here. */
  missing(content: CachedContent, range: ByteRange): ByteRange[];
  /** Writes bytes and records them present (bytes first). */
  write(content: CachedContent, offset: number, bytes: Uint8Array): Promise<void>;
  /** Copies from another cached content, and records. */
  copy(from: CachedContent, fromOffset: number, to: CachedContent, offset: number, length: number): Promise<void>;
  read(content: CachedContent, offset: number, length: number): Promise<Uint8Array>;
  /** For core.node's threads; read only. Close it. */
  openFile(content: CachedContent): Promise<DiskFile>;

  /** First present chunk found for each digest (32 bytes each in `digests`). */
  findChunks(digests: Uint8Array): (FoundChunk | undefined)[];

  /** While held, a content is not evicted (open files, transfers). */
  hold(content: CachedContent): void;
  release(content: CachedContent): void;
  usedBytes(): number;
  /** Least recently used contents above the budget are removed. */
  evict(budgetBytes: number): Promise<void>;
  /** Called with contents that eviction removed, so that the drive forgets them. */
  onEvicted(tell: (id: number) => void): void;
  /** A new epoch: versions mean nothing any more; contents with an OID stay findable by it. */
  forgetVersions(): void;
  close(): Promise<void>;
}
