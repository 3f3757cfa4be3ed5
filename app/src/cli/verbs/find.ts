// runnel find: a search that runs at the server.
import type { Command } from "commander";
import { isUrl } from "../../agent/control/index.ts";
import type { FoundEntry } from "../../agent/mount.ts";
import { withAgent } from "../agent-connection.ts";
import type { Output } from "../output.ts";
import { absolutePath, addVerb } from "../verb.ts";

export function addFind(program: Command, output: Output): void {
  const find = addVerb(program, "find", "Searches a volume at the server, mounted or not.", [
    "find ~/Docs -name '*.txt' -size +1M",
    "find ws://127.0.0.1:7473/docs -type d",
  ]);
  find
    .argument("<where>", "a mount point, or ws://HOST:PORT/VOLUME")
    .argument(
      "[predicate...]",
      "-name GLOB, -iname GLOB, -type f|d|l, -size ±N[ckMG],\n-newer SEQ|TIME; and, or, not, ( )",
    )
    .option("--secret <file>", "of a server without TLS that was started with --secret; before WHERE")
    // The predicate's words begin with a dash, too.
    .passThroughOptions()
    .allowUnknownOption()
    .action(async (where: string, typed: string[], options: { secret?: string }) => {
      if (typed.includes("--help")) find.help();
      const words = typed.filter((word) => word !== "--json");
      const secret = options.secret === undefined ? {} : { secret: absolutePath(options.secret) };
      const target = isUrl(where) ? where : absolutePath(where);
      const entries: FoundEntry[] = [];
      await withAgent((client) =>
        client.ask<"find">({ verb: "find", target, words, ...secret }, (part) => {
          if (output.isJson) for (const entry of part.entries) entries.push(entry);
          else output.names(part.entries.map(({ path }) => path));
        }),
      );
      if (output.isJson) output.result({ entries }, () => []);
    });
}
