// The end of the agent's log, for a page.
import { z } from "zod";
import { logTail } from "../../agent/control/host/log-tail.ts";
import { agentVerb } from "../verb.ts";

const LINES_MAX = 500;

const schemas = {
  asks: z.object({ lines: z.int().positive().max(LINES_MAX) }),
  /** The oldest first. */
  gives: z.object({ lines: z.array(z.string()) }),
};

export const log = agentVerb(schemas, {
  pageAsks: schemas.asks,
  async handle(agent, { lines }) {
    return { lines: await logTail(agent.deps.home.logPath, lines) };
  },
});
