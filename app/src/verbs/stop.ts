// runnel stop: unmounts all drives and ends the agent, also one of another version.
import { isRunnelError, RunnelError } from "@runnel/shared/base";
import { z } from "zod";
import { AgentHome } from "../agent/control/host/agent-home.ts";
import type { System } from "../agent/control/host/system.ts";
import { thisSystem } from "../agent/control/host/this-system.ts";
import { askRunningAgent } from "../cli/agent-connection.ts";
import { formatCount, unsentLines } from "../cli/format.ts";
import { addVerb } from "../cli/verb.ts";
import { count, Place } from "./schemas.ts";
import { agentVerb } from "./verb.ts";

const schemas = {
  asks: z.object({ force: z.boolean() }),
  gives: z.object({ unmounted: z.array(Place), unsentFiles: count, unsentNames: count }),
};

export const stop = agentVerb(schemas, {
  async handle(agent, { force }) {
    const ended = await agent.close(force);
    agent.deps.stopped();
    return ended;
  },

  addCommand(program, output) {
    addVerb(program, "stop", "Unmounts all drives and ends the agent. The next mount starts a new one.", ["stop"])
      .option("--force", "also drives that programs use")
      .action(async ({ force = false }: { force?: boolean }) => {
        const ended = await stopAgent(force);
        const given = ended ?? NOTHING;
        output.result({ stopped: ended !== undefined, ...given }, () => [
          ended === undefined
            ? "No agent runs."
            : `The agent has ended; ${formatCount(given.unmounted.length, "drive was", "drives were")} unmounted.`,
          ...unsentLines(given),
        ]);
      });
  },
});

const NOTHING: z.infer<typeof schemas.gives> = { unmounted: [], unsentFiles: 0, unsentNames: 0 };

async function stopAgent(force: boolean): Promise<z.infer<typeof schemas.gives> | undefined> {
  try {
    return await askRunningAgent("stop", schemas, { force });
  } catch (error) {
    const pid = new AgentHome().readRecord()?.pid;
    if (!isRunnelError(error, "Version") || pid === undefined) throw error;
    askOtherVersion(pid, error);
    return NOTHING;
  }
}

/** Asks an agent that answered just now, so the pid is its own. @throws RunnelError Version where it cannot be asked */
export function askOtherVersion(
  pid: number,
  cause: RunnelError,
  system: Pick<System, "asksBySignal"> = thisSystem,
): void {
  if (!system.asksBySignal) {
    const sentence = "The agent that runs is of another Runnel. End it with that one's own command: runnel stop";
    throw new RunnelError("Version", "stop", sentence, { cause });
  }
  // On this signal every version unmounts and ends.
  process.kill(pid, "SIGTERM");
}
