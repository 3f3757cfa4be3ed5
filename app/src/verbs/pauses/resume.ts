// runnel resume: ends a pause.
import { z } from "zod";
import type { Mount } from "../../agent/mount.ts";
import { askAgent } from "../../cli/agent-connection.ts";
import { absolutePath, addVerb } from "../../cli/verb.ts";
import { text } from "../schemas.ts";
import { agentVerb } from "../verb.ts";
import { PausedPlace, placeOf } from "./pause.ts";

export const resumeSchemas = {
  /** `path`: a drive with all in it, or a folder or file in one; left out, all drives. */
  asks: z.object({ path: text.optional() }),
  /** Drives, and folders and files in them, that were paused. */
  gives: z.object({ resumed: z.array(PausedPlace) }),
};

export const resume = agentVerb(resumeSchemas, {
  pageAsks: resumeSchemas.asks,
  async handle(agent, { path: asked }) {
    const at = asked === undefined ? undefined : await agent.locate("resume", asked);
    const resumed: z.infer<typeof PausedPlace>[] = [];
    const add = ({ settings: { url, mountpoint } }: Mount, path: string): void =>
      void resumed.push({ url, mountpoint, path });
    if (at !== undefined && at.path !== "") {
      if (await agent.pauseFolder(at.mount, at.path, undefined)) add(at.mount, at.path);
      return { resumed };
    }
    const mounts = at === undefined ? await agent.mountsAt("resume") : [at.mount];
    const paused = mounts.filter(({ settings }) => settings.pause !== undefined);
    await agent.pause(paused, undefined);
    for (const mount of paused) add(mount, "");
    for (const mount of mounts)
      for (const { path } of (await mount.status(false)).pausedFolders)
        if (await agent.pauseFolder(mount, path, undefined)) add(mount, path);
    return { resumed };
  },

  addCommand(program, output) {
    addVerb(program, "resume", "Ends a pause: what waits is sent, and all goes on.", ["resume", "resume ~/Docs/Films"])
      .argument("[path]", "a drive, with all in it, or a folder or file in one (default: all drives)", absolutePath)
      .action(async (path: string | undefined) => {
        const result = await askAgent("resume", resumeSchemas, { path });
        output.result(result, () =>
          result.resumed.length === 0
            ? ["Nothing is paused."]
            : result.resumed.map((place) => `Resumed ${placeOf(place)}.`),
        );
      });
  },
});
