// The harness that end-to-end tests and benchmarks stand on.
export * from "../emulator/index.ts";
export * from "./control.ts";
export * from "./database.ts";
export * from "./drive-files.ts";
export * from "./few-descriptors.ts";
export * from "./many-files.ts";
export * from "./memory.ts";
export * from "./agent-status.ts";
export * from "./cleanup/mounts.ts";
export * from "./picture.ts";
export * from "./product.ts";
export * from "./refusal.ts";
export * from "./run.ts";
export * from "./sandbox.ts";
export * from "./slow-process.ts";
export * from "./traffic.ts";
export * from "./wait.ts";
