// Two offices, which the server knows by the addresses that it sees: who may meet as colleagues, and what whoever
// reaches a device that listens may cost it. Server, agents and attackers are processes of their own, the drives are
// mounted; each office comes from loopback addresses of its own.
import { spawn } from "node:child_process";
import { X509Certificate, createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, type Server, type Socket, connect, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { LIMITS, fingerprintOf } from "@runnel/shared";
import {
  type Device,
  Sandbox,
  type ServerProcess,
  noise,
  onMount,
  run,
  waitFor,
  watchMemory,
} from "../src/harness/index.ts";

const SIZE_BYTES = 4 * 1024 * 1024;
/** Recipe, the beginning of a file, and what is said around it. */
const LITTLE_BYTES = SIZE_BYTES / 10;
const READ_MS = 60_000;
/** Time after which a device has announced what it read: it gathers for 100 ms, on a busy machine. */
const ANNOUNCED_MS = 1_500;
const ATTACKER = fileURLToPath(new URL("../src/attack/attacker.ts", import.meta.url));
/** Longer than what is done meanwhile. */
const ATTACK_MS = 60_000;
/** Connections of an attacker that are there before anybody else comes. */
const ATTACKING = 32;
/** Connections that an agent keeps, and that the kernel keeps for it until it takes them. */
const KEPT_MAX = 4 * LIMITS.colleagueConnections + LIMITS.admittedColleagueConnections + 512;
/** An agent that serves a file while it is attacked. */
const GROWTH_MB = 64;

interface Seat {
  device: Device;
  drive: string;
  /** Bytes that have come from the server. */
  receivedBytes(): number;
}

let [ada, ben, eve]: Seat[] = [];
let sandbox: Sandbox;
let server: ServerProcess;
let served: string;
const doors: Server[] = [];
const sockets = new Set<Socket>();

beforeAll(async () => {
  sandbox = new Sandbox();
  served = sandbox.makeFolder("served");
  for (const [seed, name] of ["one", "two", "three", "four"].entries())
    writeFileSync(join(served, name), noise(SIZE_BYTES, seed + 1));
  const networks = ["--network", "berlin=127.10.0.0/16", "paris=127.20.0.0/16"];
  server = await sandbox.startServer({ volumes: { docs: served }, args: ["--tls", ...networks] });
  [ada, ben, eve] = await Promise.all([
    seat("ada", "127.10.0.1"),
    seat("ben", "127.20.0.1"),
    seat("eve", "127.20.7.1"),
  ]);
}, 120_000);

afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  for (const door of doors.splice(0)) door.close();
  await sandbox.cleanup();
}, 120_000);

/** Listens for a device, and passes on what it says from an address as the server is to see it. */
async function doorFrom(address: string): Promise<{ port: number; receivedBytes(): number }> {
  const lines: Socket[] = [];
  const door = createServer((here) => {
    const there = connect({ port: server.port, host: "127.0.0.1", localAddress: address });
    lines.push(there);
    for (const socket of [here, there]) {
      sockets.add(socket);
      socket.on("error", () => undefined).on("close", () => void (here.destroy(), there.destroy()));
    }
    here.pipe(there).pipe(here);
  });
  doors.push(door);
  await new Promise<void>((listening) => door.listen(0, "127.0.0.1", listening));
  const { port } = door.address() as AddressInfo;
  return { port, receivedBytes: () => lines.reduce((sum, { bytesRead }) => sum + bytesRead, 0) };
}

function given<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("It is not there.");
  return value;
}

async function seat(name: string, address: string): Promise<Seat> {
  const device = sandbox.device(name);
  const { port, receivedBytes } = await doorFrom(address);
  const place = ["--data", sandbox.path("data"), "--address", `127.0.0.1:${port}`];
  const { invite } = await sandbox.device("admin").ask(["invite", "docs", ...place]);
  const { url } = await device.ask(["login", String(invite), "--name", name]);
  const drive = sandbox.makeFolder(`drive-${name}`);
  await device.mount(String(url), drive, ["--colleagues", "network"]);
  return { device, drive, receivedBytes };
}

/** Reads a file whole. @returns bytes that came from the server and from colleagues for it. */
async function read(who: Seat | undefined, name: string): Promise<{ server: number; others: number }> {
  const { device, drive, receivedBytes } = given(who);
  const brought = async (): Promise<number> => {
    const { total } = await device.ask(["savings"]);
    return (total as { saved: { colleague: number } }).saved.colleague;
  };
  const before = { server: receivedBytes(), others: await brought() };
  const stdout = await onMount('sha256sum < "$1"', [join(drive, name)], { deadlineMs: READ_MS });
  const right = createHash("sha256")
    .update(readFileSync(join(served, name)))
    .digest("hex");
  expect(stdout.slice(0, right.length)).toBe(right);
  return { server: receivedBytes() - before.server, others: (await brought()) - before.others };
}

test("[W196] network brings nothing from the other office, everyone does", async () => {
  expect((await read(ada, "one")).server).toBeGreaterThan(SIZE_BYTES);
  const abroad = await read(ben, "one");
  expect(abroad.server).toBeGreaterThan(SIZE_BYTES);
  expect(abroad.others).toBe(0);
  await sleep(ANNOUNCED_MS);
  const sameOffice = await read(eve, "one");
  expect(sameOffice.server).toBeLessThan(LITTLE_BYTES);
  expect(sameOffice.others).toBeGreaterThan(SIZE_BYTES - LITTLE_BYTES);

  for (const { device, drive } of [given(ada), given(ben)])
    await device.ask(["set", drive, "--colleagues", "everyone"]);
  expect((await read(ada, "two")).server).toBeGreaterThan(SIZE_BYTES);
  await sleep(ANNOUNCED_MS);
  const everyone = await read(ben, "two");
  expect(everyone.server).toBeLessThan(LITTLE_BYTES);
  expect(everyone.others).toBeGreaterThan(SIZE_BYTES - LITTLE_BYTES);
}, 180_000);

/** Attacks the port at which a device listens while something is done. @returns MB that its agent has grown by. */
async function whileAttacked(attack: string, { device }: Seat, work: () => Promise<void>): Promise<number> {
  const { pid } = JSON.parse(readFileSync(join(device.home, "agent.json"), "utf8")) as { pid: number };
  const { stdout } = await run("ss", ["-Hltnp"]);
  const [, port = ""] = new RegExp(`:(\\d+) .*pid=${pid},`).exec(stdout) ?? [];
  const key = fingerprintOf(new X509Certificate(readFileSync(join(device.home, "identity", "certificate.pem"))));
  const memory = watchMemory({ agent: pid });
  const { agent: beforeMb = 0 } = memory.peaks();
  const args = ["--disable-warning=ExperimentalWarning", ATTACKER, port, String(ATTACK_MS), attack, "", key];
  const attacker = spawn(process.execPath, args, { env: sandbox.env, stdio: "inherit" });
  const ended = once(attacker, "exit");
  const connections = async (): Promise<number> =>
    (await run("ss", ["-Htn", "state", "established", `( sport = :${port} )`])).stdout.split("\n").length;
  await waitFor(async () => (await connections()) > ATTACKING, READ_MS, "the attack");
  await work();
  expect(attacker.exitCode).toBeNull();
  expect(await connections()).toBeLessThan(KEPT_MAX);
  attacker.kill();
  await ended;
  const { agent: peakMb = 0 } = memory.end();
  console.info(`${attack}: ${peakMb - beforeMb} MB more than ${beforeMb}`);
  return peakMb - beforeMb;
}

test.each([
  ["who send messages that grow", "unauthenticated", "three"],
  ["who say nothing", "silence", "four"],
])(
  "[W198] a device that listens to attackers %s grows little, and serves its colleague",
  async (_who, attack, name) => {
    expect((await read(ben, name)).server).toBeGreaterThan(SIZE_BYTES);
    await sleep(ANNOUNCED_MS);
    const grownMb = await whileAttacked(attack, given(ben), async () => {
      const { server: ofServer, others } = await read(eve, name);
      expect(others).toBeGreaterThan(SIZE_BYTES - LITTLE_BYTES);
      expect(ofServer).toBeLessThan(LITTLE_BYTES);
    });
    expect(grownMb).toBeLessThan(GROWTH_MB);
  },
  180_000,
);
