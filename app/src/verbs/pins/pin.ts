// runnel pin: keeps a file, or a folder with all in it, on this computer.
import { isRunnelError, RunnelError } from "@runnel/shared/base";
import { z } from "zod";
import { PinStatus } from "../../agent/mount-status.ts";
import { askAgent } from "../../cli/agent-connection.ts";
import { formatBytes, moreSpaceFor } from "../../cli/format.ts";
import { absolutePath, addVerb } from "../../cli/verb.ts";
import { Place, text } from "../schemas.ts";
import { agentVerb } from "../verb.ts";

const schemas = {
  /** `path`: of a file or folder in a drive, or of the drive. */
  asks: z.object({ path: text }),
  gives: z.object({ pin: PinStatus.extend(Place.shape) }),
};

export const pin = agentVerb(schemas, {
  pageAsks: schemas.asks,
  async handle(agent, { path: asked }) {
    const { mount, path } = await agent.locate("pin", asked);
    const { url, mountpoint } = mount.settings;
    return { pin: { url, mountpoint, ...(await mount.pin(path)) } };
  },

  addCommand(program, output) {
    addVerb(
      program,
      "pin",
      "Keeps a file, or a folder with all that is or comes in it, on this computer:\ncomplete, up to date, and there without the server.",
      ["pin ~/Docs/reports"],
    )
      .argument("<path>", "in a drive, or a drive", absolutePath)
      .action(async (path: string) => {
        const result = await askAgent("pin", schemas, { path }).catch((error: unknown) => {
          if (!isRunnelError(error, "Quota")) throw error;
          throw new RunnelError("Quota", "pin", `${error.message} ${moreSpaceFor("MOUNTPOINT")}`, { cause: error });
        });
        const { all, here, isComplete } = result.pin;
        const rest = isComplete
          ? ""
          : ` ${formatBytes(here.bytes)} of ${formatBytes(all.bytes)} are here; the rest comes.`;
        output.result(result, () => [`Pinned ${path}.${rest}`]);
      });
  },
});
