// A fault that is put into the product on purpose, and what a run needs to notice it.
import type { PlanSettings } from "../plan.ts";

export interface Mutant {
  name: string;
  /** Settings that give a run a chance to notice the mutant. */
  settings?: PlanSettings;
  apply(): void;
}
