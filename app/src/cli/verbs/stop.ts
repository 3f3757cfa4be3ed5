// runnel stop: unmounts all drives and ends the agent, also one of another version.
import { isRunnelError } from "@runnel/shared";
import type { Command } from "commander";
import { AgentHome } from "../../agent/control/index.ts";
import { withRunningAgent } from "../agent-connection.ts";
import { formatCount } from "../format.ts";
import type { Output } from "../output.ts";
import { addVerb } from "../verb.ts";

export function addStop(program: Command, output: Output): void {
  addVerb(program, "stop", "Unmounts all drives and ends the agent. The next mount starts a new one.", ["stop"])
    .option("--force", "also drives that programs use")
    .action(async (options: { force?: true }) => {
      const unmounted = await stopAgent(options.force ?? false);
      output.result({ stopped: unmounted !== undefined, unmounted: unmounted ?? [] }, () => [
        unmounted === undefined
          ? "No agent runs."
          : `The agent has ended; ${formatCount(unmounted.length, "drive was", "drives were")} unmounted.`,
      ]);
    });
}

async function stopAgent(force: boolean): Promise<{ url: string; mountpoint: string }[] | undefined> {
  try {
    return (await withRunningAgent((client) => client.ask<"stop">({ verb: "stop", force })))?.unmounted;
  } catch (error) {
    const pid = new AgentHome().readRecord()?.pid;
    if (!isRunnelError(error, "Version") || pid === undefined) throw error;
    // It answered just now, so the pid is its own. On this signal every version unmounts and ends.
    process.kill(pid, "SIGTERM");
    return [];
  }
}
