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

/** Chunks that one of the held recipes has from `at` on, or that none has. */
interface Span {
  held: number | undefined;
  at: number;
  count: number;
}

/** Greedy: a run goes on in the held recipe it is in as long as it matches. */
function* spansOf(recipe: Recipe, held: HeldChunks): Generator<Span> {
  let literalFrom = 0;
  let index = 0;
  while (index < recipe.lengths.length) {
    const place = held.find(digestAt(recipe, index), recipe.lengths[index] ?? 0);
    if (place === undefined) {
      index++;
      continue;
    }
    if (literalFrom < index) yield { held: undefined, at: literalFrom, count: index - literalFrom };
    const from = index;
    let next = place;
    while (index < recipe.lengths.length && held.isAt(next, digestAt(recipe, index), recipe.lengths[index] ?? 0)) {
      index++;
      next = { held: place.held, index: next.index + 1 };
    }
    yield { held: place.held, at: place.index, count: index - from };
    literalFrom = index;
  }
  if (literalFrom < index) yield { held: undefined, at: literalFrom, count: index - literalFrom };
}

function encodeSpan(recipe: Recipe, { held, at, count }: Span): RecipePart {
  return held === undefined ? encodeRecipe(sliceRecipe(recipe, at, at + count)) : [held, at, count];
}

export function encodeRecipeDelta(recipe: Recipe, held: HeldChunks): RecipePart[] {
  return Array.from(spansOf(recipe, held), (span) => encodeSpan(recipe, span));
}

/** Tells whether the descriptors that none of the held recipes has come to at most so many bytes. */
export function isDeltaWithin(recipe: Recipe, held: HeldChunks, bytesMax: number): boolean {
  let bytes = 0;
  for (const { held: from, count } of spansOf(recipe, held)) {
    if (from === undefined) bytes += count * DESCRIPTOR_BYTES;
    if (bytes > bytesMax) return false;
  }
  return true;
}

/** Makes the parts in lists that fit a control item each, one as it is asked for; at least one, which may be empty. */
export function* recipeDeltaLists(recipe: Recipe, held: HeldChunks): Generator<RecipePart[]> {
  let list: RecipePart[] = [];
  let bytes = 0;
  for (const span of spansOf(recipe, held)) {
    const [step, size] = span.held === undefined ? [PIECE_CHUNKS, PIECE_BYTES] : [span.count, RUN_BYTES];
    for (let done = 0; done < span.count; done += step) {
      if (bytes + size > RECIPE_LIST_BYTES) {
        yield list;
        [list, bytes] = [[], 0];
      }
      list.push(encodeSpan(recipe, { ...span, at: span.at + done, count: Math.min(step, span.count - done) }));
      bytes += size;
    }
  }
  yield list;
}

/** A control item holds 1 MiB; the rest is for its frame. */
export const RECIPE_LIST_BYTES = 768 * 1024;
/** Whole descriptors. */
const PIECE_CHUNKS = 4096;
const PIECE_BYTES = DESCRIPTOR_BYTES * PIECE_CHUNKS;
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
