// runnel resume: ends a pause.
import { z } from "zod";
import { askAgent } from "../../cli/agent-connection.ts";
import { absolutePath, addVerb } from "../../cli/verb.ts";
import { Place, text } from "../schemas.ts";
import { agentVerb } from "../verb.ts";

export const resumeSchemas = {
  /** `mountpoint`: left out, all drives. */
  asks: z.object({ mountpoint: text.optional() }),
  /** Drives that were paused. */
  gives: z.object({ resumed: z.array(Place) }),
};

export const resume = agentVerb(resumeSchemas, {
  pageAsks: resumeSchemas.asks,
  async handle(agent, { mountpoint }) {
    const mounts = await agent.mountsAt("resume", mountpoint);
    const paused = mounts.filter(({ settings }) => settings.pause !== undefined);
    await agent.pause(paused, undefined);
    return { resumed: paused.map(({ settings }) => ({ url: settings.url, mountpoint: settings.mountpoint })) };
  },

  addCommand(program, output) {
    addVerb(program, "resume", "Ends a pause: what waits is sent, and all goes on.", ["resume", "resume ~/Docs"])
      .argument("[mountpoint]", "where the drive is (default: all drives)", absolutePath)
      .action(async (mountpoint: string | undefined) => {
        const result = await askAgent("resume", resumeSchemas, { mountpoint });
        output.result(result, () =>
          result.resumed.length === 0
            ? ["Nothing is paused."]
            : result.resumed.map((drive) => `Resumed ${drive.mountpoint}.`),
        );
      });
  },
});
