// Colleagues: devices that use one volume serve each other's misses, so that an office behind a thin line fetches each
// byte once. Server and agents are processes of their own, the drives are mounted.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Sandbox, noise, onMount, run, waitFor } from "../src/harness/index.ts";
import type { Device, LinkEmulator, ServerProcess } from "../src/harness/index.ts";

const MiB = 1024 * 1024;
const SIZE_BYTES = 10 * MiB;
/** Recipe, the beginning of a file, and what is said around it. */
const LITTLE_BYTES = SIZE_BYTES / 20;
const READ_MS = 60_000;
const TEST_MS = 180_000;

interface Seat {
  device: Device;
  drive: string;
  url: string;
  /** Between the device and the server. */
  link: LinkEmulator;
}

let sandbox: Sandbox;
let server: ServerProcess;
let served: string;

beforeEach(async () => {
  sandbox = new Sandbox();
  served = sandbox.makeFolder("served");
  for (const [seed, name] of ["one", "two", "three"].entries())
    writeFileSync(join(served, name), noise(SIZE_BYTES, seed + 1));
  server = await sandbox.startServer({ volumes: { docs: served }, args: ["--tls"] });
}, 60_000);

afterEach(() => sandbox.cleanup(), 120_000);

/** Lets a device in over a line of its own, and maps the volume there. */
async function seat(name: string, ...options: string[]): Promise<Seat> {
  const device = sandbox.device(name);
  const link = await sandbox.startEmulator(server.port);
  const place = ["--data", sandbox.path("data"), "--address", `127.0.0.1:${link.port}`];
  const { invite } = await sandbox.device("admin").ask(["invite", "docs", ...place]);
  const { url } = await device.ask(["login", String(invite), "--name", name]);
  const drive = sandbox.makeFolder(`drive-${name}`);
  await device.mount(String(url), drive, options);
  return { device, drive, url: String(url), link };
}

const NETWORK = ["--colleagues", "network"];

/** Reads a file whole. @returns bytes that came from the server meanwhile. */
async function bytesToRead({ drive, link }: Seat, name: string): Promise<number> {
  await link.resetCounts();
  const stdout = await onMount('sha256sum < "$1"', [join(drive, name)], { deadlineMs: READ_MS });
  const right = createHash("sha256")
    .update(readFileSync(join(served, name)))
    .digest("hex");
  expect(stdout.slice(0, right.length)).toBe(right);
  return (await link.counts()).down.sentBytes;
}

function pidOf({ device }: Pick<Seat, "device">): number {
  return (JSON.parse(readFileSync(join(device.home, "agent.json"), "utf8")) as { pid: number }).pid;
}

/** Ports that the process of a device's agent listens at. */
async function portsOf({ device }: Pick<Seat, "device">): Promise<string[]> {
  const pid = pidOf({ device });
  const { stdout } = await run("ss", ["-Hltnp"]);
  return stdout.split("\n").filter((line) => line.includes(`pid=${pid},`));
}

/** Bytes that colleagues have brought to a device so far. */
async function broughtTo({ device }: Seat): Promise<number> {
  const { total } = await device.ask(["savings"]);
  return (total as { saved: { colleague: number } }).saved.colleague;
}

test(
  "what one device has read the next one has of it; who pauses, goes or is shut out costs time only",
  async () => {
    // A drive that wants no colleagues has no key and no port.
    const [laptop, desk] = await Promise.all([seat("laptop"), seat("desk", ...NETWORK)]);
    expect(await portsOf(laptop)).toHaveLength(0);
    expect(existsSync(join(laptop.device.home, "identity"))).toBe(false);
    await laptop.device.ask(["set", laptop.drive, ...NETWORK]);
    expect(await bytesToRead(laptop, "one")).toBeGreaterThan(SIZE_BYTES);
    expect(await bytesToRead(desk, "one")).toBeLessThan(LITTLE_BYTES);
    const before = await broughtTo(desk);
    expect(before).toBeGreaterThan(SIZE_BYTES - LITTLE_BYTES);

    // Nothing is listened to by a drive that is paused, or whose setting is off.
    expect(await portsOf(laptop)).toHaveLength(1);
    await laptop.device.ask(["pause", laptop.drive]);
    expect(await portsOf(laptop)).toHaveLength(0);
    await laptop.device.ask(["resume", laptop.drive]);
    await waitFor(async () => (await portsOf(laptop)).length === 1, READ_MS, "the laptop to listen again");
    await desk.device.ask(["set", desk.drive, "--metered", "yes"]);
    expect(await portsOf(desk)).toHaveLength(0);
    const said = await desk.device.runnel(["status"]);
    expect(said.stdout).toContain("Nothing is shared with colleagues: the line is metered.");
    await desk.device.ask(["set", desk.drive, "--metered", "no"]);
    await waitFor(async () => (await portsOf(desk)).length === 1, READ_MS, "the desk to listen over an unmetered line");
    await desk.device.ask(["set", desk.drive, "--colleagues", "off"]);
    await waitFor(async () => (await portsOf(desk)).length === 0, READ_MS, "the desk to listen no more");
    await desk.device.ask(["set", desk.drive, "--colleagues", "network"]);

    // The one that has it is killed in the middle: the rest comes from the server.
    await bytesToRead(laptop, "two");
    await laptop.device.ask(["set", laptop.drive, "--colleagues-up", "4M"]);
    const reading = bytesToRead(desk, "two");
    await waitFor(async () => (await broughtTo(desk)) > before, READ_MS, "bytes of the laptop");
    process.kill(pidOf(laptop), "SIGKILL");
    const cost = await reading;
    expect(cost).toBeGreaterThan(LITTLE_BYTES);
    expect(cost).toBeLessThan(SIZE_BYTES);

    // It has it again, and a device without a right gets nothing of it.
    await laptop.device.mount(laptop.url, laptop.drive);
    const up = async (...options: string[]): Promise<unknown> => {
      const { drive } = await laptop.device.ask(["set", laptop.drive, ...options]);
      return (drive as { colleaguesUpBytes: unknown }).colleaguesUpBytes;
    };
    expect(await up()).toBe(4 * MiB);
    expect(await up("--colleagues-up", "none")).toBeNull();
    await laptop.device.ask(["unmount", laptop.drive]);
    await laptop.device.mount(laptop.url, laptop.drive, [...NETWORK, "--colleagues-up", "5M"]);
    expect(await up()).toBe(5 * MiB);
    await bytesToRead(laptop, "three");
    const data = ["--data", sandbox.path("data")];
    const { devices } = await sandbox.device("admin").ask(["devices", ...data]);
    const { id = "" } = (devices as { id: string; name: string }[]).find(({ name }) => name === "desk") ?? {};
    const brought = await broughtTo(desk);
    await sandbox.device("admin").ask(["revoke", id, ...data]);
    const refused = await run("sh", ["-c", 'cat "$1"', "sh", join(desk.drive, "three")], { deadlineMs: READ_MS });
    expect(refused.code).not.toBe(0);
    expect(await broughtTo(desk)).toBeLessThanOrEqual(brought);
  },
  TEST_MS,
);
