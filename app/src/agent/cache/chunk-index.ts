// Finds the lineage of contents that has a chunk with a given digest key. A hint: rows may be missing, stale or wrong.
// Filled and cleared in slices, so that a large file does not hold up the event loop.
import type { Clock, Recipe, Timer } from "@runnel/shared";
import { DIGEST_BYTES, concatRecipes, digestAt, digestKey, sliceRecipe } from "@runnel/shared";
import type { IndexDatabase } from "../replica/database.ts";
import type { ContentStatements } from "./content-index.ts";
import type { FoundChunk } from "./cache.ts";
import type { ContentTable } from "./content-table.ts";
import type { Content } from "./content.ts";
import type { RecipeDifference } from "./recipe-difference.ts";
import { changedChunks } from "./recipe-difference.ts";

/** Rows written at a time: about 10 ms. */
const SLICE_ROWS = 4096;
const SLICE_DELAY_MS = 1;
const LEAST_KEY = -(2n ** 63n);

interface Job {
  lineage: number;
  recipe: Recipe;
  at: number;
  to: number;
  /** The content whose rows are added; undefined: rows are removed. */
  content: Content | undefined;
}

interface ChunkIndexDeps {
  db: IndexDatabase;
  rows: ContentStatements;
  contents: ContentTable;
  clock: Clock;
}

export class ChunkIndex {
  readonly #deps: ChunkIndexDeps;
  readonly #jobs: Job[] = [];
  #timer: Timer | undefined;

  constructor(deps: ChunkIndexDeps) {
    this.#deps = deps;
  }

  /** The content stands in its lineage where `old` stood, if anything did: only what differs is written. */
  replace(old: Content | undefined, content: Content): void {
    if (content.recipe === undefined) return;
    const changed = changedChunks(old?.recipe, old?.indexed ?? 0, content.recipe);
    this.#add(content, content.recipe, changed.from, changed.to);
    if (old?.recipe !== undefined) this.remove(content.lineage, chunksGone(old.recipe, changed, content));
  }

  /** Goes on with all that a former process did not index to the end. */
  resumeAll(unfinished: readonly { id: number }[]): void {
    for (const { id } of unfinished) {
      const content = this.#deps.contents.get(id);
      if (content !== undefined) this.resume(content);
    }
  }

  /** Continues where a former process stopped. */
  resume(content: Content): void {
    if (content.recipe !== undefined)
      this.#add(content, content.recipe, content.indexed, content.recipe.lengths.length);
  }

  /** Removes rows of a lineage: all when it has ended. */
  remove(lineage: number, recipe: Recipe): void {
    if (recipe.lengths.length > 0) {
      this.#begin({ lineage, recipe, at: 0, to: recipe.lengths.length, content: undefined });
    }
  }

  find(digests: Uint8Array): (FoundChunk | undefined)[] {
    // Chunks that are looked for together are mostly found together: in the last content that had one.
    let last: Content | undefined;
    return Array.from({ length: digests.length / DIGEST_BYTES }, (_, at) => {
      const digest = digests.subarray(at * DIGEST_BYTES, (at + 1) * DIGEST_BYTES);
      const near = last && presentChunk(last, digest);
      if (near !== undefined) return near;
      for (const { lineage } of this.#deps.rows.lineagesOf.all(rowKey(digest))) {
        const row = this.#deps.rows.byLineage.get(lineage);
        const content = row && this.#deps.contents.get(row.id);
        if (content === undefined) this.#deps.rows.removeChunk.run(rowKey(digest), lineage);
        const found = content && presentChunk(content, digest);
        if (found === undefined) continue;
        last = content;
        return found;
      }
      return undefined;
    });
  }

  /** Ascending as signed numbers, behind `after`. */
  keys(after: bigint | undefined, most: number): bigint[] {
    // The least key of all is left out: so are others by mere chance, and it is a hint.
    return this.#deps.rows.keysAfter.all(after ?? LEAST_KEY, most).map(({ key }) => BigInt(key));
  }

  close(): void {
    this.#timer?.cancel();
    if (this.#jobs.some((job) => job.content === undefined)) this.#deps.rows.sweepChunks.run();
    this.#jobs.length = 0;
  }

  #add(content: Content, recipe: Recipe, from: number, to: number): void {
    if (content.indexed !== from) this.#deps.rows.setIndexed.run(from, content.id);
    content.indexed = from;
    this.#begin({ lineage: content.lineage, recipe, at: from, to, content });
  }

  #begin(job: Job): void {
    this.#jobs.push(job);
    if (this.#jobs.length === 1) this.#slice();
  }

  #slice(): void {
    this.#timer = undefined;
    const job = this.#jobs[0];
    if (job === undefined) return;
    const isMoot = job.content !== undefined && (job.content.isEvicted || job.content.recipe !== job.recipe);
    if (isMoot || this.#write(job)) this.#jobs.shift();
    if (this.#jobs.length > 0) this.#timer = this.#deps.clock.after(SLICE_DELAY_MS, () => this.#slice());
  }

  /** Returns whether the job is at its end. */
  #write(job: Job): boolean {
    const query = job.content === undefined ? this.#deps.rows.removeChunk : this.#deps.rows.putChunk;
    const until = Math.min(job.to, job.at + SLICE_ROWS);
    this.#deps.db.atomic(() => {
      for (; job.at < until; job.at++) query.run(rowKey(digestAt(job.recipe, job.at)), job.lineage);
      if (job.content === undefined) return;
      // Chunks behind `to` were in the index before.
      job.content.indexed = job.at < job.to ? job.at : job.recipe.lengths.length;
      this.#deps.rows.setIndexed.run(job.content.indexed, job.content.id);
    });
    return job.at >= job.to;
  }
}

function presentChunk(content: Content, digest: Uint8Array): FoundChunk | undefined {
  const index = content.indexOf(digest);
  const [offset, length] = [content.offsets()[index], content.recipe?.lengths[index]];
  if (offset === undefined || length === undefined || content.absent({ offset, length }).length > 0) return undefined;
  return { content: content.view(), index, offset, length };
}

/** Chunks that an edit took away. */
function chunksGone(old: Recipe, changed: RecipeDifference, content: Content): Recipe {
  const dropped: Recipe[] = [];
  for (let index = changed.from; index < changed.oldTo; index++) {
    if (content.indexOf(digestAt(old, index)) < 0) dropped.push(sliceRecipe(old, index, index + 1));
  }
  return concatRecipes(dropped);
}

/** SQLite's integers are signed. */
function rowKey(digest: Uint8Array): bigint {
  return BigInt.asIntN(64, digestKey(digest));
}
