// Finds the addons: what build.mjs made for this machine, else what build-all.mjs made for every system.
/* oxlint-disable node/no-sync -- once, before what loads the addon does anything */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ADDON_TARGET } from "./host/addon-target.ts";

/** loopback: drive without a kernel, for drives that are served; where libfuse is not installed. */
export type AddonName = "core" | "drive" | "loopback";

const require = createRequire(import.meta.url);
const NATIVE = fileURLToPath(new URL("..", import.meta.url));

/** Returns the places where an addon may be, in the order in which it is looked for; `folder` is this package's. */
export function addonPlaces(name: AddonName, folder = NATIVE): string[] {
  return [join(folder, "build", `${name}.node`), join(folder, "prebuilds", ADDON_TARGET, `${name}.node`)];
}

/** True where an addon lies; whether it loads is another matter. */
export function hasAddon(name: AddonName, folder = NATIVE): boolean {
  return addonPlaces(name, folder).some((place) => existsSync(place));
}

/** Throws a plain Error that names what is missing and what to do. */
export function addonPath(name: AddonName, folder = NATIVE): string {
  const places = addonPlaces(name, folder);
  const found = places.find((place) => existsSync(place));
  if (found !== undefined) return found;
  const [built, prebuilt] = places;
  throw new Error(
    `${name}.node for ${ADDON_TARGET} is missing: neither ${built} nor ${prebuilt} is there. ` +
      "Run `npm run setup`, which builds it for this machine.",
  );
}

/** Loads build/NAME.node, or else prebuilds/PLATFORM-PROCESSOR/NAME.node. Throws a plain Error that says what to do. */
export function loadAddon(name: AddonName, folder = NATIVE): unknown {
  const path = addonPath(name, folder);
  try {
    return require(path);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `${name}.node does not load: ${reason} (${path}). Run \`npm run setup\`, which builds it for this machine.`,
      { cause: error },
    );
  }
}
