// A plan that fails, made smaller as long as it still fails: what is left is what somebody has to understand.
import type { Plan } from "./plan.ts";

/** The parts of a plan that can be left out. */
const PARTS = ["faults", "steps", "outside"] as const;

/**
 * Leaves out halves of the faults and of the steps, then quarters, and so on down to single ones (delta debugging),
 * while `fails` still says so, until nothing more can go or `runsMax` runs have been made.
 */
export async function shrink(plan: Plan, fails: (plan: Plan) => Promise<boolean>, runsMax: number): Promise<Plan> {
  let smaller = plan;
  let runs = 0;
  for (let hasShrunk = true; hasShrunk && runs < runsMax;) {
    hasShrunk = false;
    for (const part of PARTS) {
      const left = (): readonly unknown[] => smaller[part] ?? [];
      for (let size = Math.ceil(left().length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
        for (let at = 0; at < left().length && runs < runsMax;) {
          const tried = { ...smaller, [part]: left().toSpliced(at, size) };
          runs += 1;
          if (await fails(tried)) {
            smaller = tried;
            hasShrunk = true;
          } else at += size;
        }
      }
    }
  }
  return smaller;
}
