// Faults put into the product on purpose, each one that a rule of colleagues is there to prevent: whatever they bring,
// nothing is read but what the server's version has. What is replaced is as in mutants.ts. All that comes is compared
// twice with the recipe, so the recipe is what these change.
import { ColleagueSource } from "@runnel/app/internals";
import { inlineExecutor } from "@runnel/native";
import { type Recipe, RunnelError, chunkOffsets, sliceRecipe } from "@runnel/shared";
import type { Mutant } from "./mutant.ts";
import { replace } from "./replace.ts";

const DIGEST_BYTES = 32;

type Brought = [content: { recipe: Recipe }, run: { from: number; count: number; bytes: Uint8Array }];

export const COLLEAGUE_MUTANTS: readonly Mutant[] = [
  {
    name: "digests of the server not compared with what a colleague brings",
    settings: { powers: ["colleagues"], lies: ["made"], faults: ["cut"] },
    apply: believeColleagues,
  },
  {
    name: "an older version of a colleague taken for the one that is wanted",
    settings: { powers: ["colleagues"], lies: ["old"], faults: ["cut"] },
    apply: believeColleagues,
  },
];

/** Lets what a colleague brings be right by its length alone: the recipe is made to fit. */
function believeColleagues(): void {
  replace<ColleagueSource, Brought>(
    ColleagueSource.prototype,
    "mustBeRight",
    () =>
      async function ({ recipe }, { from, count, bytes }) {
        const offsets = chunkOffsets(sliceRecipe(recipe, from, from + count));
        if (offsets.at(-1) !== bytes.length)
          throw new RunnelError("Corrupt", "getChunks", "A colleague sent bytes of another length.");
        const parts = Array.from({ length: count }, (_, index) => bytes.subarray(offsets[index], offsets[index + 1]));
        recipe.digests.set(await inlineExecutor().digest(parts), from * DIGEST_BYTES);
      },
  );
}
