// Colleagues: devices that use one volume serve each other's misses, so that an office behind a thin line fetches each
// byte once. Server and agents are processes of their own, the drives are mounted.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Sandbox, noise, onMount } from "../src/harness/index.ts";
import type { Device, LinkEmulator, ServerProcess } from "../src/harness/index.ts";

const MiB = 1024 * 1024;
const SIZE_BYTES = 20 * MiB;
/** Recipe, the beginning of a file, and what is said around it. */
const LITTLE_BYTES = SIZE_BYTES / 20;
const READ_MS = 60_000;
const TEST_MS = 180_000;

interface Seat {
  device: Device;
  drive: string;
  /** Between the device and the server. */
  link: LinkEmulator;
}

let sandbox: Sandbox;
let server: ServerProcess;
let served: string;

beforeEach(async () => {
  sandbox = new Sandbox();
  served = sandbox.makeFolder("served");
  writeFileSync(join(served, "one"), noise(SIZE_BYTES, 1));
  writeFileSync(join(served, "two"), noise(SIZE_BYTES, 2));
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
  return { device, drive, link };
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

test(
  "what one device has read, the next one has of it, and not of the server",
  async () => {
    const [laptop, desk] = [await seat("laptop", ...NETWORK), await seat("desk", ...NETWORK)];
    expect(await bytesToRead(laptop, "one")).toBeGreaterThan(SIZE_BYTES);
    const cost = await bytesToRead(desk, "one");
    expect(cost).toBeLessThan(LITTLE_BYTES);
  },
  TEST_MS,
);
