// The cache over a folder of sparse files and an index in SQLite. Main thread; disk work is asynchronous. A file belongs to one content
// for ever: one that becomes another version's gets another id and name first, on stable storage.
import type { ByteRange } from "@runnel/native/drive";
import type { Clock, DiskFile, DiskRoot, Executor, Recipe, VersionId } from "@runnel/shared";
import {
  DIGEST_BYTES,
  RunnelError,
  concatRecipes,
  digestAt,
  encodeRecipe,
  recipeSize,
  sliceRecipe,
} from "@runnel/shared";
import { systemBoot } from "../journal/system-boot.ts";
import { openDatabase } from "../replica/database.ts";
import type { IndexDatabase } from "../replica/database.ts";
import type { Cache, CachedContent, FoundChunk, Transformation } from "./cache.ts";
import { ChunkIndex } from "./chunk-index.ts";
import { ContentFiles } from "./content-files.ts";
import { CACHE_FORMAT, prepareContentStatements } from "./content-index.ts";
import type { ContentStatements } from "./content-index.ts";
import { ContentTable, gone } from "./content-table.ts";
import type { Content } from "./content.ts";
import { addRange, holdsRange, missingIn, sumOf } from "./ranges.ts";
import type { RecipeDifference } from "./recipe-difference.ts";
import { changedChunks } from "./recipe-difference.ts";
import { verifyChunks } from "./verify-chunks.ts";

/** Files synced at close; bytes in others are digested before use if the system is started anew. */
const SYNCED_AT_CLOSE = 256;

export class ContentCache implements Cache {
  readonly #options: CacheOptions;
  readonly #db: IndexDatabase;
  readonly #rows: ContentStatements;
  readonly #files: ContentFiles;
  readonly #contents: ContentTable;
  readonly #chunks: ChunkIndex;
  readonly #listeners: ((id: number) => void)[] = [];
  /** Under way; close waits for them. */
  readonly #operations = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  constructor(options: CacheOptions, db: IndexDatabase, rows: ContentStatements, files: ContentFiles, boot: string) {
    this.#options = options;
    this.#db = db;
    this.#rows = rows;
    this.#files = files;
    this.#contents = new ContentTable(db, rows, files, options.clock, boot);
    this.#chunks = new ChunkIndex(db, rows, options.clock);
    for (const { id } of rows.unfinished.all()) {
      const content = this.#contents.get(id);
      if (content?.recipe !== undefined) this.#chunks.add(content, content.indexed, content.recipe.lengths.length);
    }
  }

  find(version: VersionId, oid?: Uint8Array): CachedContent | undefined {
    this.#assertOpen("find cached content");
    const content = this.#byVersion(version) ?? (oid && this.#adoptByOid(version, oid));
    if (content !== undefined) this.#contents.touch(content);
    return content?.view();
  }

  async verify(view: CachedContent): Promise<CachedContent | undefined> {
    this.#assertOpen("verify cached content");
    const content = this.#contents.get(view.id);
    if (content === undefined) return undefined;
    await this.#track(this.#settleDoubt(content));
    return content.isGone ? undefined : content.view();
  }

  byId(id: number): CachedContent | undefined {
    this.#assertOpen("find cached content");
    return this.#contents.get(id)?.view();
  }

  versionsOf(node: number): CachedContent[] {
    this.#assertOpen("find cached content");
    return this.#rows.versionsOf.all(node).flatMap(({ id }) => this.#contents.get(id)?.view() ?? []);
  }

  async create(version: VersionId, sizeBytes: number): Promise<CachedContent> {
    this.#assertOpen("make cached content");
    const there = this.#byVersion(version);
    if (there !== undefined && there.sizeBytes === sizeBytes) {
      await there.file;
      return there.view();
    }
    const content = this.#contents.insert(sizeBytes);
    this.#identify(content, version, sizeBytes, undefined, undefined);
    content.file = this.#files.make(content.id, sizeBytes);
    return this.#working(content, async () => {
      try {
        await content.file;
      } catch (error) {
        content.file = undefined;
        await this.#remove(content);
        throw error;
      }
      return content.view();
    });
  }

  async adopt(
    path: string,
    version: VersionId,
    sizeBytes: number,
    recipe: Recipe,
    oid: Uint8Array,
  ): Promise<CachedContent> {
    this.#assertOpen("take in a file");
    checkRecipe(recipe, sizeBytes);
    const content = this.#contents.insert(sizeBytes);
    return this.#working(content, async () => {
      try {
        await takeIn(path, content, this.#files, this.#options);
        if (content.isGone) throw gone();
      } catch (error) {
        await this.#remove(content);
        throw error;
      }
      this.#complete(content, version, sizeBytes, recipe, oid, [{ offset: 0, length: sizeBytes }], undefined);
      return content.view();
    });
  }

  async transform(view: CachedContent): Promise<Transformation> {
    this.#assertOpen("transform cached content");
    const old = this.#contents.require(view);
    if (old.isInUse) throw new RunnelError("Busy", "transform cached content", "The content is in use.");
    await this.#contents.rest(old);
    if (old.isGone || old.isInUse) throw gone();
    const next = this.#db.atomic(() => {
      this.#contents.remove(old);
      return this.#contents.insert(old.sizeBytes, old.lineage);
    });
    next.working++;
    try {
      await this.#files.move(old.id, next.id);
      return this.#transformation(old, next, await this.#contents.file(next));
    } catch (error) {
      await this.#files.remove(old.id).catch(() => {});
      await this.#abandon(old, next);
      throw error;
    }
  }

  #transformation(old: Content, next: Content, file: DiskFile): Transformation {
    return {
      path: next.path,
      file,
      abandon: () => this.#abandon(old, next),
      finish: async (version, sizeBytes, recipe, oid, present) => {
        checkRecipe(recipe, sizeBytes);
        await file.truncate(sizeBytes);
        this.#assertOpen("transform cached content");
        this.#complete(next, version, sizeBytes, recipe, oid, present, old);
        next.working--;
        await this.#wasUsed(next);
        return next.view();
      },
    };
  }

  async #abandon(old: Content, next: Content): Promise<void> {
    next.working--;
    // After close its row is left: it names no version, so the next opening drops it.
    if (this.#closing !== undefined) return this.#contents.rest(next);
    if (old.recipe !== undefined) this.#chunks.remove(old.lineage, old.recipe);
    await this.#remove(next);
  }

  setRecipe(view: CachedContent, recipe: Recipe, oid: Uint8Array): CachedContent {
    this.#assertOpen("name cached content");
    const content = this.#contents.require(view);
    checkRecipe(recipe, content.sizeBytes);
    if (content.oid !== undefined && Buffer.compare(content.oid, oid) === 0) return content.view();
    this.#db.atomic(() => {
      this.#rows.putRecipe.run(content.id, encodeRecipe(recipe));
      this.#rows.identify.run(content.node, content.seq, content.sizeBytes, oid, content.id);
    });
    content.identify(content.node, content.seq, content.sizeBytes, recipe, Uint8Array.from(oid));
    this.#chunks.add(content, 0, recipe.lengths.length);
    return content.view();
  }

  present(view: CachedContent): readonly ByteRange[] {
    this.#assertOpen("read cache");
    return this.#contents.require(view).ranges;
  }

  missing(view: CachedContent, range: ByteRange): ByteRange[] {
    this.#assertOpen("read cache");
    return missingIn(this.#contents.require(view).ranges, range);
  }

  async write(view: CachedContent, offset: number, bytes: Uint8Array): Promise<void> {
    this.#assertOpen("write cache");
    const content = this.#contents.require(view);
    checkWithin(content, offset, bytes.length);
    await this.#working(content, async () => {
      await this.#settleDoubt(content);
      await (await this.#contents.file(content)).write(offset, bytes);
      this.#wasWritten(content, offset, bytes.length);
    });
  }

  async copy(
    fromView: CachedContent,
    fromOffset: number,
    toView: CachedContent,
    offset: number,
    length: number,
  ): Promise<void> {
    this.#assertOpen("write cache");
    const [from, to] = [this.#contents.require(fromView), this.#contents.require(toView)];
    checkWithin(to, offset, length);
    await this.#working(to, () =>
      this.#working(from, async () => {
        await this.#settleDoubt(to);
        if (!holdsRange(from.ranges, fromOffset, length)) throw lacking();
        const [source, target] = [await this.#contents.file(from), await this.#contents.file(to)];
        const copied = await target.copyFrom(source, fromOffset, offset, length);
        if (copied !== length) throw lacking();
        this.#wasWritten(to, offset, length);
      }),
    );
  }

  async read(view: CachedContent, offset: number, length: number): Promise<Uint8Array> {
    this.#assertOpen("read cache");
    const content = this.#contents.require(view);
    return this.#working(content, async () => {
      if (!holdsRange(content.ranges, offset, length)) throw lacking();
      const bytes = await (await this.#contents.file(content)).read(offset, length);
      if (bytes.length !== length) throw lacking();
      return bytes;
    });
  }

  openFile(view: CachedContent): Promise<DiskFile> {
    this.#assertOpen("read cache");
    return this.#files.open(this.#contents.require(view).id, "read");
  }

  findChunks(digests: Uint8Array): (FoundChunk | undefined)[] {
    this.#assertOpen("find chunks");
    return Array.from({ length: digests.length / DIGEST_BYTES }, (_, at) =>
      this.#findChunk(digests.subarray(at * DIGEST_BYTES, (at + 1) * DIGEST_BYTES)),
    );
  }

  hold(view: CachedContent): void {
    this.#assertOpen("hold cached content");
    this.#contents.require(view).holds++;
  }

  release(view: CachedContent): void {
    const content = this.#contents.get(view.id);
    if (content === undefined || this.#closing !== undefined) return;
    if (content.holds === 0) throw new TypeError("A content was released more often than it was held.");
    content.holds--;
    this.#contents.touch(content);
    // A failure to close a file loses nothing: what it wrote counts as unsynced.
    this.#track(this.#wasUsed(content)).catch(() => {});
  }

  usedBytes(): number {
    return this.#contents.usedBytes;
  }

  async evict(budgetBytes: number): Promise<void> {
    this.#assertOpen("evict");
    this.#contents.store();
    let after = -1;
    while (this.#contents.usedBytes > budgetBytes && this.#closing === undefined) {
      const batch = this.#rows.leastUsed.all(after);
      if (batch.length === 0) return;
      for (const { id, used } of batch) {
        after = used;
        const content = this.#contents.get(id);
        if (content === undefined || content.isInUse || content.verifying !== undefined) continue;
        if (this.#contents.usedBytes <= budgetBytes || this.#closing !== undefined) return;
        await this.#remove(content);
      }
    }
  }

  onEvicted(tell: (id: number) => void): void {
    this.#listeners.push(tell);
  }

  forgetVersions(): void {
    this.#assertOpen("forget versions");
    const nameless = this.#rows.withoutOid.all();
    this.#rows.forgetVersions.run();
    for (const content of this.#contents.loaded()) {
      content.identify(0, 0, content.sizeBytes, content.recipe, content.oid);
    }
    for (const { id } of nameless) {
      const content = this.#contents.get(id);
      if (content !== undefined) this.#replace(content);
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#operations);
    try {
      this.#contents.store();
      const unsynced = this.#contents.loaded().filter((content) => content.unsyncedIn !== "" && !content.isGone);
      for (const content of unsynced.slice(0, SYNCED_AT_CLOSE)) {
        await (await this.#contents.file(content)).sync(true);
        // A write that was under way may have come in between.
        if (!content.isChanged && content.doubtful.length === 0) this.#rows.setSynced.run(content.id);
      }
    } finally {
      for (const content of this.#contents.loaded()) {
        content.holds = 0;
        await this.#contents.rest(content);
      }
      this.#contents.stop();
      this.#chunks.close();
      this.#db.close();
    }
  }

  #byVersion(version: VersionId): Content | undefined {
    const row = version.node === 0 ? undefined : this.#rows.byVersion.get(version.node, version.seq);
    return row && this.#contents.get(row.id);
  }

  #adoptByOid(version: VersionId, oid: Uint8Array): Content | undefined {
    const row = this.#rows.byOid.get(oid);
    const content = row && this.#contents.get(row.id);
    if (content === undefined || content.isReplaced) return undefined;
    this.#identify(content, version, content.sizeBytes, content.recipe, content.oid);
    return content;
  }

  /** The version's former content, if any, belongs to no version from here on. */
  #identify(
    content: Content,
    version: VersionId,
    sizeBytes: number,
    recipe: Recipe | undefined,
    oid: Uint8Array | undefined,
  ): void {
    const former = this.#byVersion(version);
    this.#db.atomic(() => {
      if (former !== undefined) this.#rows.identify.run(0, 0, former.sizeBytes, former.oid ?? null, former.id);
      this.#rows.identify.run(version.node, version.seq, sizeBytes, oid ?? null, content.id);
      if (recipe !== undefined && recipe !== content.recipe) this.#rows.putRecipe.run(content.id, encodeRecipe(recipe));
    });
    content.identify(version.node, version.seq, sizeBytes, recipe, oid);
    if (former === undefined || former === content) return;
    former.identify(0, 0, former.sizeBytes, former.recipe, former.oid);
    this.#replace(former);
  }

  /** A file that now holds these bytes becomes the content of the version. `old`: what its lineage's rows in the index stand for. */
  #complete(
    content: Content,
    version: VersionId,
    sizeBytes: number,
    recipe: Recipe,
    oid: Uint8Array,
    present: readonly ByteRange[],
    old: Content | undefined,
  ): void {
    const ranges: ByteRange[] = [];
    for (const { offset, length } of present) addRange(ranges, { offset, length });
    this.#db.atomic(() => {
      this.#identify(content, version, sizeBytes, recipe, Uint8Array.from(oid));
      content.ranges = ranges;
      this.#contents.wasChanged(content, sumOf(ranges));
      this.#contents.storeContent(content);
      const changed = changedChunks(old?.recipe, old?.indexed ?? 0, recipe);
      this.#chunks.add(content, changed.from, changed.to);
      if (old?.recipe !== undefined) this.#chunks.remove(old.lineage, chunksOnlyIn(old.recipe, changed, content));
    });
  }

  #findChunk(digest: Uint8Array): FoundChunk | undefined {
    for (const lineage of this.#chunks.lineagesOf(digest)) {
      const row = this.#rows.byLineage.get(lineage);
      const content = row && this.#contents.get(row.id);
      if (content === undefined) {
        this.#chunks.forget(digest, lineage);
        continue;
      }
      const index = content.indexOf(digest);
      const [offset, length] = [content.offsets()[index], content.recipe?.lengths[index]];
      if (offset === undefined || length === undefined || !holdsRange(content.ranges, offset, length)) continue;
      return { content: content.view(), index, offset, length };
    }
    return undefined;
  }

  #wasWritten(content: Content, offset: number, length: number): void {
    if (content.isGone) throw gone();
    const before = missingIn(content.ranges, { offset, length });
    addRange(content.ranges, { offset, length });
    this.#contents.wasChanged(content, sumOf(before));
  }

  async #settleDoubt(content: Content): Promise<void> {
    if (content.doubtful.length === 0) return;
    content.verifying ??= this.#digestDoubtful(content).finally(() => {
      content.verifying = undefined;
    });
    await content.verifying;
  }

  async #digestDoubtful(content: Content): Promise<void> {
    const file = await this.#files.open(content.id, "read");
    try {
      const kept = await verifyChunks(content, file, this.#options.executor);
      const doubted = sumOf(content.doubtful);
      content.doubtful = [];
      for (const range of kept) addRange(content.ranges, range);
      this.#contents.wasChanged(content, sumOf(kept) - doubted);
    } finally {
      await file.close();
    }
    if (content.ranges.length === 0 && content.sizeBytes > 0 && !content.isInUse) await this.#remove(content);
  }

  /** Removes now, or when the last holder lets go. */
  #replace(content: Content): void {
    content.isReplaced = true;
    if (!content.isInUse) void this.#track(this.#remove(content));
  }

  #track<T>(operation: Promise<T>): Promise<T> {
    const ended = operation.finally(() => this.#operations.delete(ended));
    this.#operations.add(ended);
    return ended;
  }

  #working<T>(content: Content, work: () => Promise<T>): Promise<T> {
    return this.#track(this.#work(content, work));
  }

  async #work<T>(content: Content, work: () => Promise<T>): Promise<T> {
    content.working++;
    try {
      return await work();
    } finally {
      content.working--;
      await this.#wasUsed(content);
    }
  }

  async #wasUsed(content: Content): Promise<void> {
    if (content.isInUse) return;
    if (content.isReplaced && !content.isGone) await this.#remove(content);
    else {
      if (content.holds === 0 && this.#closing === undefined) this.#contents.storeContent(content);
      await this.#contents.rest(content);
    }
  }

  /** A file that cannot be removed now is removed at the next opening, being unknown then. */
  async #remove(content: Content): Promise<void> {
    if (content.isGone) return;
    this.#contents.remove(content);
    if (content.recipe !== undefined) this.#chunks.remove(content.lineage, content.recipe);
    for (const tell of this.#listeners) tell(content.id);
    content.holds = 0;
    await this.#contents.rest(content).catch(() => {});
    await this.#files.remove(content.id).catch(() => {});
  }

  #assertOpen(operation: string): void {
    if (this.#closing !== undefined) throw new RunnelError("Interrupted", operation, "The cache has been closed.");
  }
}

function checkRecipe(recipe: Recipe, sizeBytes: number): void {
  if (recipeSize(recipe) !== sizeBytes)
    throw new TypeError(`A recipe of ${recipeSize(recipe)} bytes for ${sizeBytes}.`);
}

function checkWithin(content: Content, offset: number, length: number): void {
  if (offset < 0 || offset + length > content.sizeBytes) throw new RangeError("A write must lie within its content.");
}

function lacking(): RunnelError {
  return new RunnelError("Gone", "read cache", "The cache does not hold these bytes.");
}
