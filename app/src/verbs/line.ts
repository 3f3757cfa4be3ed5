// line: tells whether the line that this computer uses is metered, for what is not urgent and comes beside the drives:
// a newer version of the desktop app.
import { z } from "zod";
import { agentVerb } from "./verb.ts";

export const lineSchemas = {
  asks: z.object({}),
  gives: z.object({ isMetered: z.boolean() }),
};

export const line = agentVerb(lineSchemas, {
  async handle(agent) {
    // A person's own word on a drive's line counts before the system's; the careful one of two.
    const mounts = await agent.mountsAt("line");
    const words = mounts.flatMap(({ settings }) => settings.isMetered ?? []);
    if (words.length > 0) return { isMetered: words.includes(true) };
    using following = agent.deps.lineCost.follow(() => undefined);
    await following.answered;
    return { isMetered: agent.deps.lineCost.isMetered };
  },
});
