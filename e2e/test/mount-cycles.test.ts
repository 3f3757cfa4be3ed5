// Mounting and unmounting in quick succession. A thousand cycles, and what they leave behind: leaks.long.test.ts.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { Control, Sandbox, onMount } from "../src/harness/index.ts";

const CYCLES = 30;

let sandbox: Sandbox;

beforeEach(() => {
  sandbox = new Sandbox();
});

afterEach(() => sandbox.cleanup(), 120_000);

test("a volume can be mounted again the moment it was unmounted", async () => {
  const server = await sandbox.startServer();
  const device = sandbox.device();
  const mountpoint = sandbox.makeFolder("drive");
  const url = `${server.url}/docs`;
  await device.mount(url, mountpoint); // Starts the agent.
  await onMount('echo hello >"$1/a.txt"', [mountpoint]);
  const control = await Control.of(device);
  for (let cycle = 0; cycle < CYCLES; cycle++) {
    await control.ask({ verb: "unmount", mountpoint, force: false });
    await control.ask({ verb: "mount", url, mountpoint, mode: "sync" });
  }
  control.close();
  expect(await onMount('cat "$1/a.txt"', [mountpoint])).toBe("hello\n");
}, 120_000);
