// Tests that cannot pass on a system, each with what is missing there. One that is named must fail; if it passes, what
// was missing has come.
import type { PlainResult } from "./run.ts";

export type KnownFailures = readonly [title: RegExp, why: string][];

/** Returns what is not as it should be: nothing of anything, where all is well. */
export function faultsOf(results: readonly PlainResult[], known: KnownFailures) {
  const isNamed = (title: string): boolean => known.some(([named]) => named.test(title));
  const ran = results.filter(({ outcome }) => outcome !== "skipped");
  return {
    failed: ran.filter(({ title, outcome }) => outcome !== "passed" && !isNamed(title)),
    passedThoughNamed: ran.filter(({ title, outcome }) => outcome === "passed" && isNamed(title)),
    namedInVain: known.filter(([named]) => !ran.some(({ title }) => named.test(title))),
  };
}

export const NO_FAULTS: ReturnType<typeof faultsOf> = { failed: [], passedThoughNamed: [], namedInVain: [] };
