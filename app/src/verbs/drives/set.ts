// runnel set: changes the settings of a drive that is there.
import { RunnelError } from "@runnel/shared/base";
import { z } from "zod";
import { askAgent } from "../../cli/agent-connection.ts";
import { formatBytes } from "../../cli/format.ts";
import { parseSize } from "../../cli/size.ts";
import { absolutePath, addVerb } from "../../cli/verb.ts";
import { count, Place, text } from "../schemas.ts";
import { agentVerb } from "../verb.ts";

/** A cache that is smaller cannot hold what one read brings. */
const CACHE_BYTES_MIN = 1024 ** 2;

const schemas = {
  asks: z.object({
    mountpoint: text,
    cacheBytes: z.int().min(CACHE_BYTES_MIN).optional(),
    keep: z.boolean().optional(),
  }),
  gives: z.object({ drive: Place.extend({ cacheLimitBytes: count, isKept: z.boolean() }) }),
};

export const set = agentVerb(schemas, {
  pageAsks: schemas.asks,
  async handle(agent, { mountpoint, cacheBytes, keep: isKept }) {
    const mount = await agent.mountAt("set", mountpoint);
    agent.change(mount, {
      ...(cacheBytes === undefined ? {} : { cacheBytes }),
      ...(isKept === undefined ? {} : { isKept }),
    });
    const { url, ...settings } = mount.settings;
    return {
      drive: {
        url,
        mountpoint: settings.mountpoint,
        cacheLimitBytes: settings.cacheBytes,
        isKept: settings.isKept === true,
      },
    };
  },

  addCommand(program, output) {
    addVerb(program, "set", "Changes the settings of a drive, at once and for later.", [
      "set ~/Docs --cache-size 50G",
      "set ~/Docs --keep",
    ])
      .argument("<mountpoint>", "where the drive is", absolutePath)
      .option("--cache-size <size>", "how much cached contents may take, 1M at least: 500M, 20G", parseSize)
      .option("--keep", "map it again after a restart, with the desktop app or runnel reconnect, until you unmount it")
      .option("--no-keep", "do not")
      .action(async (mountpoint: string, { cacheSize: cacheBytes, keep }: { cacheSize?: number; keep?: boolean }) => {
        if (cacheBytes !== undefined && cacheBytes < CACHE_BYTES_MIN)
          throw new RunnelError("Invalid", "set", "A cache takes 1M at least.");
        const result = await askAgent("set", schemas, { mountpoint, cacheBytes, keep });
        const { cacheLimitBytes, isKept } = result.drive;
        output.result(result, () => [
          `${result.drive.mountpoint}: cached contents may take ${formatBytes(cacheLimitBytes)}.`,
          isKept ? "It is mapped again after a restart." : "It is not mapped again after a restart.",
        ]);
      });
  },
});
