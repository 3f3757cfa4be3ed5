// runnel reconnect: maps the drives again that an agent left behind.
import { fromSystemError, isRunnelError } from "@runnel/shared/base";
import { Option } from "commander";
import { z } from "zod";
import { askAgent } from "../../cli/agent-connection.ts";
import { formatCount } from "../../cli/format.ts";
import { absolutePath, addVerb } from "../../cli/verb.ts";
import { mountAsAsked } from "./mount.ts";
import { Place, text } from "../schemas.ts";
import { agentVerb } from "../verb.ts";

export const reconnectSchemas = {
  asks: z.object({}),
  /** `failed`: drives that are not there, and why, a sentence each; they stay to be mapped again. */
  gives: z.object({ mapped: z.array(Place), failed: z.array(Place.extend({ sentence: text })) }),
};

export const reconnect = agentVerb(reconnectSchemas, {
  pageAsks: reconnectSchemas.asks,
  async handle(agent) {
    const places = [...agent.lost, ...agent.resting].map(({ url, mountpoint }) => ({ url, mountpoint }));
    const ends = await Promise.allSettled(places.map((place) => mountAsAsked(agent, place)));
    const outcomes = places.map((place, index) => {
      const end = ends[index];
      if (end?.status !== "rejected") return { place, error: undefined };
      return { place, error: fromSystemError(end.reason, "map a drive again") };
    });
    // Somebody else was quicker.
    const isThere = (error: unknown): boolean => error === undefined || isRunnelError(error, "Exists");
    return {
      mapped: outcomes.filter(({ error }) => isThere(error)).map(({ place }) => place),
      failed: outcomes.flatMap(({ place, error }) =>
        error === undefined || isThere(error) ? [] : [{ ...place, sentence: error.message }],
      ),
    };
  },

  addCommand(program, output) {
    addVerb(program, "reconnect", "Maps the drives again that are kept (mount --keep), or that a killed agent left.", [
      "reconnect",
    ])
      .addOption(
        new Option("--home <folder>", "home of the agent, as RUNNEL_HOME names it").argParser(absolutePath).hideHelp(),
      )
      .action(async ({ home }: { home?: string }) => {
        // An entry that starts this at log-in has no environment of its own.
        if (home !== undefined) process.env["RUNNEL_HOME"] = home;
        const result = await askAgent("reconnect", reconnectSchemas, {});
        const { mapped, failed } = result;
        output.result(result, () => [
          mapped.length === 0 && failed.length === 0
            ? "No drive is to be mapped again."
            : `Mapped ${formatCount(mapped.length, "drive", "drives")} again.`,
          ...failed.map(({ mountpoint, sentence }) => `${mountpoint} is not mapped: ${sentence}`),
        ]);
        if (failed.length > 0) output.exitCode = 1;
      });
  },
});
