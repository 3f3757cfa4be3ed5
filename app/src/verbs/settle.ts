// runnel settle: takes a conflict from the list, once a person has seen to it.
import { z } from "zod";
import { RunnelError } from "@runnel/shared/base";
import { askAgent } from "../cli/agent-connection.ts";
import { formatCount } from "../cli/format.ts";
import { absolutePath, addVerb } from "../cli/verb.ts";
import { Place, text } from "./schemas.ts";
import { agentVerb } from "./verb.ts";

const schemas = {
  /** `path`: that a conflict names, in a drive. */
  asks: z.object({ path: text }),
  gives: z.object({ settled: z.object({ ...Place.shape, path: z.string(), conflicts: z.int() }) }),
};

export const settle = agentVerb(schemas, {
  pageAsks: schemas.asks,
  async handle(agent, { path: asked }) {
    const { mount, path } = await agent.locate("settle", asked);
    const { url, mountpoint } = mount.settings;
    const conflicts = await mount.settle(path);
    if (conflicts === 0)
      throw new RunnelError("NotFound", "settle", `${asked} is no conflict: runnel status lists them.`);
    return { settled: { url, mountpoint, path, conflicts } };
  },

  addCommand(program, output) {
    addVerb(
      program,
      "settle",
      "Takes a conflict from the list, for everybody. Compare the two first: both files\nstay as they are.",
      ["settle ~/Docs/report.txt"],
    )
      .argument("<path>", "that runnel status names", absolutePath)
      .action(async (path: string) => {
        const result = await askAgent("settle", schemas, { path });
        output.result(result, () => [`Settled ${formatCount(result.settled.conflicts, "conflict", "conflicts")}.`]);
      });
  },
});
