// The contents of the cache: those in use or used lately in memory, all of them in the index. Owns what is written to
// the index and when: ranges go there after their bytes, at the latest a second later, when nobody holds the content
// any more, and at close.
import type { Clock, DiskFile, Timer } from "@runnel/shared";
import { RunnelError, isRunnelError } from "@runnel/shared";
import type { IndexDatabase } from "../replica/database.ts";
import type { CachedContent } from "./cache.ts";
import { type ContentFiles, isSameFolder } from "./content-files.ts";
import { type ContentRow, type ContentStatements, removeRows } from "./content-index.ts";
import { Content } from "./content.ts";
import { encodeRanges, sumOf } from "./ranges.ts";

/** Contents kept in memory that nobody holds. */
const LOADED_MAX = 512;
const STORE_DELAY_MS = 1000;
/** Files kept open of contents that are held and that nobody works with just now. */
const IDLE_MAX = 32;

interface ContentTableDeps {
  db: IndexDatabase;
  rows: ContentStatements;
  files: ContentFiles;
  clock: Clock;
}

/** Columns of a row without version, recipe and bytes. */
const NEW_ROW = { node: 0, version: 0, oid: null, present: new Uint8Array(0), held: 0, indexed: 0 };

export class ContentTable {
  readonly #deps: ContentTableDeps;
  /** Insertion order is the order of last use. */
  readonly #loaded = new Map<number, Content>();
  readonly #changed = new Set<Content>();
  /** Held contents with an open file that nobody works with, the longest first. */
  readonly #idle = new Set<Content>();
  /** Last uses that the index does not know yet. */
  readonly #uses = new Map<number, number>();
  #lastUse: number;
  #lastId: number;
  #timer: Timer | undefined;
  #isStopped = false;
  #usedBytes: number;

  constructor(deps: ContentTableDeps) {
    this.#deps = deps;
    const { rows } = deps;
    const totals = rows.totals.get();
    this.#usedBytes = totals?.held ?? 0;
    this.#lastUse = totals?.used ?? 0;
    this.#lastId = rows.lastId.get()?.seq ?? 0;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Number of the last use so far. */
  get lastUse(): number {
    return this.#lastUse;
  }

  get(id: number): Content | undefined {
    const known = this.#loaded.get(id);
    if (known !== undefined) {
      this.#loaded.delete(id);
      this.#loaded.set(id, known);
      return known;
    }
    const row = this.#deps.rows.byId.get(id);
    if (row === undefined) return undefined;
    const content = this.#read(row);
    if (content === undefined) return undefined;
    this.#load(content);
    return content;
  }

  /** An addon's list may be of another realm, as in a test: a list of our own goes into messages. */
  views(rows: readonly { id: number }[]): CachedContent[] {
    return [...rows].flatMap(({ id }) => this.get(id)?.view() ?? []);
  }

  #load(content: Content): void {
    this.#loaded.set(content.id, content);
    this.#unload(content);
  }

  /** @throws RunnelError Gone. */
  require(view: CachedContent): Content {
    const content = this.get(view.id);
    if (content === undefined) throw goneError();
    return content;
  }

  /**
   * Inserts a row without version, recipe and bytes. `lineage` undefined begins one. `near`: its file is to lie in the
   * folder of that content's, which is there: a full disk has space for a name, but not for a folder.
   */
  insert(sizeBytes: number, lineage?: number, near?: number): Content {
    let id = this.#lastId + 1;
    if (near !== undefined) while (!isSameFolder(id, near)) id++;
    const row = { id, lineage: lineage ?? id, ...NEW_ROW, size: sizeBytes, used: ++this.#lastUse };
    this.#deps.rows.insert.run(id, row.lineage, 0, 0, sizeBytes, row.used);
    this.#lastId = id;
    const content = new Content(row, undefined, this.#deps.files.pathOf(id));
    this.#load(content);
    return content;
  }

  /** The content has been used: it is the last to be evicted. */
  touch(content: Content): void {
    this.#uses.set(content.id, ++this.#lastUse);
    this.#arm();
  }

  /** Bytes were written or dropped: the index learns of it later. */
  wasChanged(content: Content, addedBytes: number): void {
    this.#usedBytes += addedBytes;
    content.isChanged = true;
    this.#changed.add(content);
    this.#arm();
  }

  /** Removes the content from table and index; its file is the caller's to remove. */
  remove(content: Content): void {
    this.#deps.db.atomic(() => removeRows(this.#deps.rows, content.id));
    content.isEvicted = true;
    this.#usedBytes -= sumOf(content.ranges) + sumOf(content.unverified);
    this.#loaded.delete(content.id);
    this.#changed.delete(content);
    this.#idle.delete(content);
    this.#uses.delete(content.id);
  }

  /** Writes to the index what it does not know yet. */
  store(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#changed.size === 0 && this.#uses.size === 0) return;
    this.#deps.db.atomic(() => {
      for (const content of this.#changed) this.#storeOne(content);
      for (const [id, use] of this.#uses) this.#deps.rows.setUsed.run(use, id);
    });
    this.#changed.clear();
    this.#uses.clear();
  }

  storeContent(content: Content): void {
    if (!this.#changed.delete(content)) return;
    this.#storeOne(content);
  }

  /**
   * The content's file, opened for writing. It stays open while the content is worked with, and then for as long as
   * `rest` says.
   */
  file(content: Content): Promise<DiskFile> {
    this.#idle.delete(content);
    content.file ??= this.#deps.files.open(content.id, "write").catch((error: unknown) => {
      content.file = undefined;
      throw error;
    });
    return content.file;
  }

  /**
   * Called when nobody works with the content just now: its file is closed when nobody holds it, else once those of
   * many others rest too.
   */
  async becomeIdle(content: Content): Promise<void> {
    if (content.working > 0 || content.verifying !== undefined) return;
    this.#idle.delete(content);
    if (content.holds === 0) return this.#closeFile(content);
    if (content.file === undefined) return;
    this.#idle.add(content);
    const [oldest] = this.#idle;
    if (oldest === undefined || this.#idle.size <= IDLE_MAX) return;
    this.#idle.delete(oldest);
    await this.#closeFile(oldest);
  }

  async #closeFile(content: Content): Promise<void> {
    const file = content.file;
    content.file = undefined;
    await (await file?.catch(() => undefined))?.close();
  }

  /** Stops writing by itself. */
  stop(): void {
    this.store();
    this.#isStopped = true;
  }

  loaded(): Content[] {
    return [...this.#loaded.values()];
  }

  /** A row that cannot be read is dropped: it can be fetched again. Its file is unknown at the next opening. */
  #read(row: ContentRow): Content | undefined {
    try {
      return new Content(row, this.#deps.rows.recipe.get(row.id)?.recipe, this.#deps.files.pathOf(row.id));
    } catch (error) {
      if (!isRunnelError(error, "Corrupt", "TooLarge")) throw error;
      removeRows(this.#deps.rows, row.id);
      this.#usedBytes -= row.held;
      return undefined;
    }
  }

  #storeOne(content: Content): void {
    content.isChanged = false;
    const { held } = content;
    this.#deps.rows.setPresent.run(encodeRanges(held), sumOf(held), content.id);
  }

  /** `kept` is about to be used: there must never be two objects of one content. */
  #unload(kept: Content): void {
    if (this.#loaded.size <= LOADED_MAX) return;
    for (const [id, content] of this.#loaded) {
      if (this.#loaded.size <= LOADED_MAX) return;
      if (content === kept || content.isInUse || content.file !== undefined || content.isReplaced) continue;
      this.storeContent(content);
      this.#loaded.delete(id);
    }
  }

  #arm(): void {
    if (this.#isStopped) return;
    this.#timer ??= this.#deps.clock.after(STORE_DELAY_MS, () => {
      this.#timer = undefined;
      this.store();
    });
  }
}

export function goneError(): RunnelError {
  return new RunnelError("Gone", "use cache", "The cache no longer holds this content.");
}

export function lackingError(): RunnelError {
  return new RunnelError("Gone", "read cache", "The cache does not hold these bytes.");
}
