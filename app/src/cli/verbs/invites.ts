// runnel invites: which invites there are, and what became of them; withdraws one.
import type { AdminResult } from "@runnel/server";
import type { Command } from "commander";
import { formatTable } from "../format.ts";
import type { Output } from "../output.ts";
import { addVerb } from "../verb.ts";
import { dataFolder } from "./invite.ts";

export type Invite = AdminResult<"withdraw">["withdrawn"];

export function addInvites(program: Command, output: Output): void {
  addVerb(program, "invites", "Lists invites and what became of them, for whoever runs the server.", [
    "invites",
    "invites --withdraw 1f0c77aa",
  ])
    .option("--withdraw <id>", "nobody can use that one any more")
    .option("--data <dir>", "the server's data (default: in the agent's home)")
    .action(async (options: { withdraw?: string; data?: string }) => {
      const { askServer } = await import("@runnel/server/admin");
      const data = dataFolder(options.data);
      if (options.withdraw !== undefined) {
        const result = await askServer(data, "withdraw", { invite: options.withdraw });
        output.result(result, () => [`Nobody can use the invite ${result.withdrawn.id} any more.`]);
        return;
      }
      const { invites } = await askServer(data, "invites", {});
      output.result({ invites }, () => describeInvites(invites));
    });
}

export function describeInvites(invites: readonly Invite[]): string[] {
  if (invites.length === 0) return ["No invites. Make one: runnel invite VOLUME"];
  const rows = invites.map((invite) => [
    invite.id,
    invite.isReadOnly ? `${invite.volume} (read)` : invite.volume,
    invite.person,
    stateOf(invite),
  ]);
  return formatTable([["invite", "volume", "for", "state"], ...rows], "words");
}

function stateOf({ usedBy, untilMs, hasRunOut }: Invite): string {
  if (usedBy !== null) return `used by ${usedBy}`;
  const until = new Date(untilMs).toLocaleString();
  return hasRunOut ? `ran out ${until}` : `works until ${until}`;
}
