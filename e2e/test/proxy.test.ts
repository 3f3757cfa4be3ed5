// Through a company's HTTP proxy, a process of its own: it sees where to, and nothing else.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Sandbox, refusalOf, run, waitFor } from "../src/harness/index.ts";
import type { Device, RunResult, ServerProcess } from "../src/harness/index.ts";

const PROXY = fileURLToPath(new URL("../src/harness/connect-proxy.ts", import.meta.url));

let sandbox: Sandbox;
let server: ServerProcess;
let device: Device;

beforeEach(async () => {
  sandbox = new Sandbox();
  server = await sandbox.startServer({ listen: "0.0.0.0:0" });
  device = sandbox.device();
}, 60_000);

afterEach(() => sandbox.cleanup(), 120_000);

function sh(folder: string, script: string): Promise<RunResult> {
  return run("sh", ["-c", script], { cwd: folder });
}

interface Proxy {
  port: number;
  /** Addresses that it has made tunnels to. */
  tunnels: string[];
  child: ChildProcess;
}

/** `mode`: as connect-proxy.ts takes it. */
async function startProxy(mode = "open"): Promise<Proxy> {
  const child = spawn(process.execPath, [PROXY, "0", mode], { env: sandbox.env, stdio: ["ignore", "pipe", "inherit"] });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
  const port = Number(await waitFor(() => lines.shift(), 10_000, "the proxy's port"));
  return { port, tunnels: lines, child };
}

async function invite(host = "127.0.0.1"): Promise<string> {
  const args = ["invite", "docs", "--data", sandbox.path("data"), "--address", `${host}:${server.port}`];
  return (await device.ask(args))["invite"] as string;
}

test("a drive works through a proxy that was named at the login, and comes back through it", async () => {
  const proxy = await startProxy();
  await device.ask(["login", await invite(), "--proxy", `http://127.0.0.1:${proxy.port}`]);
  const drive = sandbox.makeFolder("drive");
  await device.mount(`wss://127.0.0.1:${server.port}/docs`, drive);
  await sh(drive, "head -c 300000 /dev/urandom > file");
  expect(proxy.tunnels.length).toBeGreaterThanOrEqual(2);
  expect(new Set(proxy.tunnels)).toEqual(new Set([`127.0.0.1:${server.port}`]));
  const before = proxy.tunnels.length;
  await server.kill();
  server = await sandbox.startServer({ listen: `0.0.0.0:${server.port}` });
  await waitFor(async () => (await sh(drive, "echo again > more")).code === 0, 20_000, "the drive to be back");
  expect(proxy.tunnels.length).toBeGreaterThan(before);
}, 60_000);

test("the environment's proxy is used, but for what NO_PROXY names and for this machine", async () => {
  const proxy = await startProxy();
  const environment = { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`, NO_PROXY: "", no_proxy: "", https_proxy: "" };
  // No name of this machine's that every resolver knows is not loopback: the proxy is asked, and finds it.
  const host = "0.0.0.0";
  const through = sandbox.device("through", environment);
  await through.ask(["login", await invite(host)]);
  expect(proxy.tunnels).toEqual([`${host}:${server.port}`]);
  const around = sandbox.device("around", { ...environment, NO_PROXY: host });
  await around.ask(["login", await invite(host)]);
  const local = sandbox.device("local", environment);
  await local.ask(["login", await invite("127.0.0.1")]);
  const direct = sandbox.device("direct", environment);
  await direct.ask(["login", await invite(host), "--proxy", "direct"]);
  expect(proxy.tunnels).toHaveLength(1);
}, 60_000);

test("a proxy that wants a password gets it, and what it refuses is told in one sentence", async () => {
  const refused = async (proxy: string): Promise<unknown> =>
    refusalOf(await device.runnel(["login", await invite(), "--proxy", proxy, "--json"]));
  const strict = await startProxy("ada:100% se cret");
  const place = `127.0.0.1:${server.port}`;
  expect(await refused(`http://127.0.0.1:${strict.port}`)).toMatchObject({
    kind: "Denied",
    sentence: `The proxy 127.0.0.1:${strict.port} wants to know who you are: give it as http://USER:PASSWORD@HOST:PORT.`,
  });
  await device.ask(["login", await invite(), "--proxy", `http://ada:100% se%20cret@127.0.0.1:${strict.port}`]);
  expect(strict.tunnels).toEqual([place]);
  const closed = await startProxy("refuse");
  expect(await refused(`http://127.0.0.1:${closed.port}`)).toMatchObject({
    kind: "Unreachable",
    sentence: `The proxy 127.0.0.1:${closed.port} lets nobody through to ${place} (HTTP 403 Forbidden): ask whoever runs it.`,
  });
  closed.child.kill();
  await waitFor(() => closed.child.exitCode !== null || closed.child.signalCode !== null, 15_000, "the proxy to end");
  expect(await refused(`http://127.0.0.1:${closed.port}`)).toMatchObject({
    kind: "Unreachable",
    sentence: `Cannot reach the proxy at 127.0.0.1:${closed.port}: nothing listens there.`,
  });
  expect(await refused("socks5://127.0.0.1:1")).toMatchObject({ code: 2, kind: "Invalid" });
}, 60_000);
