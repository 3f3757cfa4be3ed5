// core.node's engines by name, for whoever measures them: the product takes the fastest by itself.
export { coreAddon } from "./src/host/core-addon.ts";
export type { ChunkEngine, DigestEngine } from "./src/host/core-addon.ts";
