// A recipe said as a delta: runs of chunks of recipes that both sides hold, and descriptors for the rest (rule W31).
// Pure.
import { RunnelError } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import { RecipeIndex } from "../model/recipe-index.ts";
import type { Recipe } from "../model/recipe.ts";
import { DESCRIPTOR_BYTES, concatRecipes, decodeRecipe, digestAt, encodeRecipe, sliceRecipe } from "../model/recipe.ts";

/** [index of the held recipe, first chunk, chunks], or encoded descriptors. */
export type RecipePart = [number, number, number] | Uint8Array;

/** Finds where a chunk is in the held recipes: place by digest. */
export class HeldChunks {
  private readonly held: readonly Recipe[];

  constructor(held: readonly Recipe[]) {
    this.held = held;
  }

  find(digest: Uint8Array, length: number): { held: number; index: number } | undefined {
    for (const [held, recipe] of this.held.entries()) {
      const index = RecipeIndex.of(recipe).indexOf(digest);
      if (index >= 0 && recipe.lengths[index] === length) return { held, index };
    }
    return undefined;
  }

  isAt(place: { held: number; index: number }, digest: Uint8Array, length: number): boolean {
    const recipe = this.held[place.held];
    if (recipe?.lengths[place.index] !== length) return false;
    return Buffer.compare(digestAt(recipe, place.index), digest) === 0;
  }
}

/** Greedy: a run goes on in the held recipe it is in as long as it matches. */
export function encodeRecipeDelta(recipe: Recipe, held: HeldChunks): RecipePart[] {
  const parts: RecipePart[] = [];
  let literalFrom = 0;
  let index = 0;
  const flush = (): void => {
    if (literalFrom < index) parts.push(encodeRecipe(sliceRecipe(recipe, literalFrom, index)));
  };
  while (index < recipe.lengths.length) {
    const place = held.find(digestAt(recipe, index), recipe.lengths[index] ?? 0);
    if (place === undefined) {
      index++;
      continue;
    }
    flush();
    const from = index;
    let next = place;
    while (index < recipe.lengths.length && held.isAt(next, digestAt(recipe, index), recipe.lengths[index] ?? 0)) {
      index++;
      next = { held: place.held, index: next.index + 1 };
    }
    parts.push([place.held, place.index, index - from]);
    literalFrom = index;
  }
  flush();
  return parts;
}

/** Splits parts into lists that fit a control item each. */
export function splitRecipeParts(parts: readonly RecipePart[]): RecipePart[][] {
  const lists: RecipePart[][] = [[]];
  let bytes = 0;
  const add = (part: RecipePart, size: number): void => {
    if (bytes + size > LIST_BYTES_MAX) {
      lists.push([]);
      bytes = 0;
    }
    lists.at(-1)?.push(part);
    bytes += size;
  };
  for (const part of parts) {
    if (!(part instanceof Uint8Array)) add(part, RUN_BYTES);
    else for (let at = 0; at < part.length; at += PIECE_BYTES) add(part.subarray(at, at + PIECE_BYTES), PIECE_BYTES);
  }
  return lists;
}

/** A control item holds 1 MiB; the rest is for its frame. */
const LIST_BYTES_MAX = 768 * 1024;
/** Whole descriptors. */
const PIECE_BYTES = DESCRIPTOR_BYTES * 4096;
/** Three numbers, at their longest. */
const RUN_BYTES = 28;

/**
 * `chunksMax`: those that the recipe may still have, of which these are a part. @throws RunnelError Invalid when a part
 * names chunks that the held recipes do not have, TooLarge past `chunksMax` (a few bytes of runs could ask for any
 * memory: counted before anything is copied), Corrupt for descriptors that are none.
 */
export function decodeRecipeDelta(
  parts: readonly RecipePart[],
  held: readonly Recipe[],
  chunksMax: number = LIMITS.recipeDescriptors,
): Recipe {
  let chunks = 0;
  for (const part of parts) chunks += part instanceof Uint8Array ? Math.ceil(part.length / DESCRIPTOR_BYTES) : part[2];
  if (chunks > chunksMax) {
    throw new RunnelError("TooLarge", "decode recipe", "A recipe has too many chunks.", {
      detail: { limit: LIMITS.recipeDescriptors, rule: "W31" },
    });
  }
  return concatRecipes(
    parts.map((part) => {
      if (part instanceof Uint8Array) return decodeRecipe(part);
      const [which, from, count] = part;
      const recipe = held[which];
      if (recipe === undefined || from + count > recipe.lengths.length) {
        throw new RunnelError("Invalid", "decode recipe", "A recipe names chunks that are not there.", {
          detail: { rule: "W31" },
        });
      }
      return sliceRecipe(recipe, from, from + count);
    }),
  );
}
