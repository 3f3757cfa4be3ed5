// runnel unpin: ends a pin.
import { z } from "zod";
import { askAgent } from "../../cli/agent-connection.ts";
import { absolutePath, addVerb } from "../../cli/verb.ts";
import { Place, text } from "../schemas.ts";
import { agentVerb } from "../verb.ts";

const schemas = {
  /** `path`: of what was pinned, which need not be there any more. */
  asks: z.object({ path: text }),
  gives: z.object({ unpinned: Place.extend({ path: z.string() }) }),
};

export const unpin = agentVerb(schemas, {
  pageAsks: schemas.asks,
  async handle(agent, { path: asked }) {
    const { mount, path } = await agent.locate("unpin", asked);
    const { url, mountpoint } = mount.settings;
    await mount.unpin(path);
    return { unpinned: { url, mountpoint, path } };
  },

  addCommand(program, output) {
    addVerb(program, "unpin", "Ends a pin. What is here of it stays until its space is needed.", [
      "unpin ~/Docs/reports",
    ])
      .argument("<path>", "that was pinned", absolutePath)
      .action(async (path: string) => {
        const result = await askAgent("unpin", schemas, { path });
        output.result(result, () => [`${path} is not pinned any more. Free its space now: runnel evict`]);
      });
  },
});
