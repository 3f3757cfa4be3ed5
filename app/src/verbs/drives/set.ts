// runnel set: changes the settings of a drive that is there.
import { RunnelError } from "@runnel/shared/base";
import { z } from "zod";
import { askAgent } from "../../cli/agent-connection.ts";
import { formatBytes } from "../../cli/format.ts";
import { COLLEAGUES_UP, type ColleagueOptions, METERED, askedOfColleagues } from "../../cli/colleague-options.ts";
import { parseSize } from "../../cli/size.ts";
import { absolutePath, addVerb } from "../../cli/verb.ts";
import { count, Place, text } from "../schemas.ts";
import { agentVerb } from "../verb.ts";
import { COLLEAGUES, colleaguesUp, metered } from "./mount.ts";

/** A cache that is smaller cannot hold what one read brings. */
const CACHE_BYTES_MIN = 1024 ** 2;

const schemas = {
  asks: z.object({
    mountpoint: text,
    cacheBytes: z.int().min(CACHE_BYTES_MIN).optional(),
    keep: z.boolean().optional(),
    colleagues: z.enum(COLLEAGUES).optional(),
    colleaguesUpBytes: colleaguesUp,
    isMetered: metered,
  }),
  gives: z.object({
    drive: Place.extend({
      cacheLimitBytes: count,
      isKept: z.boolean(),
      colleagues: z.enum(COLLEAGUES),
      /** Null: as much as the line takes. */
      colleaguesUpBytes: count.nullable(),
      /** Null: as the system says. */
      isMetered: z.boolean().nullable(),
    }),
  }),
};

interface SetOptions extends ColleagueOptions {
  cacheSize?: number;
  keep?: boolean;
  colleagues?: (typeof COLLEAGUES)[number];
}

const COLLEAGUES_WORDS = {
  off: "It shares nothing with colleagues.",
  network: "It shares what is cached with colleagues on this network.",
  everyone: "It shares what is cached with all who use the volume.",
} as const;

export const set = agentVerb(schemas, {
  pageAsks: schemas.asks,
  async handle(agent, { mountpoint, cacheBytes, keep: isKept, ...others }) {
    const mount = await agent.mountAt("set", mountpoint);
    agent.change(mount, {
      ...(cacheBytes === undefined ? {} : { cacheBytes }),
      ...(isKept === undefined ? {} : { isKept }),
      ...(others.colleagues === undefined ? {} : { colleagues: others.colleagues }),
      ...(others.colleaguesUpBytes === undefined ? {} : { colleaguesUpBytes: others.colleaguesUpBytes }),
      ...(others.isMetered === undefined ? {} : { isMetered: others.isMetered }),
    });
    const { url, ...settings } = mount.settings;
    return {
      drive: {
        url,
        mountpoint: settings.mountpoint,
        cacheLimitBytes: settings.cacheBytes,
        isKept: settings.isKept === true,
        colleagues: settings.colleagues ?? ("off" as const),
        colleaguesUpBytes: settings.colleaguesUpBytes ?? null,
        isMetered: settings.isMetered ?? null,
      },
    };
  },

  addCommand(program, output) {
    addVerb(program, "set", "Changes the settings of a drive, at once and for later.", [
      "set ~/Docs --cache-size 50G",
      "set ~/Docs --keep",
      "set ~/Docs --colleagues network --colleagues-up 5M",
    ])
      .argument("<mountpoint>", "where the drive is", absolutePath)
      .option("--cache-size <size>", "how much cached contents may take, 1M at least: 500M, 20G", parseSize)
      .option("--keep", "map it again after a restart, with the desktop app or runnel reconnect, until you unmount it")
      .option("--no-keep", "do not")
      .addOption(
        program
          .createOption("--colleagues <who>", "share what is cached with others who use the volume, or do not")
          .choices(COLLEAGUES),
      )
      .option(...COLLEAGUES_UP)
      .option(...METERED)
      .action(async (mountpoint: string, options: SetOptions) => {
        const { cacheSize: cacheBytes, keep, colleagues: reach } = options;
        if (cacheBytes !== undefined && cacheBytes < CACHE_BYTES_MIN)
          throw new RunnelError("Invalid", "set", "A cache takes 1M at least.");
        const result = await askAgent("set", schemas, {
          mountpoint,
          cacheBytes,
          keep,
          colleagues: reach,
          ...askedOfColleagues(options),
        });
        const { cacheLimitBytes, isKept, colleagues, colleaguesUpBytes, isMetered } = result.drive;
        output.result(result, () => [
          `${result.drive.mountpoint}: cached contents may take ${formatBytes(cacheLimitBytes)}.`,
          isKept ? "It is mapped again after a restart." : "It is not mapped again after a restart.",
          COLLEAGUES_WORDS[colleagues],
          ...(colleagues === "off" || colleaguesUpBytes === null
            ? []
            : [`They get ${formatBytes(colleaguesUpBytes)} a second of it at the most.`]),
          ...(isMetered === null
            ? []
            : [isMetered ? "Its line is metered, you said." : "Its line is not metered, you said."]),
        ]);
      });
  },
});
