// runnel find: a search that runs at the server.
import { RunnelError } from "@runnel/shared/base";
import { z } from "zod";
import { CONTROL_LIMITS } from "../agent/control/protocol.ts";
import { isUrl, volumeUrl } from "../agent/control/volume-url.ts";
import { FoundEntry } from "../agent/mount-status.ts";
import { askAgent } from "../cli/agent-connection.ts";
import { absolutePath, addVerb } from "../cli/verb.ts";
import { notFromPage, text } from "./schemas.ts";
import { agentVerb } from "./verb.ts";

const schemas = {
  /**
   * `target`: a mount point, or the URL of a volume that need not be mounted. `words`: the predicate as it was typed.
   */
  asks: z.object({ target: text, words: z.array(text).max(1024), secret: text.optional() }),
  part: z.object({ entries: z.array(FoundEntry) }),
  gives: z.object({}),
};

/** Entries of one part. */
const PART_ENTRIES = 1000;

export const find = agentVerb(schemas, {
  pageAsks: schemas.asks.extend({ secret: notFromPage }),
  async handle(agent, { target, words, secret }, call) {
    const predicate = agent.deps.parsePredicate(words);
    const found = isUrl(target)
      ? agent.deps.findByUrl(volumeUrl(target), predicate, secret)
      : (await agent.mountAt("find", target)).find(predicate);
    let entries: FoundEntry[] = [];
    let bytes = 0;
    for await (const entry of found) {
      if (call.signal.aborted) throw new RunnelError("Interrupted", "find", "The search was ended before it was done.");
      entries.push(entry);
      bytes += entry.path.length;
      if (bytes < CONTROL_LIMITS.partBytes && entries.length < PART_ENTRIES) continue;
      await call.part({ entries });
      entries = [];
      bytes = 0;
    }
    if (entries.length > 0) await call.part({ entries });
    return {};
  },

  addCommand(program, output) {
    const command = addVerb(program, "find", "Searches a volume at the server, mounted or not.", [
      "find ~/Docs -name '*.txt' -size +1M",
      "find ws://127.0.0.1:7473/docs -type d",
    ]);
    command
      .argument("<where>", "a mount point, or ws://HOST:PORT/VOLUME", (typed) =>
        isUrl(typed) ? typed : absolutePath(typed),
      )
      .argument(
        "[predicate...]",
        "-name GLOB, -iname GLOB, -type f|d|l, -size ±N[ckMG],\n-newer SEQ|TIME; and, or, not, ( )",
      )
      .option("--secret <file>", "of a server without TLS that was started with --secret; before WHERE", absolutePath)
      // The predicate's words begin with a dash, too.
      .passThroughOptions()
      .allowUnknownOption()
      .action(async (target: string, typed: string[], { secret }: { secret?: string }) => {
        if (typed.includes("--help")) command.help();
        const words = typed.filter((word) => word !== "--json");
        const entries: FoundEntry[] = [];
        await askAgent("find", schemas, { target, words, secret }, (part) => {
          if (output.isJson) for (const entry of part.entries) entries.push(entry);
          else output.names(part.entries.map(({ path }) => path));
        });
        if (output.isJson) output.result({ entries }, () => []);
      });
  },
});
