// runnel flush: waits until everything written so far is safe on the server.
import { z } from "zod";
import { askAgent } from "../cli/agent-connection.ts";
import { formatCount } from "../cli/format.ts";
import { absolutePath, addVerb } from "../cli/verb.ts";
import { Place, text, Unsent } from "./schemas.ts";
import { agentVerb } from "./verb.ts";

const schemas = {
  asks: z.object({ mountpoint: text, applied: z.boolean() }),
  /** `unsent`: what is stuck; all else is on the server. */
  gives: z.object({ flushed: Place.extend({ applied: z.boolean(), unsent: z.array(Unsent) }) }),
};

export const flush = agentVerb(schemas, {
  pageAsks: schemas.asks,
  async handle(agent, { mountpoint, applied }) {
    const mount = await agent.mountAt("flush", mountpoint);
    const unsent = (await mount.flush(applied)).map(({ id: _id, ...shown }) => shown);
    return { flushed: { url: mount.settings.url, mountpoint: mount.settings.mountpoint, applied, unsent } };
  },

  addCommand(program, output) {
    addVerb(program, "flush", "Returns when everything written so far is durable on the server.", ["flush ~/Docs"])
      .argument("<mountpoint>", "where the drive is", absolutePath)
      .option("--applied", "and the server's plain files show it")
      .action(async (mountpoint: string, { applied = false }: { applied?: boolean }) => {
        const result = await askAgent("flush", schemas, { mountpoint, applied });
        output.result(result, () => describeFlush(result.flushed));
      });
  },
});

function describeFlush({ applied, unsent }: z.infer<typeof schemas.gives>["flushed"]): string[] {
  const [subject, files] = [unsent.length === 0 ? "Everything" : "Everything else", unsent.length];
  const done = applied
    ? `${subject} is on the server, in its plain files too.`
    : `${subject} written so far is on the server.`;
  if (files === 0) return [done];
  return [done, `${formatCount(files, "file is", "files are")} not: runnel unsent says why.`];
}
