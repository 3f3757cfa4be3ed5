// Chunks that two recipes have in common, against a look at every pair of their chunks.
import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { RecipeIndex, chunkPlaces, firstPlaceOf, sameRun } from "../../src/model/recipe-index.ts";
import { DIGEST_BYTES, digestAt } from "../../src/model/recipe.ts";
import type { Recipe } from "../../src/model/recipe.ts";

/** A chunk a letter; those of small letters say another length than their digest's. */
function recipeOf(letters: string): Recipe {
  const lengths = Uint32Array.from(letters, (letter) => (letter === letter.toLowerCase() ? 7 : 5));
  const digests = new Uint8Array(letters.length * DIGEST_BYTES);
  for (const [index, letter] of [...letters.toUpperCase()].entries())
    digests.fill(letter.charCodeAt(0), index * DIGEST_BYTES, (index + 1) * DIGEST_BYTES);
  return { lengths, digests };
}

const letters = (of: string, maxLength: number): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...of), { maxLength }).map((list) => list.join(""));

function isSame(one: string, at: number, other: string, otherAt: number): boolean {
  return at < one.length && one[at] === other[otherAt];
}

/** Letter by letter: the run goes on where it can, else begins at the first place. */
function placesIn(text: string, base: string): number[] {
  let next = 0;
  return [...text].map((letter, index) => {
    const at = isSame(text, index, base, next) ? next : base.indexOf(letter);
    if (at >= 0) next = at + 1;
    return at;
  });
}

describe("a recipe that is looked in", () => {
  test("has each chunk at its first place, whatever else it has", () => {
    fc.assert(
      fc.property(letters("ABCDE", 40), letters("ABCDEFG", 10), (base, text) => {
        const recipe = recipeOf(text);
        for (const [index, letter] of [...text].entries()) {
          const digest = digestAt(recipe, index);
          expect(RecipeIndex.of(recipeOf(base)).indexOf(digest)).toBe(base.indexOf(letter));
          expect(firstPlaceOf(recipe, index, recipeOf(base))).toBe(base.indexOf(letter));
        }
      }),
    );
  });

  test("tells digests apart that begin alike", () => {
    const one = recipeOf("A");
    const other = { ...one, digests: Uint8Array.from(one.digests).fill(0, DIGEST_BYTES - 1) };
    expect(RecipeIndex.of(one).indexOf(other.digests)).toBe(-1);
    expect(sameRun(one, 0, other, 0)).toBe(0);
  });

  test("has runs of chunks in common with another", () => {
    fc.assert(
      fc.property(letters("AB", 80), letters("AB", 80), fc.nat(80), fc.nat(80), (one, other, at, otherAt) => {
        let run = 0;
        while (isSame(one, at + run, other, otherAt + run)) run++;
        expect(sameRun(recipeOf(one), at, recipeOf(other), otherAt)).toBe(run);
      }),
    );
  });

  test("has runs in common as long as they are, of every length", () => {
    for (let length = 0; length <= 40; length++) {
      const [one, other] = [`C${"AB".repeat(30)}`, `${"AB".repeat(30).slice(0, length)}D${"AB".repeat(9)}`];
      expect(sameRun(recipeOf(one), 1, recipeOf(other), 0)).toBe(length);
    }
  });

  test("has the other's chunks at the places where a look at each finds them", () => {
    fc.assert(
      fc.property(letters("ABCD", 60), letters("ABCDE", 60), (base, text) => {
        expect([...chunkPlaces(recipeOf(text), recipeOf(base))]).toEqual(placesIn(text, base));
      }),
    );
  });

  test("does not have a chunk that it says another length of", () => {
    expect([...chunkPlaces(recipeOf("ABC"), recipeOf("AbC"))]).toEqual([0, -1, 2]);
    expect(sameRun(recipeOf("ABC"), 0, recipeOf("AbC"), 0)).toBe(1);
  });
});
