// Finds the addons that build.mjs made.
/* oxlint-disable node/no-sync -- once, before what loads the addon does anything */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);

/** Throws a plain Error when it is not built. */
export function addonPath(name: "core" | "drive"): string {
  const path = fileURLToPath(new URL(`../build/${name}.node`, import.meta.url));
  if (!existsSync(path)) throw new Error(`${name}.node is not built (${path}): run \`npm run setup\`.`);
  return path;
}

/** Loads build/core.node or build/drive.node, once per process. Throws a plain Error that says what to do. */
export function loadAddon(name: "core" | "drive"): unknown {
  const path = addonPath(name);
  try {
    return require(path);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${name}.node does not load: ${reason}. Run \`npm run setup\`, which builds it for this machine.`, {
      cause: error,
    });
  }
}
