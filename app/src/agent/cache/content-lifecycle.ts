// Lifecycle of a content: the version that it stands for, who works with it, and its eviction once nobody does.
import type { ByteRange } from "@runnel/native/drive";
import type { Recipe, VersionId } from "@runnel/shared";
import { encodeRecipe } from "@runnel/shared";
import type { IndexDatabase } from "../replica/database.ts";
import type { ChunkIndex } from "./chunk-index.ts";
import type { ContentFiles } from "./content-files.ts";
import type { ContentStatements } from "./content-index.ts";
import type { ContentTable } from "./content-table.ts";
import type { Content } from "./content.ts";
import { addRange, removeRange, sumOf } from "./ranges.ts";

export interface Identity {
  version: VersionId;
  sizeBytes: number;
  recipe: Recipe | undefined;
  oid: Uint8Array | undefined;
}

/** Parts of a cache that its classes share. */
export interface CacheParts {
  db: IndexDatabase;
  rows: ContentStatements;
  files: ContentFiles;
  contents: ContentTable;
  chunks: ChunkIndex;
}

export class ContentLifecycle {
  readonly #deps: CacheParts;
  readonly #readers: ((id: number) => boolean)[] = [];
  readonly #operations = new Set<Promise<unknown>>();

  constructor(deps: CacheParts) {
    this.#deps = deps;
  }

  onEvicting(mayEvict: (id: number) => boolean): void {
    this.#readers.push(mayEvict);
  }

  byVersion(version: VersionId): Content | undefined {
    // A file that has just been made has no content.
    const row =
      version.node === 0 || version.seq === 0 ? undefined : this.#deps.rows.byVersion.get(version.node, version.seq);
    return row && this.#deps.contents.get(row.id);
  }

  /** A content of no version with this OID becomes the version's. */
  adoptByOid(version: VersionId, oid: Uint8Array): Content | undefined {
    const row = this.#deps.rows.byOid.get(oid);
    const content = row && this.#deps.contents.get(row.id);
    if (content === undefined || content.isReplaced) return undefined;
    const { sizeBytes, recipe } = content;
    this.identify(content, { version, sizeBytes, recipe, oid: content.oid });
    return content;
  }

  /** The version's former content, if any, belongs to no version from here on. */
  identify(content: Content, { version, sizeBytes, recipe, oid }: Identity): void {
    const former = this.byVersion(version);
    this.#deps.db.atomic(() => {
      if (former !== undefined) this.#deps.rows.identify.run(0, 0, former.sizeBytes, former.oid ?? null, former.id);
      this.#deps.rows.identify.run(version.node, version.seq, sizeBytes, oid ?? null, content.id);
      if (recipe !== undefined && recipe !== content.recipe)
        this.#deps.rows.putRecipe.run(content.id, encodeRecipe(recipe));
    });
    content.identify(version.node, version.seq, sizeBytes, recipe, oid && Uint8Array.from(oid));
    if (former === undefined || former === content) return;
    former.identify(0, 0, former.sizeBytes, former.recipe, former.oid);
    this.replace(former);
  }

  /** Gives it the recipe of its bytes. */
  name(content: Content, recipe: Recipe, oid: Uint8Array): void {
    const { node, seq, sizeBytes } = content;
    this.#deps.db.atomic(() => {
      this.#deps.rows.putRecipe.run(content.id, encodeRecipe(recipe));
      this.#deps.rows.identify.run(node, seq, sizeBytes, oid, content.id);
    });
    content.identify(node, seq, sizeBytes, recipe, Uint8Array.from(oid));
    this.#deps.chunks.replace(undefined, content);
  }

  /**
   * A file that now holds these bytes becomes the content of a version. `old`: what the lineage's chunks in the index
   * are those of.
   */
  complete(
    content: Content,
    identity: Identity,
    present: readonly ByteRange[],
    unverified: readonly ByteRange[],
    old: Content | undefined,
  ): void {
    const ranges: ByteRange[] = [];
    for (const range of present) addRange(ranges, range);
    for (const range of unverified) removeRange(ranges, range);
    const unverifiedRanges: ByteRange[] = [];
    for (const range of unverified) addRange(unverifiedRanges, range);
    this.#deps.db.atomic(() => {
      this.identify(content, identity);
      [content.ranges, content.unverified] = [ranges, unverifiedRanges];
      this.#deps.contents.wasChanged(content, sumOf(ranges) + sumOf(unverifiedRanges));
      this.#deps.contents.storeContent(content);
      this.#deps.chunks.replace(old, content);
    });
  }

  /** Evicts it now, or once nobody holds it. */
  replace(content: Content): void {
    content.isReplaced = true;
    if (!content.isInUse) void this.track(this.remove(content));
  }

  /** close waits for it. */
  track<T>(operation: Promise<T>): Promise<T> {
    const ended = operation.finally(() => this.#operations.delete(ended));
    this.#operations.add(ended);
    return ended;
  }

  /** Performs `work` with the content in use. */
  working<T>(content: Content, work: () => Promise<T>): Promise<T> {
    return this.track(this.#work(content, work));
  }

  async #work<T>(content: Content, work: () => Promise<T>): Promise<T> {
    content.working++;
    try {
      return await work();
    } finally {
      content.working--;
      await this.wasUsed(content);
    }
  }

  /** Somebody has ended using it. */
  async wasUsed(content: Content): Promise<void> {
    if (content.isInUse) return this.#deps.contents.becomeIdle(content);
    if (content.isReplaced && !content.isEvicted) await this.remove(content);
    else {
      if (content.holds === 0) this.#deps.contents.storeContent(content);
      await this.#deps.contents.becomeIdle(content);
    }
  }

  /**
   * Evicts it, unless it is still read from. A file that cannot be removed now is removed at the next opening, being
   * unknown then.
   */
  async remove(content: Content): Promise<void> {
    if (content.isEvicted || !this.#readers.every((mayEvict) => mayEvict(content.id))) return;
    this.#deps.contents.remove(content);
    if (content.recipe !== undefined) this.#deps.chunks.remove(content.lineage, content.recipe);
    content.holds = 0;
    await this.#deps.contents.becomeIdle(content).catch(() => {});
    await this.#deps.files.remove(content.id).catch(() => {});
    content.removed.resolve();
  }

  /** Resolves when nothing that was under way at the call is any more. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#operations);
  }
}
