// Recipes show whether their chunks are fixed ones.
import { expect, test } from "@jest/globals";
import { isCutAs, isCutFixed } from "../../src/model/cut-kind.ts";
import type { Recipe } from "../../src/model/recipe.ts";

const KiB = 1024;
const MiB = 1024 * KiB;

/** `digests`: a character for each chunk. */
function recipeOf(lengths: number[], digests = "abcdefgh".slice(0, lengths.length)): Recipe {
  return {
    lengths: Uint32Array.from(lengths),
    digests: Buffer.from([...digests].map((each) => each.repeat(32)).join("")),
  };
}

test("[W211] a recipe shows that it has fixed chunks, and whether it is that of a new content", () => {
  const other = (digit: string): Recipe => recipeOf([64 * KiB, 64 * KiB, 5], `a${digit}c`);
  const cases: [Recipe, boolean, boolean, boolean][] = [
    [recipeOf([]), false, false, true],
    [recipeOf([5]), false, false, true],
    [recipeOf([64 * KiB]), false, false, true],
    [recipeOf([64 * KiB + 1]), false, false, false],
    [recipeOf([64 * KiB, 5]), true, false, true],
    [recipeOf([64 * KiB, 64 * KiB]), true, false, true],
    [recipeOf([64 * KiB, 64 * KiB + 1]), false, false, false],
    [recipeOf([5, 64 * KiB]), false, false, false],
    [recipeOf([4 * KiB, 64 * KiB, 5]), false, true, false],
    [other("b"), true, false, true],
    // Zeros.
    [other("a"), false, true, true],
    // A new content of that size has other chunks.
    [recipeOf([17 * KiB, 65 * KiB, 1]), false, false, false],
    [recipeOf([1 * MiB, 1 * MiB, 5]), true, false, false],
  ];
  for (const [recipe, isFixed, asContent, asFixed] of cases)
    expect([recipe.lengths, isCutFixed(recipe), isCutAs(recipe, "content"), isCutAs(recipe, "fixed")]).toEqual([
      recipe.lengths,
      isFixed,
      asContent,
      asFixed,
    ]);
});
