// runnel unmount: ends a drive.
import { z } from "zod";
import { askAgent } from "../../cli/agent-connection.ts";
import { unsentLines } from "../../cli/format.ts";
import { absolutePath, addVerb } from "../../cli/verb.ts";
import { count, Place, text } from "../schemas.ts";
import { agentVerb } from "../verb.ts";

export const unmountSchemas = {
  asks: z.object({ mountpoint: text, force: z.boolean() }),
  /**
   * `wasLost`: what an earlier agent left behind was detached. `unsentFiles`, `unsentNames`: kept here, and sent when
   * the drive is mounted there again; null: not known.
   */
  gives: z.object({
    unmounted: Place,
    wasLost: z.boolean(),
    unsentFiles: count.nullable(),
    unsentNames: count.nullable(),
  }),
};

export const unmount = agentVerb(unmountSchemas, {
  pageAsks: unmountSchemas.asks,
  handle: (agent, { mountpoint, force }) => agent.unmount(mountpoint, force),

  addCommand(program, output) {
    addVerb(program, "unmount", "Ends a drive. Also takes away what a crashed agent left at a mount point.", [
      "unmount ~/Docs",
    ])
      .argument("<mountpoint>", "where the drive is", absolutePath)
      .option("--force", "also while programs use it")
      .action(async (mountpoint: string, { force = false }: { force?: boolean }) => {
        const result = await askAgent("unmount", unmountSchemas, { mountpoint, force });
        output.result(result, () => [
          result.wasLost
            ? `Took away what an earlier agent left at ${result.unmounted.mountpoint}.`
            : `Unmounted ${result.unmounted.mountpoint}.`,
          ...unsentLines(result),
        ]);
      });
  },
});
