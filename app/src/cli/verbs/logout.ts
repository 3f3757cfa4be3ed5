// runnel logout: forgets a server.
import type { Command } from "commander";
import { withAgent } from "../agent-connection.ts";
import type { Output } from "../output.ts";
import { addVerb } from "../verb.ts";

export function addLogout(program: Command, output: Output): void {
  addVerb(program, "logout", "Forgets a server: its key, and this device's token for it.", [
    "logout files.example.org:7473",
  ])
    .argument("<server>", "HOST:PORT, or the address of a volume there")
    .action(async (server: string) => {
      const result = await withAgent((client) => client.ask<"logout">({ verb: "logout", server }));
      output.result(result, () => [
        `Forgot ${result.server}, which knows this device as ${result.device}. To come back you need a new invite.`,
        `The server lets nobody in by what was forgotten once it is told so there: runnel revoke ${result.device}`,
      ]);
    });
}
