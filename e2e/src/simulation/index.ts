// Agent and server on simulated ground, in one process.
export * from "./cut-run.ts";
export * from "./random-steps.ts";
export * from "./script.ts";
export * from "./simulated-place.ts";
