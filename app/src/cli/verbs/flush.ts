// runnel flush: waits until everything written so far is safe on the server.
import type { Command } from "commander";
import type { ResultOf } from "../../agent/control/index.ts";
import { withAgent } from "../agent-connection.ts";
import { formatCount } from "../format.ts";
import type { Output } from "../output.ts";
import { absolutePath, addVerb } from "../verb.ts";

function describeFlush({ up, unsent }: ResultOf<"flush">["flushed"]): string[] {
  const [what, files] = [unsent.length === 0 ? "Everything" : "Everything else", unsent.length];
  const done = up ? `${what} is on the server, in its plain files too.` : `${what} written so far is on the server.`;
  if (files === 0) return [done];
  return [done, `${formatCount(files, "file is", "files are")} not: runnel unsent says why.`];
}

export function addFlush(program: Command, output: Output): void {
  addVerb(program, "flush", "Returns when everything written so far is durable on the server.", ["flush ~/Docs"])
    .argument("<mountpoint>", "where the drive is")
    .option("--up", "and the server's plain files show it")
    .action(async (mountpoint: string, options: { up?: true }) => {
      const request = { verb: "flush", mountpoint: absolutePath(mountpoint), up: options.up ?? false } as const;
      const result = await withAgent((client) => client.ask<"flush">(request));
      output.result(result, () => describeFlush(result.flushed));
    });
}
