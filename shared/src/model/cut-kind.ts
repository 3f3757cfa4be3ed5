// The way in which a recipe was cut, as far as it shows that. Pure.
import { CHUNK_PRESETS, type ChunkKind, presetFor, presetOf } from "./chunk-presets.ts";
import { DIGEST_BYTES, type Recipe, recipeSize } from "./recipe.ts";

/**
 * Says whether a recipe shows fixed chunks: hardly any content gives that by chance. Zeros do, whose chunks are as long
 * and all alike.
 */
export function isCutFixed({ lengths, digests }: Recipe): boolean {
  const full = lengths.length - 1;
  const size = lengths[0] ?? 0;
  if (full < 1 || (size !== CHUNK_PRESETS[3].maxBytes && size !== CHUNK_PRESETS[4].maxBytes)) return false;
  if (!lengths.every((each, index) => (index < full ? each === size : each <= size))) return false;
  const first = Buffer.from(digests.buffer, digests.byteOffset, DIGEST_BYTES);
  for (let index = 1; index < full; index++)
    if (!first.equals(digests.subarray(index * DIGEST_BYTES, (index + 1) * DIGEST_BYTES))) return true;
  return full === 1;
}

/** Says whether a recipe is the one that its content has when it is cut so as a new one. */
export function isCutAs(recipe: Recipe, kind: ChunkKind): boolean {
  const { lengths } = recipe;
  const sizeBytes = recipeSize(recipe);
  const preset = presetFor(sizeBytes, kind);
  if (kind === "content") return presetOf(recipe) === preset && !isCutFixed(recipe);
  const { maxBytes } = CHUNK_PRESETS[preset];
  const last = Math.ceil(sizeBytes / maxBytes) - 1;
  return last === lengths.length - 1 && lengths.subarray(0, last).every((each) => each === maxBytes);
}
