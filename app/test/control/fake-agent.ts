// A process with a real agent over fake mounts: `node fake-agent.ts [idle milliseconds]`. Says "running" or
// "elsewhere".
import { endOnSignals, startAgent } from "../../src/agent/run-agent.ts";
import { fakeEngines } from "./fake-mount.ts";

const [idle] = process.argv.slice(2);
const agent = await startAgent({
  version: "0.0.0",
  engines: fakeEngines,
  ...(idle === undefined ? {} : { idleMs: Number(idle) }),
});
if (agent !== undefined) endOnSignals(agent);
console.log(agent === undefined ? "elsewhere" : "running");
await agent?.ended;
process.exit(0);
