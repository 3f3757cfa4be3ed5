// A large file that was never read comes as it is read: whoever wants its beginning waits for that, and little more
// than what is read crosses the line.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { createHash, randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Sandbox, onMount, quiet } from "../src/harness/index.ts";
import type { LinkEmulator } from "../src/emulator/index.ts";

const SHAPE = { upBitsPerSecond: 20e6, downBitsPerSecond: 20e6, rttMs: 30 };
const FILE_BYTES = 24_000_000;
/** Bytes of its recipe, and of what is said around all that comes. */
const AROUND_BYTES = 400_000;

let sandbox: Sandbox;
let link: LinkEmulator;
let drive: string;
const content = randomBytes(FILE_BYTES);

beforeEach(async () => {
  sandbox = new Sandbox();
  const served = sandbox.makeFolder("served");
  writeFileSync(join(served, "large"), content);
  const server = await sandbox.startServer({ volumes: { docs: served } });
  link = await sandbox.startEmulator(server.port, SHAPE);
  drive = sandbox.makeFolder("drive");
  await sandbox.device().mount(`ws://127.0.0.1:${link.port}/docs`, drive);
  await quiet(link);
  await link.resetCounts();
});

afterEach(async () => {
  await sandbox.cleanup();
});

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
