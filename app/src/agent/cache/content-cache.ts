// The cache over a folder of sparse files and an index in SQLite. Main thread; disk work is asynchronous. A file
// belongs to one content for ever: one that becomes another version's gets another id and name first, on stable
// storage.
import { systemBoot } from "@runnel/native";
import type { ByteRange } from "@runnel/native/drive";
import type { DiskFile, Recipe, VersionId } from "@runnel/shared";
import { RunnelError, isRunnelError, nextTurn, recipeSize } from "@runnel/shared";
import { openDatabase } from "../replica/database.ts";
import type { IndexDatabase } from "../replica/database.ts";
import { takeIn } from "./adopt.ts";
import type { CacheOptions } from "./cache-options.ts";
import type { Cache, CachedContent, Edit, FoundChunk, Hold, VersionContent, Written } from "./cache.ts";
import { ChunkIndex } from "./chunk-index.ts";
import { ContentFiles } from "./content-files.ts";
import { CACHE_FORMAT, prepareContentStatements } from "./content-index.ts";
import type { ContentStatements } from "./content-index.ts";
import { ContentLifecycle } from "./content-lifecycle.ts";
import { ContentTable, goneError, lackingError } from "./content-table.ts";
import type { Content } from "./content.ts";
import { addRange, holdsRange, missingIn, presentIn, removeRange, sumOf } from "./ranges.ts";
import { Verifier } from "./verifier.ts";
import { reconcile } from "./reconcile.ts";

export type { CacheOptions } from "./cache-options.ts";

/** Space freed on a full disk besides what is needed: not for every few bytes anew. */
const SPARE_BYTES = 1024 * 1024;
const ALL_KEPT_MS = 30_000;

/**
 * Opens or makes a cache; a damaged index means an empty one. @throws RunnelError Version when a newer program made it,
 * Io, NoSpace.
 */
export async function openCache(options: CacheOptions): Promise<Cache> {
  const boot = options.boot ?? systemBoot();
  const db = openDatabase(options.path, CACHE_FORMAT, boot);
  try {
    const rows = prepareContentStatements(db);
    const files = new ContentFiles(options.root, options.folder ?? "contents");
    await reconcile(db, rows, files);
    return new ContentCache(options, db, rows, files);
  } catch (error) {
    db.close();
    throw error;
  }
}

class ContentCache implements Cache {
  readonly #options: CacheOptions;
  readonly #db: IndexDatabase;
  readonly #rows: ContentStatements;
  readonly #files: ContentFiles;
  readonly #contents: ContentTable;
  readonly #chunks: ChunkIndex;
  readonly #lifecycle: ContentLifecycle;
  readonly #verifier: Verifier;
  #isKept: (version: VersionId) => boolean = () => false;
  /** All of so many bytes is kept: until then, or until more is here, nothing is looked for that may go. */
  #keptUntilMs = 0;
  #keptBytes = 0;
  #closing: Promise<void> | undefined;

  constructor(options: CacheOptions, db: IndexDatabase, rows: ContentStatements, files: ContentFiles) {
    this.#options = options;
    this.#db = db;
    this.#rows = rows;
    this.#files = files;
    const { clock, executor } = options;
    this.#contents = new ContentTable({ db, rows, files, clock });
    this.#chunks = new ChunkIndex({ db, rows, contents: this.#contents, clock });
    const parts = { db, rows, files, contents: this.#contents, chunks: this.#chunks };
    this.#lifecycle = new ContentLifecycle(parts);
    this.#verifier = new Verifier({ ...parts, lifecycle: this.#lifecycle, executor });
    this.#chunks.resumeAll(rows.unfinished.all());
  }

  find(version: VersionId, oid?: Uint8Array): CachedContent | undefined {
    this.#assertOpen("find cached content");
    const content = this.#lifecycle.byVersion(version) ?? (oid && this.#lifecycle.adoptByOid(version, oid));
    if (content !== undefined) this.#contents.touch(content);
    return content?.view();
  }

  async verify(view: CachedContent, range?: ByteRange): Promise<CachedContent | undefined> {
    this.#assertOpen("verify cached content");
    const content = this.#contents.get(view.id);
    if (content === undefined) return undefined;
    await this.#verifier.verify(content, range ?? { offset: 0, length: content.sizeBytes });
    return content.isEvicted ? undefined : content.view();
  }

  markUnverified(view: CachedContent): void {
    this.#assertOpen("doubt cached content");
    const content = this.#contents.get(view.id);
    if (content !== undefined && !content.isInUse) content.markUnverified();
  }

  byId(id: number): CachedContent | undefined {
    this.#assertOpen("find cached content");
    return this.#contents.get(id)?.view();
  }

  byOid(oid: Uint8Array): CachedContent | undefined {
    this.#assertOpen("find cached content");
    const row = this.#rows.anyByOid.get(oid);
    const content = row && this.#contents.get(row.id);
    return content?.isReplaced === false ? content.view() : undefined;
  }

  versionsOf(node: number): CachedContent[] {
    this.#assertOpen("find cached content");
    return this.#contents.views(this.#rows.versionsOf.all(node));
  }

  lately(countMax: number, aboveBytes: number): CachedContent[] {
    return this.#contents.views(this.#rows.lately.all(this.#contents.lastUse, aboveBytes, countMax));
  }

  async create(version: VersionId, sizeBytes: number): Promise<Hold> {
    for (;;) {
      this.#assertOpen("make cached content");
      const there = this.#lifecycle.byVersion(version);
      const content = there?.sizeBytes === sizeBytes ? there : this.#make(version, sizeBytes);
      content.holds++;
      await content.file;
      await this.#contents.becomeIdle(content);
      // A file may have been taken in for the version meanwhile.
      if (!content.isReplaced) return this.#holdOf(content);
      this.#release(content.id);
    }
  }

  async startOver(view: CachedContent): Promise<{ hold: Hold; formerEvicted: Promise<void> }> {
    this.#assertOpen("start cached content over");
    const former = this.#contents.require(view);
    const { sizeBytes } = former;
    const content = this.#contents.insert(sizeBytes, undefined, former.id);
    content.holds++;
    try {
      content.file = this.#lifecycle.track(this.#withSpace(0, () => this.#files.make(content.id, sizeBytes)));
      await content.file;
      if (former.node === 0 || former.isEvicted) throw goneError();
    } catch (error) {
      await this.#lifecycle.remove(content);
      throw error;
    }
    const { node, seq, recipe, oid } = former;
    this.#lifecycle.identify(content, { version: { node, seq }, sizeBytes, recipe: undefined, oid: undefined });
    if (recipe !== undefined && oid !== undefined) this.#lifecycle.name(content, recipe, oid);
    return { hold: this.#holdOf(content), formerEvicted: former.removed.promise };
  }

  /** Makes a content and its file; without the file it is evicted again. */
  #make(version: VersionId, sizeBytes: number): Content {
    const content = this.#contents.insert(sizeBytes);
    this.#lifecycle.identify(content, { version, sizeBytes, recipe: undefined, oid: undefined });
    const making = this.#withSpace(0, () => this.#files.make(content.id, sizeBytes)).catch(async (error: unknown) => {
      content.file = undefined;
      await this.#lifecycle.remove(content);
      throw error;
    });
    content.file = this.#lifecycle.track(making);
    return content;
  }

  async adopt(
    path: string,
    { version, sizeBytes, recipe, oid }: VersionContent,
    unverified: readonly ByteRange[] = [],
    absent: readonly ByteRange[] = [],
  ): Promise<CachedContent> {
    this.#assertOpen("take in a file");
    checkRecipe(recipe, sizeBytes);
    const content = this.#contents.insert(sizeBytes);
    return this.#lifecycle.working(content, async () => {
      try {
        await this.#withSpace(sizeBytes, () => takeIn(path, content, this.#files, this.#options));
        if (content.isEvicted) throw goneError();
      } catch (error) {
        await this.#lifecycle.remove(content);
        throw error;
      }
      const present = missingIn(absent, { offset: 0, length: sizeBytes });
      const unverifiedHere = unverified.flatMap((range) => missingIn(absent, range));
      this.#lifecycle.complete(content, { version, sizeBytes, recipe, oid }, present, unverifiedHere, undefined);
      return content.view();
    });
  }

  async edit(
    view: CachedContent,
    { holds, release }: { holds: number; release(): boolean },
    { version, sizeBytes, recipe, oid }: VersionContent,
    { keptBytes, pieces }: Edit,
  ): Promise<CachedContent> {
    this.#assertOpen("edit cached content");
    checkRecipe(recipe, sizeBytes);
    const old = this.#contents.require(view);
    const isBusy = old.holds !== holds || old.working > 0 || old.verifying !== undefined;
    if (isBusy || !release()) throw new RunnelError("Busy", "edit cached content", "The content is in use.");
    const next = this.#db.atomic(() => {
      this.#contents.remove(old);
      return this.#contents.insert(sizeBytes, old.lineage);
    });
    return this.#lifecycle.working(next, async () => {
      try {
        await this.#contents.becomeIdle(old);
        await this.#files.move(old.id, next.id);
        const file = await this.#contents.file(next);
        if (keptBytes < old.sizeBytes) await file.truncate(keptBytes);
        if (keptBytes !== sizeBytes) await file.truncate(sizeBytes);
      } catch (error) {
        if (old.recipe !== undefined) this.#chunks.remove(old.lineage, old.recipe);
        await this.#lifecycle.remove(next);
        throw error;
      }
      // All of it, but for what the old one lacks, and what is still to be written.
      const absent = [...old.absent({ offset: 0, length: keptBytes }), ...pieces];
      const present: ByteRange[] = [{ offset: 0, length: sizeBytes }];
      for (const range of absent) removeRange(present, range);
      const unverified = present.flatMap((range) => presentIn(old.unverified, range));
      this.#lifecycle.complete(next, { version, sizeBytes, recipe, oid }, present, unverified, old);
      for (const piece of pieces) if (!(await this.#put(next, piece))) break;
      return next.view();
    });
  }

  /** False when it could not be written: it is fetched when it is read. */
  async #put(content: Content, { file, from, offset, length }: Edit["pieces"][number]): Promise<boolean> {
    const target = await this.#contents.file(content);
    try {
      for (let done = 0; done < length;) {
        const left = length - done;
        const copied = await this.#withSpace(left, () => target.copyFrom(file, from + done, offset + done, left));
        if (copied === 0) return false;
        this.#wasWritten(content, offset + done, copied);
        done += copied;
      }
      return true;
    } catch (error) {
      if (isRunnelError(error, "NoSpace", "Io")) return false;
      throw error;
    }
  }

  setRecipe(view: CachedContent, recipe: Recipe, oid: Uint8Array, isMadeHere = false): CachedContent {
    this.#assertOpen("name cached content");
    const content = this.#contents.require(view);
    checkRecipe(recipe, content.sizeBytes);
    if (content.oid !== undefined && Buffer.compare(content.oid, oid) === 0) return content.view();
    this.#lifecycle.name(content, recipe, oid);
    if (isMadeHere) this.#rows.removeRuns.run(content.id);
    else content.markUnverified();
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

  absent(view: CachedContent, range: ByteRange): ByteRange[] {
    this.#assertOpen("read cache");
    return this.#contents.require(view).absent(range);
  }

  async write(view: CachedContent, offset: number, bytes: Uint8Array, written: Written = "chunks"): Promise<void> {
    this.#assertOpen("write cache");
    const content = this.#contents.require(view);
    checkWithin(content, offset, bytes.length);
    await this.#lifecycle.working(content, async () => {
      const file = await this.#contents.file(content);
      await this.#withSpace(bytes.length, () => file.write(offset, bytes));
      if (content.recipe === undefined || written === "range")
        await this.#verifier.wasWrittenWithoutRecipe(
          content,
          offset,
          bytes,
          typeof written === "string" ? undefined : written,
        );
      this.#wasWritten(content, offset, bytes.length);
      if (written === "range") await this.#verifier.verifyCompleted(content, { offset, length: bytes.length });
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
    await this.#lifecycle.working(to, () =>
      this.#lifecycle.working(from, async () => {
        await this.#verifier.verify(from, { offset: fromOffset, length });
        if (!holdsRange(from.ranges, fromOffset, length)) throw lackingError();
        const [source, target] = [await this.#contents.file(from), await this.#contents.file(to)];
        const copied = await target.copyFrom(source, fromOffset, offset, length);
        if (copied !== length) throw lackingError();
        this.#wasWritten(to, offset, length);
      }),
    );
  }

  async read(view: CachedContent, offset: number, length: number): Promise<Uint8Array> {
    this.#assertOpen("read cache");
    const content = this.#contents.require(view);
    return this.#lifecycle.working(content, async () => {
      await this.#verifier.verify(content, { offset, length });
      if (!holdsRange(content.ranges, offset, length)) throw lackingError();
      const bytes = await (await this.#contents.file(content)).read(offset, length);
      if (bytes.length !== length) throw lackingError();
      return bytes;
    });
  }

  openFile(view: CachedContent): Promise<DiskFile> {
    this.#assertOpen("read cache");
    return this.#files.open(this.#contents.require(view).id, "read");
  }

  findChunks(digests: Uint8Array): (FoundChunk | undefined)[] {
    this.#assertOpen("find chunks");
    return this.#chunks.find(digests);
  }

  chunkKeys(after: bigint | undefined, most: number): bigint[] {
    this.#assertOpen("list chunks");
    return this.#chunks.keys(after, most);
  }

  hold(view: CachedContent): Hold {
    this.#assertOpen("hold cached content");
    const content = this.#contents.require(view);
    content.holds++;
    return this.#holdOf(content);
  }

  /** Returns the hold that the content has just been counted for. */
  #holdOf(content: Content): Hold {
    let isHeld = true;
    return {
      content: content.view(),
      [Symbol.dispose]: () => {
        if (isHeld) this.#release(content.id);
        isHeld = false;
      },
    };
  }

  #release(id: number): void {
    if (this.#closing !== undefined) return;
    const content = this.#contents.get(id);
    if (content === undefined) return;
    content.holds--;
    this.#contents.touch(content);
    // A failure to close a file loses nothing: what it wrote counts as unsynced.
    this.#lifecycle.track(this.#lifecycle.wasUsed(content)).catch(() => {});
  }

  usedBytes(): number {
    return this.#contents.usedBytes;
  }

  async evict(budgetBytes: number): Promise<void> {
    this.#assertOpen("evict");
    const { clock } = this.#options;
    if (clock.bootMs() < this.#keptUntilMs && this.#contents.usedBytes <= this.#keptBytes) return;
    this.#contents.store();
    const last = this.#contents.lastUse;
    let isAllKept = true;
    let after = -1;
    while (this.#contents.usedBytes > budgetBytes && this.#closing === undefined) {
      const batch = this.#rows.leastUsed.all(after, last);
      if (batch.length === 0) {
        if (isAllKept) [this.#keptUntilMs, this.#keptBytes] = [clock.bootMs() + ALL_KEPT_MS, this.#contents.usedBytes];
        return;
      }
      for (const { id, used } of batch) {
        after = used;
        const content = this.#contents.get(id);
        // A kept one goes behind all others: the next eviction does not come across it again.
        if (content !== undefined && this.#isKept({ node: content.node, seq: content.seq })) {
          this.#contents.touch(content);
          continue;
        }
        isAllKept = false;
        if (content === undefined || content.isInUse) continue;
        if (this.#contents.usedBytes <= budgetBytes || this.#closing !== undefined) return;
        await this.#lifecycle.remove(content);
      }
      await new Promise<void>(nextTurn);
    }
  }

  async remove(view: CachedContent): Promise<number | undefined> {
    this.#assertOpen("remove cached content");
    const content = this.#contents.get(view.id);
    if (content === undefined) return 0;
    if (content.isInUse) return undefined;
    const bytes = sumOf(content.held);
    await this.#lifecycle.remove(content);
    return content.isEvicted ? bytes : undefined;
  }

  keep(isKept: (version: VersionId) => boolean): void {
    this.#isKept = isKept;
  }

  /** Performs `work`; on a full disk what was used longest ago is evicted for it. */
  async #withSpace<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!isRunnelError(error, "NoSpace") || this.#closing !== undefined) throw error;
    }
    await this.evict(Math.max(0, this.#contents.usedBytes - bytes - SPARE_BYTES));
    return work();
  }

  onEvicting(mayEvict: (id: number) => boolean): void {
    this.#lifecycle.onEvicting(mayEvict);
  }

  onDamaged(report: (version: VersionId, bytes: number) => void): void {
    this.#verifier.onDamaged(report);
  }

  onIndexDamage(report: (sentence: string) => void): void {
    this.#db.onDamage(report);
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
      if (content !== undefined) this.#lifecycle.replace(content);
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#lifecycle.settled();
    try {
      this.#contents.store();
    } finally {
      for (const content of this.#contents.loaded()) {
        content.holds = 0;
        await this.#contents.becomeIdle(content);
      }
      this.#contents.stop();
      this.#chunks.close();
      this.#db.close();
    }
  }

  #wasWritten(content: Content, offset: number, length: number): void {
    if (content.isEvicted) throw goneError();
    const range = { offset, length };
    const added = sumOf(content.absent(range));
    addRange(content.ranges, range);
    removeRange(content.unverified, range);
    this.#contents.wasChanged(content, added);
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
