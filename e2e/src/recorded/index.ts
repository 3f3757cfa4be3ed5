// Histories of real processes on real mounts, held to the guarantee by the checker of the simulation.
export * from "./record.ts";
export * from "./settings.ts";
