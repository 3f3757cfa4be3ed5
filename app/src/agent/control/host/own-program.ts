// The programs of this copy of the product, which start each other or are started by the system.
import { fileURLToPath } from "node:url";

/** Sources run as they are; what is installed is bundled, each program in one file. */
const [ABOVE, EXTENSION] = import.meta.url.endsWith(".ts") ? ["../../../", "ts"] : ["../", "js"];

/** Returns the path of the agent, or of the command line, which this Node runs. */
export function ownProgram(name: "agent" | "cli"): string {
  return fileURLToPath(new URL(`${ABOVE}${name}/main.${EXTENSION}`, import.meta.url));
}
