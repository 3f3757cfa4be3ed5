// Chunks that a write names instead of bringing them: by the place where a version has them, or by digest (LBFS's
// CONDWRITE). Verified, or to be asked for.
import type { Recipe, VersionId } from "@runnel/shared";
import {
  DIGEST_BYTES,
  LIMITS,
  RunnelError,
  decodeRecipe,
  digestAt,
  encodeRecipe,
  recipeSize,
  sliceRecipe,
} from "@runnel/shared";
import type { MetaStore, Run } from "../meta/meta-store.ts";
import type { HeldVersions } from "./held-versions.ts";
import { joinRuns } from "./write-runs.ts";

/**
 * Items as they are received (rule W20): version, first chunk, count; descriptors, where a version has them, first
 * chunk there.
 */
type ByPlace = ["c", VersionId, number, number];
type ByDigest = ["h", Uint8Array, VersionId | null, number];
export type Reference = ByPlace | ByDigest;

/** A reference without its descriptors, which the recipe has: they are not kept twice. */
export type KeptReference = ByPlace | ["h", VersionId | null, number];

/** Returns the reference as it was received. */
export function receivedAs(reference: KeptReference, recipe: Recipe): Reference {
  return reference[0] === "c" ? reference : ["h", encodeRecipe(recipe), reference[1], reference[2]];
}

export interface ResolvedReference {
  recipe: Recipe;
  sizeBytes: number;
  /** Undefined when the bytes have to be asked for. */
  runs: Run[] | undefined;
  reference: KeptReference;
}

/**
 * Finds where the bytes of a reference are. @throws Gone for a version that is no longer kept, Invalid for what cannot
 * be.
 */
export function resolveReference(
  reference: Reference,
  held: HeldVersions,
  meta: Pick<MetaStore, "findChunks">,
): Promise<ResolvedReference> {
  return reference[0] === "c" ? byPlace(reference, held) : byDigest(reference, held, meta);
}

/** Resolves chunks of a version whose recipe the client knows. */
async function byPlace(reference: ByPlace, held: HeldVersions): Promise<ResolvedReference> {
  const [, version, from, count] = reference;
  const source = await held.get(version);
  if (source === undefined) {
    // The length is unknown without the recipe: the client repeats the whole as data.
    throw new RunnelError("Gone", "copy chunks", "A version that a write copies from is no longer kept.", {
      detail: { rule: "W22" },
    });
  }
  if (from + count > source.recipe.lengths.length || count === 0)
    throw wrong("A copy names chunks that the version does not have.");
  const recipe = sliceRecipe(source.recipe, from, from + count);
  const run = await held.run(version, source, from, count);
  return { recipe, sizeBytes: recipeSize(recipe), runs: run && [run], reference };
}

/** Resolves digests at the place in a version that the client named, else by the chunk index. */
async function byDigest(
  reference: ByDigest,
  held: HeldVersions,
  meta: Pick<MetaStore, "findChunks">,
): Promise<ResolvedReference> {
  const [, descriptors, place, index] = reference;
  const recipe = decodeRecipe(descriptors);
  const count = recipe.lengths.length;
  if (count === 0 || count > LIMITS.recipeDescriptorsPerItem) throw wrong("An item has no or too many descriptors.");
  const sizeBytes = recipeSize(recipe);
  const kept: KeptReference = ["h", place, index];
  if (place !== null) {
    const run = await runAt(place, index, recipe, held);
    if (run !== undefined) return { recipe, sizeBytes, runs: [run], reference: kept };
  }
  return { recipe, sizeBytes, runs: await lookUp(recipe, held, meta), reference: kept };
}

async function runAt(place: VersionId, index: number, recipe: Recipe, held: HeldVersions): Promise<Run | undefined> {
  const source = await held.get(place);
  if (source === undefined || !hasChunks(source.recipe, index, recipe)) return undefined;
  return held.run(place, source, index, recipe.lengths.length);
}

/** Finds every chunk somewhere in the volume, verified. @returns undefined when one is missing. */
async function lookUp(
  recipe: Recipe,
  held: HeldVersions,
  meta: Pick<MetaStore, "findChunks">,
): Promise<Run[] | undefined> {
  const hints = await meta.findChunks(recipe.digests);
  const runs: Run[] = [];
  for (const [index, hint] of hints.entries()) {
    const run =
      hint !== undefined && hint.length === recipe.lengths[index]
        ? await held.chunk(hint, digestAt(recipe, index))
        : undefined;
    if (run === undefined) return undefined;
    runs.push(run);
  }
  return joinRuns(runs);
}

/** Tells whether the recipe has the expected chunks from `from` on. */
function hasChunks(recipe: Recipe, from: number, expected: Recipe): boolean {
  const count = expected.lengths.length;
  if (from + count > recipe.lengths.length) return false;
  for (let index = 0; index < count; index++)
    if (recipe.lengths[from + index] !== expected.lengths[index]) return false;
  const digests = recipe.digests.subarray(from * DIGEST_BYTES, (from + count) * DIGEST_BYTES);
  return Buffer.compare(digests, expected.digests) === 0;
}

function wrong(message: string): RunnelError {
  return new RunnelError("Invalid", "write", message, { detail: { rule: "W20" } });
}
