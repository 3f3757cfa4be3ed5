// Loaded into agents and commands before their own code (node --import): they take the system for macOS as far as paths
// and mounts go. Linux's own mounts are told in the words of mount(8) there.
import { registerHooks } from "node:module";

const THIS_SYSTEM = new URL("../../../app/src/agent/control/host/this-system.ts", import.meta.url).href;
const A_MAC = new URL("mac-on-linux.ts", import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    return found.url === THIS_SYSTEM ? { ...found, url: A_MAC } : found;
  },
});
