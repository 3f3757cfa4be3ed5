// runnel right: what a device may do with a volume becomes something else, also for what it has open.
import { Argument, type Command } from "commander";
import type { Output } from "../output.ts";
import { addVerb } from "../verb.ts";
import { dataFolder } from "./invite.ts";

const RIGHTS = ["read", "write", "none"] as const;
const MAY = { read: "may only read", write: "may read and write", none: "may no longer use" };

export function addRight(program: Command, output: Output): void {
  addVerb(program, "right", "Changes what a device may do with a volume, at once, for whoever runs the server.", [
    "right ada-laptop docs read",
  ])
    .argument("<device>", "its name or its id, as runnel devices shows them")
    .argument("<volume>", "the name of a volume")
    .addArgument(new Argument("<right>", "what it may do from now on").choices(RIGHTS))
    .option("--data <dir>", "the server's data (default: in the agent's home)")
    .action(async (name: string, volume: string, right: (typeof RIGHTS)[number], options: { data?: string }) => {
      const { askServer } = await import("@runnel/server/admin");
      const result = await askServer(dataFolder(options.data), "right", { device: name, volume, right });
      output.result(result, () => [`${result.device.name} (${result.device.id}) ${MAY[right]} ${volume}.`]);
    });
}
