// runnel remove: a file, or a folder with all in it, in one round trip.
import type { Command } from "commander";
import { withAgent } from "../agent-connection.ts";
import type { Output } from "../output.ts";
import { absolutePath, addVerb } from "../verb.ts";

export function addRemove(program: Command, output: Output): void {
  addVerb(
    program,
    "remove",
    "Removes a file, or a folder with all in it, at the server: one request for\na whole tree. Old versions stay there, within the volume's budget.",
    ["remove ~/Docs/old"],
  )
    .argument("<path>", "in a drive")
    .action(async (path: string) => {
      const request = { verb: "remove", path: absolutePath(path) } as const;
      const result = await withAgent((client) =>
        client.ask<"remove">(request, ({ removed, all }) => output.progress(removed, all)),
      ).finally(() => output.endProgress());
      output.result(result, () => [`Removed ${request.path}.`]);
    });
}
