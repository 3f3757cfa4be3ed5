// Recipes as deltas: what is decoded is what was encoded, an edit costs what was edited, and nothing is reserved on a
// peer's word.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { LIMITS } from "../../src/limits.ts";
import type { Recipe } from "../../src/model/recipe.ts";
import { EMPTY_RECIPE, concatRecipes, sliceRecipe } from "../../src/model/recipe.ts";
import { encodeCbor } from "../../src/protocol/cbor.ts";
import type { RecipePart } from "../../src/protocol/recipe-delta.ts";
import {
  HeldChunks,
  decodeRecipeDelta,
  encodeRecipeDelta,
  isDeltaWithin,
  recipeDeltaLists,
} from "../../src/protocol/recipe-delta.ts";

/** A chunk for each number: same number, same digest and length. */
function recipeOf(numbers: readonly number[]): Recipe {
  const digests = new Uint8Array(numbers.length * 32);
  const view = new DataView(digests.buffer);
  for (const [index, number] of numbers.entries()) {
    view.setUint32(index * 32, number >>> 3);
    view.setUint32(index * 32 + 28, number);
  }
  return { lengths: Uint32Array.from(numbers, (number) => 2048 + number), digests };
}

function delta(recipe: Recipe, ...held: Recipe[]): RecipePart[] {
  return encodeRecipeDelta(recipe, new HeldChunks(held));
}

const numbers = fc.array(fc.nat({ max: 40 }), { maxLength: 60 });

describe("a recipe delta", () => {
  test("[W31] is decoded to the recipe, whatever is held", () => {
    fc.assert(
      fc.property(numbers, fc.array(numbers, { maxLength: 3 }), (wanted, others) => {
        const recipe = recipeOf(wanted);
        // Eight numbers share the first 64 bits of their digest: places are hints, digests decide.
        const held = others.map(recipeOf);
        expect(decodeRecipeDelta(delta(recipe, ...held), held)).toEqual(recipe);
      }),
      { numRuns: 500 },
    );
  });

  test("[W31] names only what the held recipes have in it, and says the rest once", () => {
    fc.assert(
      fc.property(numbers, numbers, (wanted, other) => {
        const literal = delta(recipeOf(wanted), recipeOf(other)).filter((part) => part instanceof Uint8Array);
        const isHeld = new Set(
          other.filter((number, index) => other.findIndex((one) => one >>> 3 === number >>> 3) === index),
        );
        const lacking = wanted.filter((number) => !other.includes(number)).length;
        const said = literal.reduce((sum, part) => sum + part.length / 36, 0);
        expect(said).toBeGreaterThanOrEqual(lacking);
        expect(said).toBeLessThanOrEqual(wanted.filter((number) => !isHeld.has(number)).length);
      }),
    );
  });

  test("[W31] of an edited 64 MB file is two runs and the new chunk", () => {
    const before = recipeOf(Array.from({ length: 8192 }, (_, index) => index * 8));
    const edited = concatRecipes([
      sliceRecipe(before, 0, 4000),
      recipeOf([99_999 * 8]),
      sliceRecipe(before, 4001, 8192),
    ]);
    const parts = delta(edited, before);
    expect(parts).toEqual([[0, 0, 4000], expect.any(Uint8Array), [0, 4001, 4191]]);
    // array 1 + run 1+1+1+3 + descriptors 2+36 + run 1+1+3+3
    expect(encodeCbor(parts)).toHaveLength(53);
    expect(encodeCbor(delta(before))).toHaveLength(1 + 5 + 8192 * 36);
  });

  test("[W31] of the same content is one run, of an empty one nothing", () => {
    const recipe = recipeOf([8, 16, 24]);
    expect(delta(recipe, EMPTY_RECIPE, recipe)).toEqual([[1, 0, 3]]);
    expect(delta(EMPTY_RECIPE, recipe)).toEqual([]);
  });

  test.each<[string, RecipePart[], string]>([
    ["a held recipe that was not named", [[1, 0, 1]], "Invalid"],
    ["a run past its end", [[0, 1, 3]], "Invalid"],
    ["a run from past its end", [[0, 2 ** 52, 1]], "Invalid"],
    ["ragged descriptors", [new Uint8Array(35)], "Corrupt"],
    ["a chunk of no length", [new Uint8Array(36)], "Corrupt"],
  ])("[W31] is refused for %s", (_what, parts, kind) => {
    expect(() => decodeRecipeDelta(parts, [recipeOf([8, 16, 24])])).toThrow(expect.objectContaining({ kind }));
  });

  test("[W31] [limit recipeDescriptors] that unfolds to more chunks than a recipe may have is refused before any is copied", () => {
    const held = recipeOf(Array.from({ length: 1000 }, (_, index) => index * 8));
    const parts: RecipePart[] = Array.from({ length: Math.floor(LIMITS.recipeDescriptors / 1000) + 1 }, () => [
      0, 0, 1000,
    ]);
    const before = process.memoryUsage().arrayBuffers;
    expect(() => decodeRecipeDelta(parts, [held])).toThrow(
      expect.objectContaining({ kind: "TooLarge", detail: expect.objectContaining({ rule: "W31" }) }),
    );
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 1024 * 1024);
  });
});

test("[W30] a long recipe is split into lists that fit an item each, and comes back the same", () => {
  const chunks = 60_000;
  const recipe = {
    lengths: new Uint32Array(chunks).fill(8192),
    digests: new Uint8Array(chunks * 32).map((_, at) => at * 7),
  };
  const lists = [...recipeDeltaLists(recipe, new HeldChunks([]))];
  expect(lists.length).toBeGreaterThan(2);
  for (const parts of lists) expect(encodeCbor(["p", parts]).length).toBeLessThan(LIMITS.controlBytes);
  expect(concatRecipes(lists.map((parts) => decodeRecipeDelta(parts, [])))).toEqual(recipe);
});

test("[W30] of a long recipe a list is made only when it is asked for", () => {
  const recipe = { lengths: new Uint32Array(60_000).fill(8192), digests: new Uint8Array(60_000 * 32) };
  let slices = 0;
  recipe.lengths.slice = (from, to) => (slices++, Uint32Array.prototype.slice.call(recipe.lengths, from, to));
  const lists = recipeDeltaLists(recipe, new HeldChunks([]));
  expect(lists.next().done).toBe(false);
  expect(slices).toBeLessThan(10);
  expect([...recipeDeltaLists(EMPTY_RECIPE, new HeldChunks([]))]).toEqual([[]]);
});

test("[W140] what a delta says of a recipe is measured without making it", () => {
  const [recipe, held] = [recipeOf([8, 16, 24]), new HeldChunks([recipeOf([16])])];
  expect(isDeltaWithin(recipe, held, 72)).toBe(true);
  expect(isDeltaWithin(recipe, held, 71)).toBe(false);
});
