// Agents and a server in one process, on simulated ground, from one seed; and the checker of what their programs saw.
export * from "./check/checker.ts";
export { MUTANTS } from "./mutants/mutants.ts";
export * from "./plan.ts";
export * from "./shrink.ts";
export * from "./simulate.ts";
