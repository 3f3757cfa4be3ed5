// runnel unmount: ends a drive.
import type { Command } from "commander";
import { withAgent } from "../agent-connection.ts";
import { unsentLines } from "../format.ts";
import type { Output } from "../output.ts";
import { absolutePath, addVerb } from "../verb.ts";

export function addUnmount(program: Command, output: Output): void {
  addVerb(program, "unmount", "Ends a drive. Also takes away what a crashed agent left at a mount point.", [
    "unmount ~/Docs",
  ])
    .argument("<mountpoint>", "where the drive is")
    .option("--force", "also while programs use it")
    .action(async (mountpoint: string, options: { force?: true }) => {
      const request = { verb: "unmount", mountpoint: absolutePath(mountpoint), force: options.force ?? false } as const;
      const result = await withAgent((client) => client.ask<"unmount">(request));
      output.result(result, () => [
        result.wasLost
          ? `Took away what an earlier agent left at ${result.unmounted.mountpoint}.`
          : `Unmounted ${result.unmounted.mountpoint}.`,
        ...unsentLines(result.unsentFiles ?? 0),
      ]);
    });
}
