// Finds the chunks that an edit changed: those between what two recipes have in common at their beginning and at their
// end. Pure.
import type { Recipe } from "@runnel/shared";
import { DIGEST_BYTES, digestAt } from "@runnel/shared";

export interface RecipeDifference {
  /** First chunk that differs, in both. */
  from: number;
  /** Ends of the ranges that differ. */
  to: number;
  oldTo: number;
}

/**
 * Compares two recipes; only the first `indexed` chunks of `old` count as known (all of them when it is their number).
 */
export function changedChunks(old: Recipe | undefined, indexed: number, next: Recipe): RecipeDifference {
  const count = next.lengths.length;
  if (old === undefined) return { from: 0, to: count, oldTo: 0 };
  const shorter = Math.min(old.lengths.length, count);
  let from = 0;
  while (from < Math.min(shorter, indexed) && isSame(old, from, next, from)) from++;
  let same = 0;
  if (indexed >= old.lengths.length) {
    while (same < shorter - from && isSame(old, old.lengths.length - 1 - same, next, count - 1 - same)) same++;
  }
  return { from, to: count - same, oldTo: old.lengths.length - same };
}

function isSame(one: Recipe, oneIndex: number, other: Recipe, otherIndex: number): boolean {
  if (one.digests[oneIndex * DIGEST_BYTES] !== other.digests[otherIndex * DIGEST_BYTES]) return false;
  return Buffer.compare(digestAt(one, oneIndex), digestAt(other, otherIndex)) === 0;
}
