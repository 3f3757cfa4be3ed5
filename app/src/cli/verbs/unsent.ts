// runnel unsent: what is not on the server, and what a person can do about it.
import { RunnelError } from "@runnel/shared";
import type { Command } from "commander";
import type { ResultOf } from "../../agent/control/index.ts";
import { withRunningAgent } from "../agent-connection.ts";
import { formatBytes } from "../format.ts";
import type { Output } from "../output.ts";
import { absolutePath, addVerb } from "../verb.ts";

interface Options {
  export?: string;
  discard?: true;
  all?: true;
}

type Listed = ResultOf<"unsent">["unsent"][number];

export function addUnsent(program: Command, output: Output): void {
  addVerb(
    program,
    "unsent",
    "Lists what was written on drives and is not on their servers: path, size,\nsince when, and why.",
    ["unsent", "unsent ~/Docs --export ~/rescued", "unsent --discard ~/Docs/draft.odt"],
  )
    .argument("[paths...]", "drives, or files and folders in them; left out: all drives")
    .option("--export <folder>", "copy the contents into this folder, over no file that is there")
    .option("--discard", "give up the files that are named, for good; with --export once they are copied")
    .option("--all", "with --discard: all that are listed")
    .action(async (paths: string[], options: Options) => {
      const request = {
        verb: "unsent",
        paths: paths.map(absolutePath),
        ...(options.export === undefined ? {} : { exportTo: absolutePath(options.export) }),
        discards: options.discard ?? false,
        all: options.all ?? false,
      } as const;
      const result = await withRunningAgent((client) => client.ask<"unsent">(request));
      if (result === undefined && (paths.length > 0 || request.discards))
        throw new RunnelError(
          "NotFound",
          "unsent",
          "No drives are mounted. What waits is listed while its drive is mounted.",
        );
      output.result(result ?? { unsent: [] }, () => describeUnsent(result?.unsent));
    });
}

function describeUnsent(unsent: readonly Listed[] | undefined): string[] {
  if (unsent === undefined) return ["No drives are mounted."];
  if (unsent.length === 0) return ["Nothing is unsent."];
  return unsent.flatMap((file) => {
    const since = new Date(file.sinceMs).toISOString().slice(0, 19).replace("T", " ");
    const lines = [`${file.mountpoint}/${file.path}  ${formatBytes(file.sizeBytes)}, of ${since} UTC`];
    lines.push(`  ${file.reason ?? "It is sent as soon as that is possible."}`);
    if (file.exportedTo !== null) lines.push(`  Copied to ${file.exportedTo}.`);
    if (file.exportedTo !== null && file.isWhole === false)
      lines.push("  Of the version that was edited not all is left: zeros stand for the rest.");
    if (file.isDiscarded) lines.push("  Given up.");
    return lines;
  });
}
