// runnel invite: lets one more device use a volume of the server that runs here.
import type { Command } from "commander";
import { AgentHome } from "../../agent/control/index.ts";
import { parseDuration } from "../duration.ts";
import type { Output } from "../output.ts";
import { absolutePath, addVerb } from "../verb.ts";

const EXPIRES_DEFAULT = "7d";

export function addInvite(program: Command, output: Output): void {
  addVerb(program, "invite", "Prints an invite to a volume, good for one device, for whoever runs the server.", [
    "invite docs",
    "invite docs --read-only --for Ada --expires 24h",
  ])
    .argument("<volume>", "the name of a volume that is served")
    .option("--read-only", "the device may not change anything")
    .option("--expires <time>", "how long the invite works: 30m, 24h, 7d", EXPIRES_DEFAULT)
    .option("--for <person>", "whom it is for, as the list of devices shall say")
    .option("--address <host:port>", "where others reach the server (default: this machine's name and its port)")
    .option("--data <dir>", "the server's data (default: in the agent's home)")
    .action(async (volume: string, options: InviteOptions) => {
      const { askServer } = await import("@runnel/server/admin");
      const result = await askServer(dataFolder(options.data), "invite", {
        volume,
        isReadOnly: options.readOnly ?? false,
        person: options.for ?? "",
        lastsMs: parseDuration(options.expires),
        ...(options.address === undefined ? {} : { address: options.address }),
      });
      output.result(result, () => [
        result.invite,
        "",
        `Works once, until ${new Date(result.untilMs).toLocaleString()}. Whoever has it is let in: send it so that nobody else reads it.`,
        "On the other machine: runnel login, and paste it there.",
      ]);
    });
}

interface InviteOptions {
  readOnly?: true;
  expires: string;
  for?: string;
  address?: string;
  data?: string;
}

export function dataFolder(typed: string | undefined): string {
  return absolutePath(typed ?? new AgentHome().serverFolder);
}
