// Code that was compiled at one start is there at the next.
import { readdirSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { Sandbox } from "../src/harness/index.ts";

let sandbox: Sandbox;

beforeEach(() => {
  sandbox = new Sandbox();
});

afterEach(() => sandbox.cleanup(), 120_000);

test("a server and an agent keep what they compiled as soon as they run, whatever ends them", async () => {
  const cache = sandbox.makeFolder("cache");
  const env = { XDG_CACHE_HOME: cache, NODE_COMPILE_CACHE: "" };
  const kept = (): number => readdirSync(cache, { recursive: true }).length;
  const server = await sandbox.startServer({ env });
  await server.kill();
  const byServer = kept();
  expect(byServer).toBeGreaterThan(50);
  const again = await sandbox.startServer({ env });
  const device = sandbox.device("a", env);
  await device.mount(`${again.url}/docs`, sandbox.makeFolder("drive"));
  await device.killAgent();
  expect(kept()).toBeGreaterThan(byServer + 20);
}, 60_000);

test("without a place for it all starts the same", async () => {
  writeFileSync(sandbox.path("file"), "");
  const device = sandbox.device("a", { XDG_CACHE_HOME: sandbox.path("file"), NODE_COMPILE_CACHE: "" });
  expect(await device.runnel(["status"])).toMatchObject({ code: 0, stderr: "" });
}, 60_000);
