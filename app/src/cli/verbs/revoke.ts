// runnel revoke: a device is cut off, at once and for good.
import type { Command } from "commander";
import type { Output } from "../output.ts";
import { addVerb } from "../verb.ts";
import { dataFolder } from "./invite.ts";

export function addRevoke(program: Command, output: Output): void {
  addVerb(program, "revoke", "Cuts a device off, at once and for good, for whoever runs the server.", [
    "revoke ada-laptop",
  ])
    .argument("<device>", "its name or its id, as runnel devices shows them")
    .option("--data <dir>", "the server's data (default: in the agent's home)")
    .action(async (device: string, options: { data?: string }) => {
      const { askServer } = await import("@runnel/server/admin");
      const result = await askServer(dataFolder(options.data), "revoke", { device });
      output.result(result, () => [
        `${result.revoked.name} (${result.revoked.id}) is cut off. What it has fetched before is still on it.`,
      ]);
    });
}
