// Which lineage of contents has a chunk with a given digest key. A hint: rows may be missing, stale or wrong. Filled and cleared in
// slices, so that a large file does not hold up the event loop.
import type { Clock, Recipe, Timer } from "@runnel/shared";
import { digestAt, digestKey } from "@runnel/shared";
import type { IndexDatabase } from "../replica/database.ts";
import type { ContentStatements } from "./content-index.ts";
import type { Content } from "./content.ts";

/** Rows written at a time: about 10 ms. */
const SLICE_ROWS = 4096;
const SLICE_DELAY_MS = 1;

interface Job {
  lineage: number;
  recipe: Recipe;
  at: number;
  to: number;
  /** The content whose rows are added; undefined: rows are removed. */
  content: Content | undefined;
}

export class ChunkIndex {
  readonly #db: IndexDatabase;
  readonly #rows: ContentStatements;
  readonly #clock: Clock;
  readonly #jobs: Job[] = [];
  #timer: Timer | undefined;

  constructor(db: IndexDatabase, rows: ContentStatements, clock: Clock) {
    this.#db = db;
    this.#rows = rows;
    this.#clock = clock;
  }

  /** Adds the chunks [from, to) of the content's recipe; the others are in the index already. */
  add(content: Content, from: number, to: number): void {
    if (content.recipe === undefined) return;
    this.#rows.setIndexed.run(from, content.id);
    content.indexed = from;
    this.#begin({ lineage: content.lineage, recipe: content.recipe, at: from, to, content });
  }

  /** Removes the rows of a lineage that has ended. */
  remove(lineage: number, recipe: Recipe): void {
    this.#begin({ lineage, recipe, at: 0, to: recipe.lengths.length, content: undefined });
  }

  /** Lineages that may have the chunk. */
  lineagesOf(digest: Uint8Array): number[] {
    return this.#rows.lineagesOf.all(rowKey(digest)).map((row) => row.lineage);
  }

  forget(digest: Uint8Array, lineage: number): void {
    this.#rows.removeChunk.run(rowKey(digest), lineage);
  }

  close(): void {
    this.#timer?.cancel();
    if (this.#jobs.some((job) => job.content === undefined)) this.#rows.sweepChunks.run();
    this.#jobs.length = 0;
  }

  #begin(job: Job): void {
    this.#jobs.push(job);
    if (this.#jobs.length === 1) this.#slice();
  }

  #slice(): void {
    this.#timer = undefined;
    const job = this.#jobs[0];
    if (job === undefined) return;
    const isMoot = job.content !== undefined && (job.content.isGone || job.content.recipe !== job.recipe);
    if (isMoot || this.#write(job)) this.#jobs.shift();
    if (this.#jobs.length > 0) this.#timer = this.#clock.after(SLICE_DELAY_MS, () => this.#slice());
  }

  /** Returns whether the job is at its end. */
  #write(job: Job): boolean {
    const query = job.content === undefined ? this.#rows.removeChunk : this.#rows.putChunk;
    const until = Math.min(job.to, job.at + SLICE_ROWS);
    this.#db.atomic(() => {
      for (; job.at < until; job.at++) query.run(rowKey(digestAt(job.recipe, job.at)), job.lineage);
      if (job.content === undefined) return;
      // What lies behind `to` was in the index before.
      job.content.indexed = job.at < job.to ? job.at : job.recipe.lengths.length;
      this.#rows.setIndexed.run(job.content.indexed, job.content.id);
    });
    return job.at >= job.to;
  }
}

/** SQLite's integers are signed. */
function rowKey(digest: Uint8Array): bigint {
  return BigInt.asIntN(64, digestKey(digest));
}
