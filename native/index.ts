// The typed face of core.node: the real engines of Disk and Executor. The kernel side is drive.ts.
export { inlineExecutor } from "./src/host/inline-executor.ts";
export { DescriptorGate } from "./src/host/descriptor-gate.ts";
export { descriptorLimit, realDisk, systemBoot } from "./src/host/real-disk.ts";
export { openSecret, sealSecret } from "./src/host/sealed-secret.ts";
export { threadExecutor } from "./src/host/thread-executor.ts";
export { checkPages, pageChecks } from "./src/host/page-checks.ts";
export { hasAddon, loadAddon } from "./src/load.ts";
