// Colleagues whom no address that the server knows leads to: each device is in a network namespace of its own, behind
// one address at the server, and finds the other by mDNS on the link between them.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { type Server, type Socket, connect, createServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { type Device, LAUNCHER, Sandbox, type ServerProcess, mustRun, noise, onMount } from "../src/harness/index.ts";

const SIZE_BYTES = 3 * 1024 * 1024;
const READ_MS = 60_000;
/** Parts of addresses and names, so that two runs of this file do not meet. */
const RUN = process.pid % 200;
const canNamespace = spawnSync("unshare", ["--net", "true"]).status === 0;
const skipped = canNamespace ? "" : " (skipped: no network of one's own can be made here)";

let sandbox: Sandbox;
let server: ServerProcess;
let served: string;
let relay: Server;
const sockets = new Set<Socket>();
const namespaces: string[] = [];

function ip(...words: string[]): void {
  const { status, stderr } = spawnSync("ip", words);
  if (status !== 0) throw new Error(`ip ${words.join(" ")}: ${stderr.toString()}`);
}

/** A machine with a line to this one, and more addresses there than are tried; others follow on its link `lan`. */
function makeNamespace(letter: string, last: number): { name: string; near: string } {
  const name = `rn${letter}${process.pid}`;
  const up = `ru${letter}${process.pid}`;
  const near = `10.211.${RUN}.${last}`;
  ip("netns", "add", name);
  namespaces.push(name);
  ip("link", "add", up, "type", "veth", "peer", "name", "line", "netns", name);
  ip("addr", "add", `${near}/30`, "dev", up);
  ip("link", "set", up, "up");
  ip("-n", name, "link", "set", "lo", "up");
  ip("-n", name, "addr", "add", `10.211.${RUN}.${last + 1}/30`, "dev", "line");
  for (const more of [1, 2, 3, 4]) ip("-n", name, "addr", "add", `10.212.${last}.${more}/32`, "dev", "line");
  ip("-n", name, "link", "set", "line", "up");
  return { name, near };
}

beforeEach(async () => {
  if (!canNamespace) return;
  sandbox = new Sandbox();
  served = sandbox.makeFolder("served");
  for (const [seed, name] of ["one", "two"].entries()) writeFileSync(join(served, name), noise(SIZE_BYTES, seed + 1));
  server = await sandbox.startServer({ volumes: { docs: served }, args: ["--tls"] });
  // A router does the same: whoever comes has one address for the server.
  relay = createServer((here) => {
    const there = connect(server.port, "127.0.0.1");
    for (const socket of [here, there]) {
      sockets.add(socket);
      socket.on("error", () => socket.destroy());
    }
    here.pipe(there).pipe(here);
  });
  await new Promise<void>((resolve) => relay.listen(0, "0.0.0.0", resolve));
}, 60_000);

afterEach(async () => {
  if (!canNamespace) return;
  await sandbox.cleanup();
  for (const socket of sockets) socket.destroy();
  await new Promise<void>((resolve) => relay.close(() => resolve()));
  for (const name of namespaces.splice(0)) ip("netns", "del", name);
}, 120_000);

async function seat(
  name: string,
  { name: namespace, near }: { name: string; near: string },
  env: NodeJS.ProcessEnv = {},
): Promise<{ device: Device; drive: string }> {
  const device = sandbox.device(name, env);
  const address = `${near}:${(relay.address() as { port: number }).port}`;
  const data = ["--data", sandbox.path("data"), "--address", address];
  const { invite } = await sandbox.device("admin").ask(["invite", "docs", ...data]);
  const drive = sandbox.makeFolder(`drive-${name}`);
  const inside = async (...words: string[]): Promise<{ url?: string }> => {
    const command = [`--net=/run/netns/${namespace}`, process.execPath, LAUNCHER, ...words, "--json"];
    const { stdout } = await mustRun("nsenter", command, { env: device.env, deadlineMs: READ_MS });
    return JSON.parse(stdout) as { url?: string };
  };
  const { url = "" } = await inside("login", String(invite), "--name", name);
  await inside("mount", url, drive, "--colleagues", "network");
  return { device, drive };
}

/** Reads a file whole. @returns bytes of it that colleagues brought. */
async function broughtBy({ device, drive }: { device: Device; drive: string }, name: string): Promise<number> {
  const brought = async (): Promise<number> => {
    const { total } = await device.ask(["savings"]);
    return (total as { saved: { colleague: number } }).saved.colleague;
  };
  const before = await brought();
  const stdout = await onMount('sha256sum < "$1"', [join(drive, name)], { deadlineMs: READ_MS });
  const seed = name === "one" ? 1 : 2;
  expect(stdout.slice(0, 64)).toBe(createHash("sha256").update(noise(SIZE_BYTES, seed)).digest("hex"));
  return (await brought()) - before;
}

(canNamespace ? test : test.skip)(
  `a colleague that no known address leads to is found by mDNS, unless that is off${skipped}`,
  async () => {
    const [first, second] = [makeNamespace("a", 1), makeNamespace("b", 5)];
    ip("-n", first.name, "link", "add", "lan", "type", "veth", "peer", "name", "lan", "netns", second.name);
    for (const [index, { name }] of [first, second].entries()) {
      ip("-n", name, "addr", "add", `192.168.${RUN}.${index + 1}/24`, "dev", "lan");
      ip("-n", name, "link", "set", "lan", "up");
    }
    const [laptop, desk, deaf] = await Promise.all([
      seat("laptop", first),
      seat("desk", second),
      seat("deaf", second, { RUNNEL_MDNS: "off" }),
    ]);
    expect(await broughtBy(laptop, "one")).toBe(0);
    expect(await broughtBy(desk, "one")).toBeGreaterThan(0.9 * SIZE_BYTES);
    await desk.device.ask(["unmount", desk.drive]);
    expect(await broughtBy(deaf, "one")).toBe(0);
  },
  120_000,
);
