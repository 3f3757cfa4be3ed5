// Gives all verbs what they have in common: an example first in their help, and --json.
import { RunnelError } from "@runnel/shared/base";
import type { Command } from "commander";
import { thisSystem } from "../agent/control/host/this-system.ts";

export function addVerb(
  program: Command,
  name: string,
  description: string,
  examples: readonly string[],
  options: { hidden?: boolean } = {},
): Command {
  const shown = examples.map((example) => `  runnel ${example}\n`).join("");
  return program
    .command(name, options)
    .description(description)
    .helpOption("--help", "print this help")
    .option("--json", "print one JSON object")
    .addHelpText("before", `${examples.length === 1 ? "Example" : "Examples"}:\n${shown}`);
}

/**
 * The agent's working folder is another: it is given whole paths. @throws RunnelError Invalid for an empty one, which a
 * shell makes of an unset variable.
 */
export function absolutePath(typed: string): string {
  if (typed === "") throw new RunnelError("Invalid", "read a path", "A path is empty. Name a folder.");
  return thisSystem.paths.spell(typed);
}
