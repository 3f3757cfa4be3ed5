// runnel agent: the agent in the foreground, for developers and for systems that supervise it themselves; or in the
// background, for the desktop app.
import { RunnelError } from "@runnel/shared/base";
import type { Command } from "commander";
import { AgentHome } from "../../agent/control/index.ts";
import { VERSION } from "../../agent/version.ts";
import { withAgent } from "../agent-connection.ts";
import type { Output } from "../output.ts";
import { addVerb } from "../verb.ts";

export function addAgent(program: Command, output: Output): void {
  addVerb(program, "agent", "Runs the agent in the foreground until Ctrl-C.", ["agent"], { hidden: true })
    .option("--background", "start it in the background, unless one runs, and return when it answers")
    .action(async ({ background = false }: { background?: boolean }) => {
      if (background) {
        await withAgent({}, () => Promise.resolve());
        const record = new AgentHome().readRecord();
        output.result({ agent: { pid: record?.pid ?? null, socket: record?.socket ?? null } }, () => []);
        return;
      }
      const { endOnSignals, settleProcess, startAgent } = await import("../../agent/run-agent.ts");
      const { productEngines } = await import("../../agent/product-engines.ts");
      settleProcess();
      const agent = await startAgent({ version: VERSION, engines: productEngines, idleMs: Infinity });
      if (agent === undefined) {
        throw new RunnelError("Exists", "start the agent", "An agent runs already. End it first: runnel stop");
      }
      endOnSignals(agent);
      output.result({ agent: { pid: process.pid, socket: agent.socket } }, () => [
        `The agent listens at ${agent.socket}. Ctrl-C unmounts all drives and ends it.`,
      ]);
      await agent.ended;
    });
}
