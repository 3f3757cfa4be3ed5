// runnel remove: a file, or a folder with all in it, in one round trip.
import { z } from "zod";
import { askAgent } from "../cli/agent-connection.ts";
import { absolutePath, addVerb } from "../cli/verb.ts";
import { count, Place, text } from "./schemas.ts";
import { agentVerb } from "./verb.ts";

const schemas = {
  /** `path`: of a file or folder in a drive; a folder goes with all that is in it. */
  asks: z.object({ path: text }),
  /** Files and folders that are gone, of all there were. */
  part: z.object({ removed: count, all: count }),
  gives: z.object({ removed: Place.extend({ path: z.string() }) }),
};

export const remove = agentVerb(schemas, {
  pageAsks: schemas.asks,
  async handle(agent, { path: asked }, call) {
    const { mount, path } = await agent.locate("remove", asked);
    const { url, mountpoint } = mount.settings;
    // A client that does not read them loses nothing.
    await mount.remove(path, (removed, all) => void call.part({ removed, all }).catch(() => undefined));
    return { removed: { url, mountpoint, path } };
  },

  addCommand(program, output) {
    addVerb(
      program,
      "remove",
      "Removes a file, or a folder with all in it, at the server: one request for\na whole tree. Old versions stay there, within the volume's budget.",
      ["remove ~/Docs/old"],
    )
      .argument("<path>", "in a drive", absolutePath)
      .action(async (path: string) => {
        const showProgress = ({ removed, all }: { removed: number; all: number }): void =>
          output.progress(removed, all);
        const result = await askAgent("remove", schemas, { path }, showProgress).finally(() => output.endProgress());
        output.result(result, () => [`Removed ${path}.`]);
      });
  },
});
