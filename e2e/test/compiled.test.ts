// Code that was compiled at one start is there at the next.
import { readdirSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { Sandbox, waitFor } from "../src/harness/index.ts";

let sandbox: Sandbox;

beforeEach(() => {
  sandbox = new Sandbox();
});

afterEach(() => sandbox.cleanup(), 120_000);

test("a server and an agent keep what they compiled as soon as they run, whatever ends them", async () => {
  const [ofServer, ofDevice] = [sandbox.makeFolder("server-cache"), sandbox.makeFolder("cache")];
  const kept = (cache: string): number => readdirSync(cache, { recursive: true }).length;
  const server = await sandbox.startServer({ env: keptIn(ofServer) });
  await waitFor(() => kept(ofServer) > 500, 20_000, "what the server compiled");
  await server.kill();
  const again = await sandbox.startServer({ env: keptIn(ofServer) });
  const device = sandbox.device("a", keptIn(ofDevice));
  await device.runnel(["status"]);
  const byCommand = kept(ofDevice);
  await device.mount(`${again.url}/docs`, sandbox.makeFolder("drive"));
  await waitFor(() => kept(ofDevice) > byCommand + 100, 20_000, "what the agent compiled");
  await device.killAgent();
}, 60_000);

test("without a place for it all starts the same", async () => {
  writeFileSync(sandbox.path("file"), "");
  const device = sandbox.device("a", keptIn(sandbox.path("file")));
  expect(await device.runnel(["status"])).toMatchObject({ code: 0, stderr: "" });
}, 60_000);

function keptIn(folder: string): { XDG_CACHE_HOME: string; NODE_COMPILE_CACHE: string } {
  return { XDG_CACHE_HOME: folder, NODE_COMPILE_CACHE: "" };
}
