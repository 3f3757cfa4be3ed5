// runnel stop: unmounts all drives and ends the agent, also one of another version.
import { isRunnelError } from "@runnel/shared";
import type { Command } from "commander";
import { AgentHome, type ResultOf } from "../../agent/control/index.ts";
import { withRunningAgent } from "../agent-connection.ts";
import { formatCount, unsentLines } from "../format.ts";
import type { Output } from "../output.ts";
import { addVerb } from "../verb.ts";

export function addStop(program: Command, output: Output): void {
  addVerb(program, "stop", "Unmounts all drives and ends the agent. The next mount starts a new one.", ["stop"])
    .option("--force", "also drives that programs use")
    .action(async (options: { force?: true }) => {
      const ended = await stopAgent(options.force ?? false);
      const { unmounted, unsentFiles } = ended ?? NOTHING;
      output.result({ stopped: ended !== undefined, unmounted, unsentFiles }, () => [
        ended === undefined
          ? "No agent runs."
          : `The agent has ended; ${formatCount(unmounted.length, "drive was", "drives were")} unmounted.`,
        ...unsentLines(unsentFiles),
      ]);
    });
}

const NOTHING: ResultOf<"stop"> = { unmounted: [], unsentFiles: 0 };

async function stopAgent(force: boolean): Promise<ResultOf<"stop"> | undefined> {
  try {
    return await withRunningAgent((client) => client.ask<"stop">({ verb: "stop", force }));
  } catch (error) {
    const pid = new AgentHome().readRecord()?.pid;
    if (!isRunnelError(error, "Version") || pid === undefined) throw error;
    // It answered just now, so the pid is its own. On this signal every version unmounts and ends.
    process.kill(pid, "SIGTERM");
    return NOTHING;
  }
}
