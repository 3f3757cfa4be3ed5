// A large file that was never read comes as it is read: whoever wants its beginning waits for that, and little more
// than what is read crosses the line.
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { createHash, randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Sandbox, VolumeForEach, onMount, quiet } from "../src/harness/index.ts";
import type { Device, LinkEmulator } from "../src/harness/index.ts";

const SHAPE = { upBitsPerSecond: 20e6, downBitsPerSecond: 20e6, rttMs: 30 };
const FILE_BYTES = 24_000_000;
/** Bytes of its recipe, and of what is said around all that comes. */
const AROUND_BYTES = 400_000;

/** Each with a volume of its own: nothing of its file is on the device yet. */
const TESTS = 3;

let sandbox: Sandbox;
let volumes: VolumeForEach;
let link: LinkEmulator;
let device: Device;
let drive: string;
const content = randomBytes(FILE_BYTES);

beforeAll(async () => {
  sandbox = new Sandbox();
  volumes = await VolumeForEach.serve(sandbox, TESTS, (folder) => writeFileSync(join(folder, "large"), content));
  link = await sandbox.startEmulator(volumes.server.port, SHAPE);
  device = sandbox.device();
}, 60_000);

beforeEach(async () => {
  const { name } = volumes.next();
  drive = sandbox.makeFolder(name, "drive");
  await device.mount(`ws://127.0.0.1:${link.port}/${name}`, drive);
  await quiet(link);
  await link.resetCounts();
}, 60_000);

afterAll(() => sandbox.cleanup(), 120_000);

const downBytes = async (): Promise<number> => (await link.counts()).down.sentBytes;

test("a program that reads the beginning has it before twice as much has come, and three times as much never comes", async () => {
  const wanted = 2_000_000;
  await onMount('head -c "$2" "$1" >/dev/null', [join(drive, "large"), String(wanted)]);
  expect(await downBytes()).toBeLessThan(2 * wanted + AROUND_BYTES);
  await quiet(link);
  expect(await downBytes()).toBeLessThan(3 * wanted + AROUND_BYTES);
}, 60_000);

test("what is read here and there comes in small pieces", async () => {
  await onMount('for at in 5 20 11; do dd if="$1" of=/dev/null bs=1000000 skip="$at" count=1 status=none; done', [
    join(drive, "large"),
  ]);
  await quiet(link);
  expect(await downBytes()).toBeLessThan(3 * 3_000_000 + AROUND_BYTES);
}, 60_000);

test("a program that reads all of it gets what it is, hardly any of it twice", async () => {
  const [digest] = (await onMount('sha256sum "$1"', [join(drive, "large")], { deadlineMs: 60_000 })).split(" ");
  expect(digest).toBe(createHash("sha256").update(content).digest("hex"));
  await quiet(link);
  // Bytes on the border of two windows may come with both.
  expect(await downBytes()).toBeLessThan(1.05 * FILE_BYTES);
}, 120_000);
