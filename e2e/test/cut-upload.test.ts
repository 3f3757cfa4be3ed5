// An upload that the server's end cuts goes on where it was: what arrived is not sent again.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Sandbox, mustRun, noise, onMount, quiet, waitFor } from "../src/harness/index.ts";
import type { Device, LinkEmulator, ServerProcess } from "../src/harness/index.ts";

const MB = 1_000_000;
const SIZE_BYTES = 40 * MB;
/** Bytes that one end has sent and the other not yet stored: some runs of a megabyte. */
const IN_FLIGHT_BYTES = 4 * 1024 * 1024;
const OVERHEAD = 1.01;
const SLOW_MS = 120_000;

let sandbox: Sandbox;
let server: ServerProcess;
let link: LinkEmulator;
let device: Device;
let drive: string;

beforeEach(async () => {
  sandbox = new Sandbox();
  const volumes = { docs: sandbox.makeFolder("served") };
  server = await sandbox.startServer({ volumes });
  link = await sandbox.startEmulator(server.port, { upBitsPerSecond: 80e6, downBitsPerSecond: 80e6, rttMs: 30 });
  device = sandbox.device();
  drive = sandbox.makeFolder("drive");
  await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive);
}, 60_000);

afterEach(() => sandbox.cleanup(), 120_000);

test("[W26] a killed server gets no more than what was under way a second time", async () => {
  const source = sandbox.path("source");
  writeFileSync(source, noise(SIZE_BYTES, 1));
  await quiet(link);
  await link.resetCounts();
  const copied = onMount('cp "$2" "$1/big"', [drive, source], { deadlineMs: SLOW_MS });
  copied.catch(() => undefined);
  await waitFor(async () => (await link.counts()).up.deliveredBytes > SIZE_BYTES / 2, SLOW_MS, "half of the upload");
  await server.kill();
  const { up: before } = await link.counts();
  expect(before.deliveredBytes).toBeLessThan(0.9 * SIZE_BYTES);
  const { volumes, data } = server.options;
  await sandbox.startServer({ volumes, data, listen: `127.0.0.1:${server.port}` });
  await copied;
  await device.flush(drive, { up: true });
  await quiet(link);
  const { up } = await link.counts();
  expect(up.sentBytes).toBeGreaterThan(SIZE_BYTES);
  expect(up.sentBytes).toBeLessThan(OVERHEAD * SIZE_BYTES + IN_FLIGHT_BYTES);
  await mustRun("cmp", [source, sandbox.path("served", "big")]);
  expect(readdirSync(join(sandbox.path("served"), ".runnel-store", "temp"))).toEqual([]);
}, 180_000);
