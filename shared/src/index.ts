// What both ends agree on.
export * from "./errors.ts";
export * from "./limits.ts";
export * from "./host/clock.ts";
export * from "./host/disk.ts";
export * from "./host/executor.ts";
export * from "./host/link.ts";
