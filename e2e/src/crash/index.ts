// Crashes of real processes: where they stop, what programs do meanwhile, what must be there afterwards.
export * from "./crash-rig.ts";
export * from "./stop-at.ts";
export * from "./workload.ts";
export * from "./small-disk.ts";
