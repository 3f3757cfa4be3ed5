// Finds where a recipe has a chunk, and which chunks of another one it has. Chunks that two recipes have in common are
// compared many at a time, and only those that differ are looked up: the work is that of the edit between them, but for
// a table of the one that is looked in, made once. Pure.
import type { Recipe } from "./recipe.ts";
import { DIGEST_BYTES } from "./recipe.ts";

/** Odd, and of this process alone: nobody can choose chunks that all have one slot. */
const FACTORS = Array.from(crypto.getRandomValues(new Uint32Array(2)), (factor) => factor | 1) as [number, number];

/** Recipes do not change, and are looked in again and again. */
const indexes = new WeakMap<Recipe, RecipeIndex>();

export class RecipeIndex {
  private readonly recipe: Recipe;
  /**
   * Open addressing, at most half full: slot → index + 1. Of equal chunks the first. Built in a millisecond per 100,000
   * chunks.
   */
  private readonly table: Uint32Array;

  private constructor(recipe: Recipe) {
    const count = recipe.lengths.length;
    this.recipe = recipe;
    this.table = new Uint32Array(2 ** Math.ceil(Math.log2(2 * count + 2)));
    for (let index = 0; index < count; index++) {
      const slot = this.slotOf(recipe.digests, index * DIGEST_BYTES);
      if (this.table[slot] === 0) this.table[slot] = index + 1;
    }
  }

  static of(recipe: Recipe): RecipeIndex {
    const known = indexes.get(recipe);
    if (known !== undefined) return known;
    const made = new RecipeIndex(recipe);
    indexes.set(recipe, made);
    return made;
  }

  /** Index of the first chunk with the digest that stands at `offset` of `digests`, or -1. */
  indexOf(digests: Uint8Array, offset = 0): number {
    return (this.table[this.slotOf(digests, offset)] ?? 0) - 1;
  }

  /** Returns the slot where the digest stands, or the free one where it would. */
  private slotOf(digests: Uint8Array, offset: number): number {
    const mask = this.table.length - 1;
    const mixed = Math.imul(wordAt(digests, offset), FACTORS[0]) + Math.imul(wordAt(digests, offset + 4), FACTORS[1]);
    let slot = ((mixed ^ (mixed >>> 15)) >>> 0) & mask;
    for (let held = this.table[slot] ?? 0; held !== 0; held = this.table[slot] ?? 0) {
      if (isSameDigest(this.recipe.digests, (held - 1) * DIGEST_BYTES, digests, offset)) return slot;
      slot = (slot + 1) & mask;
    }
    return slot;
  }
}

/**
 * Returns for each chunk of a recipe its place in the base, -1 where it has none. A chunk that the base has several
 * times is placed where the run before it goes on, if it is there.
 */
export function chunkPlaces(recipe: Recipe, base: Recipe): Int32Array {
  const places = new Int32Array(recipe.lengths.length).fill(-1);
  let next = 0;
  for (let index = 0; index < places.length;) {
    const at = sameRun(recipe, index, base, next) > 0 ? next : firstPlaceOf(recipe, index, base);
    if (at < 0) {
      index++;
      continue;
    }
    const run = sameRun(recipe, index, base, at);
    for (let count = 0; count < run; count++) places[index + count] = at + count;
    index += run;
    next = at + run;
  }
  return places;
}

/** Returns the first place where the base has this chunk, or -1. */
export function firstPlaceOf(recipe: Recipe, index: number, base: Recipe): number {
  const at = RecipeIndex.of(base).indexOf(recipe.digests, index * DIGEST_BYTES);
  return at >= 0 && base.lengths[at] === recipe.lengths[index] ? at : -1;
}

/** Counts the chunks from `index` on that the base has from `at` on. */
export function sameRun(recipe: Recipe, index: number, base: Recipe, at: number): number {
  const most = Math.min(recipe.lengths.length - index, base.lengths.length - at);
  if (most <= 0 || !isSameDigest(recipe.digests, index * DIGEST_BYTES, base.digests, at * DIGEST_BYTES)) return 0;
  const [ours, theirs] = [bufferOf(recipe.digests), bufferOf(base.digests)];
  const isSame = (from: number, count: number): boolean =>
    ours.compare(
      theirs,
      (at + from) * DIGEST_BYTES,
      (at + from + count) * DIGEST_BYTES,
      (index + from) * DIGEST_BYTES,
      (index + from + count) * DIGEST_BYTES,
    ) === 0;
  let run = 0;
  let step = 1;
  for (let isGrowing = true; run < most && step > 0;) {
    const count = Math.min(step, most - run);
    if (isSame(run, count)) {
      run += count;
      if (isGrowing) step *= 2;
    } else {
      isGrowing = false;
      step = count >> 1;
    }
  }
  // A recipe that was made up may say another length for the same digest.
  let said = 0;
  while (said < run && recipe.lengths[index + said] === base.lengths[at + said]) said++;
  return said;
}

function wordAt(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0);
}

function isSameDigest(one: Uint8Array, at: number, other: Uint8Array, otherAt: number): boolean {
  for (let byte = 0; byte < DIGEST_BYTES; byte++) if (one[at + byte] !== other[otherAt + byte]) return false;
  return true;
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
