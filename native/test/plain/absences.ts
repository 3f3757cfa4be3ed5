// Tests that cannot pass on a system because something is missing there, each with what. One that is named must fail, or
// what is missing has come.
import type { PlainResult } from "./run.ts";

export type Absences = readonly [title: RegExp, why: string][];

/** Returns what is not as it should be: nothing of anything, where all is well. */
export function faultsOf(results: readonly PlainResult[], absences: Absences) {
  const isNamed = (title: string): boolean => absences.some(([named]) => named.test(title));
  const ran = results.filter(({ outcome }) => outcome !== "skipped");
  return {
    failed: ran.filter(({ title, outcome }) => outcome !== "passed" && !isNamed(title)),
    passedThoughNamed: ran.filter(({ title, outcome }) => outcome === "passed" && isNamed(title)),
    namedInVain: absences.filter(([named]) => !ran.some(({ title }) => named.test(title))),
  };
}

export const NO_FAULTS: ReturnType<typeof faultsOf> = { failed: [], passedThoughNamed: [], namedInVain: [] };
