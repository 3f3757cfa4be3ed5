// Every FUSE operation under every condition of link, server and agent: probes that time themselves, and what they may
// find.
export * from "./expectations.ts";
export * from "./fuse-operations.ts";
export * from "./probes.ts";
export * from "./conditions.ts";
export * from "./matrix.ts";
export * from "./silent-place.ts";
