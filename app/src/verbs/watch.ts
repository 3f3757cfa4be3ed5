// watch: statistics again and again until it is cancelled, for programs that show them.
import { z } from "zod";
import { pause } from "@runnel/shared/base";
import { MeasuredMounts, text } from "./schemas.ts";
import { measure } from "./stats.ts";
import { agentVerb } from "./verb.ts";

const schemas = {
  asks: z.object({ mountpoint: text.optional(), intervalMs: z.int().min(100).max(60_000) }),
  part: MeasuredMounts,
  gives: z.object({}),
};

export const watch = agentVerb(schemas, {
  pageAsks: schemas.asks,
  async handle(agent, { mountpoint, intervalMs }, call) {
    while (!call.signal.aborted) {
      await call.part(measure(await agent.mountsAt("watch", mountpoint)));
      await pause(agent.deps.clock, intervalMs, call.signal);
    }
    return {};
  },
});
