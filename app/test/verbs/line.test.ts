// An agent's answer about the line: a person's word, else the system's.
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { RealClock } from "@runnel/shared";
import type { Agent } from "../../src/agent/agent.ts";
import { MemoryCost } from "../../src/agent/control/host/line-cost/memory-cost.ts";
import { AGENT_TABLE } from "../../src/main/agent-table.ts";
import { connectAgent } from "../../src/agent/control/index.ts";
import { line } from "../../src/verbs/line.ts";
import { makePlace, runnel, startFakeAgent, stopAgent } from "../control/processes.ts";

/** An agent with drives of which a person has said so, or nothing. */
async function isMetered(system: MemoryCost, ...words: (boolean | undefined)[]): Promise<boolean> {
  const mounts = words.map((word) => ({ settings: word === undefined ? {} : { isMetered: word } }));
  const agent = { deps: { lineCost: system.cost }, mountsAt: () => Promise.resolve(mounts) };
  const answer = await line.handle(agent as unknown as Agent, {}, undefined as never);
  return answer.isMetered;
}

test.each([
  [false, [], false],
  [true, [], true],
  [true, [undefined], true],
  [true, [false, undefined], false],
  [false, [false, true], true],
  [false, [undefined, true], true],
])("a system that says %s, and a person who says %j of drives, is metered: %s", async (says, words, expected) => {
  const system = new MemoryCost();
  system.isMetered = says;
  expect(await isMetered(system, ...words)).toBe(expected);
  expect(system.watchers).toBe(0);
});

const onLinux = process.platform === "linux" ? test : test.skip;
onLinux("is asked by the desktop app over the agent's socket, and counts what was said at the mount", async () => {
  const { home, mountpoint } = makePlace();
  await startFakeAgent(home).firstLine;
  await runnel(home, "mount", "ws://127.0.0.1:1/docs", mountpoint, "--metered", "yes");
  const settings = { version: "0.0.0", clock: new RealClock(), deadlineMs: 5000 };
  const client = await connectAgent(join(home, "agent.sock"), AGENT_TABLE, settings);
  try {
    expect(await client?.ask("line", {})).toEqual({ isMetered: true });
  } finally {
    client?.close();
    await stopAgent(home);
  }
});
