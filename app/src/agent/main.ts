// The agent as a process of its own, as the command line starts it: no terminal, the root of its home's disk as working
// directory.
import { flushCompileCache } from "node:module";
import { isRunnelError, keepHeapSmall } from "@runnel/shared";
import { productEngines } from "./product-engines.ts";
import { endOnSignals, settleProcess, startAgent } from "./run-agent.ts";
import { VERSION } from "./version.ts";

keepHeapSmall();
settleProcess();

try {
  const agent = await startAgent({ version: VERSION, engines: productEngines });
  if (agent !== undefined) {
    endOnSignals(agent);
    // Kept for the next one: this one may end by a kill.
    flushCompileCache();
    await agent.ended;
  }
  process.exit(0);
} catch (error) {
  // The last line of agent.log, which whoever started the agent shows.
  console.error(isRunnelError(error) ? error.message : error);
  process.exit(1);
}
