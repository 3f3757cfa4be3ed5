// Recipes: the ordered descriptors of one content. Kept as two flat arrays; one object per chunk would cost ten times
// the memory.
import type { Rechunked } from "../host/executor.ts";
import { LIMITS } from "../limits.ts";
import { RunnelError } from "../errors.ts";

export const DIGEST_BYTES = 32;
/** Bytes of one chunk's descriptor in an encoded recipe. */
export const DESCRIPTOR_BYTES = 4 + DIGEST_BYTES;

/** Chunk lengths in bytes, and their SHA-256 one after another. */
export interface Recipe {
  lengths: Uint32Array;
  digests: Uint8Array;
}

export const EMPTY_RECIPE: Recipe = { lengths: new Uint32Array(0), digests: new Uint8Array(0) };

/** OID of the empty content: the SHA-256 of no bytes. */
export const EMPTY_OID: Uint8Array = Uint8Array.from(
  Buffer.from("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "hex"),
);

export function digestAt(recipe: Recipe, index: number): Uint8Array {
  return recipe.digests.subarray(index * DIGEST_BYTES, (index + 1) * DIGEST_BYTES);
}

export function recipeSize(recipe: Recipe): number {
  let sum = 0;
  for (const length of recipe.lengths) sum += length;
  return sum;
}

/** Recipes do not change, and whoever asks for one chunk's offset soon asks for another's. */
const offsetsOf = new WeakMap<Recipe, Float64Array>();

/**
 * Offsets of the chunks, and the total last: `lengths.length + 1` numbers. Computed once for a recipe; not to be
 * changed.
 */
export function chunkOffsets(recipe: Recipe): Float64Array {
  const known = offsetsOf.get(recipe);
  if (known !== undefined) return known;
  const offsets = new Float64Array(recipe.lengths.length + 1);
  for (let index = 0; index < recipe.lengths.length; index++) {
    offsets[index + 1] = (offsets[index] ?? 0) + (recipe.lengths[index] ?? 0);
  }
  offsetsOf.set(recipe, offsets);
  return offsets;
}

/** Ranges of a content that its chunks are, in the order of `indexes`; of all of them when none are given. */
export function chunkRanges(
  recipe: Recipe,
  indexes: Iterable<number> = recipe.lengths.keys(),
): { offset: number; length: number }[] {
  const offsets = chunkOffsets(recipe);
  return Array.from(indexes, (index) => ({ offset: offsets[index] ?? 0, length: recipe.lengths[index] ?? 0 }));
}

/** Chunks of `indexes` whose digest is not the recipe's; `digests` has one for each, in their order. */
export function wrongChunks(recipe: Recipe, indexes: readonly number[], digests: Uint8Array): number[] {
  return indexes.filter((index, at) => {
    const found = digests.subarray(at * DIGEST_BYTES, (at + 1) * DIGEST_BYTES);
    return Buffer.compare(found, digestAt(recipe, index)) !== 0;
  });
}

/** Index of the chunk that has the byte at `offset`; of the last for what lies behind all. */
export function chunkAt(recipe: Recipe, offset: number): number {
  const offsets = chunkOffsets(recipe);
  let [low, high] = [0, Math.max(0, recipe.lengths.length - 1)];
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if ((offsets[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

export function sliceRecipe(recipe: Recipe, from: number, to: number): Recipe {
  return {
    lengths: recipe.lengths.slice(from, to),
    digests: recipe.digests.slice(from * DIGEST_BYTES, to * DIGEST_BYTES),
  };
}

export function concatRecipes(parts: readonly Recipe[]): Recipe {
  const count = parts.reduce((sum, part) => sum + part.lengths.length, 0);
  const lengths = new Uint32Array(count);
  const digests = new Uint8Array(count * DIGEST_BYTES);
  let at = 0;
  for (const part of parts) {
    lengths.set(part.lengths, at);
    digests.set(part.digests, at * DIGEST_BYTES);
    at += part.lengths.length;
  }
  return { lengths, digests };
}

/** The recipe of an edited content, from its base's and what re-chunking found. */
export function rechunkedRecipe(base: Recipe, { spans, fresh }: Pick<Rechunked, "spans" | "fresh">): Recipe {
  let at = 0;
  return concatRecipes(
    spans.flatMap(({ first, kept, fresh: count }) => [
      sliceRecipe(base, first, first + kept),
      sliceRecipe(fresh, at, (at += count)),
    ]),
  );
}

/** Bytes of a recipe: per chunk its length (u32, little-endian) and digest. Their SHA-256 is the OID (rule W4). */
export function encodeRecipe(recipe: Recipe): Uint8Array {
  const bytes = new Uint8Array(recipe.lengths.length * DESCRIPTOR_BYTES);
  const view = new DataView(bytes.buffer);
  for (let index = 0; index < recipe.lengths.length; index++) {
    view.setUint32(index * DESCRIPTOR_BYTES, recipe.lengths[index] ?? 0, true);
    bytes.set(digestAt(recipe, index), index * DESCRIPTOR_BYTES + 4);
  }
  return bytes;
}

/** Inverse of encodeRecipe. @throws RunnelError Corrupt for a ragged size or a length of 0, TooLarge past the limit. */
export function decodeRecipe(bytes: Uint8Array): Recipe {
  if (bytes.length % DESCRIPTOR_BYTES !== 0)
    throw new RunnelError("Corrupt", "read recipe", "A recipe has a ragged size.");
  const count = bytes.length / DESCRIPTOR_BYTES;
  if (count > LIMITS.recipeDescriptors) {
    throw new RunnelError(
      "TooLarge",
      "read recipe",
      `A recipe has ${count} chunks, at most ${LIMITS.recipeDescriptors} are allowed.`,
      {
        detail: { limit: LIMITS.recipeDescriptors },
      },
    );
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const lengths = new Uint32Array(count);
  const digests = new Uint8Array(count * DIGEST_BYTES);
  for (let index = 0; index < count; index++) {
    const length = view.getUint32(index * DESCRIPTOR_BYTES, true);
    if (length === 0 || length > LIMITS.runBytes)
      throw new RunnelError("Corrupt", "read recipe", `A chunk of ${length} bytes is not possible.`);
    lengths[index] = length;
    const from = index * DESCRIPTOR_BYTES + 4;
    digests.set(bytes.subarray(from, from + DIGEST_BYTES), index * DIGEST_BYTES);
  }
  return { lengths, digests };
}

/** Key of a digest in a Map or an index: its first 64 bits (LBFS §3.1.3). Never trusted, only a hint. */
export function digestKey(digest: Uint8Array): bigint {
  return new DataView(digest.buffer, digest.byteOffset, 8).getBigUint64(0);
}
