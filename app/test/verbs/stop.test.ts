// An agent of another version that is to end.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "@jest/globals";
import { RunnelError } from "@runnel/shared";
import { linuxSystem } from "../../src/agent/control/host/linux/system.ts";
import { windowsSystem } from "../../src/agent/control/host/windows/system.ts";
import { askOtherVersion } from "../../src/verbs/stop.ts";

test("is asked by a signal where it hears of one, and otherwise left running and named", async () => {
  const cause = new RunnelError("Version", "stop", "It is of another version.");
  const agent = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
  await once(agent, "spawn");
  const ended = once(agent, "exit");
  expect(() => askOtherVersion(agent.pid as number, cause, windowsSystem)).toThrow(
    expect.objectContaining({ kind: "Version", message: expect.stringContaining("runnel stop") }),
  );
  expect(agent.exitCode ?? agent.signalCode).toBeNull();
  askOtherVersion(agent.pid as number, cause, linuxSystem);
  await ended;
});
