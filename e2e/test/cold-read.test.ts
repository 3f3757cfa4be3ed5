// A few bytes of a large file that nobody has read: what they cost, beside a program that reads on too, and that they
// are right.
import { createHash } from "node:crypto";
import { closeSync, openSync, readSync, truncateSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { SeededRandom } from "@runnel/shared";
import { Sandbox, noise, onMount, quiet } from "../src/harness/index.ts";
import type { Device, LinkEmulator } from "../src/harness/index.ts";

const KiB = 1024;
const MiB = 1024 * KiB;
const READ_BYTES = 4 * KiB;
const READS = 7;
/** Bytes that are said around the content. */
const AROUND_BYTES = 2 * KiB;
const SLOW_MS = 60_000;
const SPARSE_FROM = 300 * MiB;

let sandbox: Sandbox;
let served: string;
let link: LinkEmulator;
let device: Device;
let drive: string;

beforeEach(() => {
  sandbox = new Sandbox();
  served = sandbox.makeFolder("served");
});

afterEach(() => sandbox.cleanup(), SLOW_MS);

async function mount(): Promise<void> {
  const server = await sandbox.startServer({ volumes: { docs: served } });
  link = await sandbox.startEmulator(server.port, { rttMs: 30, upBitsPerSecond: 4e6, downBitsPerSecond: 4e6 });
  drive = sandbox.makeFolder("drive");
  device = sandbox.device();
  await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive);
  await quiet(link);
}

async function roundTrips(): Promise<number> {
  const [one] = (await device.stats(drive))["mounts"] as { statistics: { roundTrips: number } }[];
  return one?.statistics.roundTrips ?? Infinity;
}

interface Cost {
  bytes: number;
  roundTrips: number;
}

function shownAt(path: string, offset: number): string {
  const [bytes, file] = [Buffer.alloc(READ_BYTES), openSync(join(served, path), "r")];
  readSync(file, bytes, 0, READ_BYTES, offset);
  closeSync(file);
  return createHash("sha1").update(bytes).digest("hex");
}

/** Costs of each of several reads at random places of a range of a file. */
async function readHereAndThere(path: string, from: number, length: number): Promise<Cost[]> {
  const random = new SeededRandom(3);
  const costs: Cost[] = [];
  for (let read = 0; read < READS; read++) {
    const place = from / READ_BYTES + random.below(length / READ_BYTES);
    await link.resetCounts();
    const before = await roundTrips();
    const script = 'dd if="$1" bs=4096 skip="$2" count=1 status=none | sha1sum';
    const [digest] = (await onMount(script, [join(drive, path), String(place)])).split(" ");
    const { up, down } = await link.counts();
    costs.push({ bytes: up.sentBytes + down.sentBytes, roundTrips: (await roundTrips()) - before });
    expect(digest).toBe(shownAt(path, place * READ_BYTES));
  }
  return costs;
}

const median = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0;

describe("a cold read of 4 KiB", () => {
  test(
    "[W140] [W141] anywhere in 64 MiB brings the chunks that hold it, in a sparse file of 360 MiB a little more than the 4 KiB; never the recipe, and in 2 round trips",
    async () => {
      writeFileSync(join(served, "large"), noise(64 * MiB, 1));
      const sparse = openSync(join(served, "sparse"), "w");
      writeSync(sparse, noise(4 * MiB, 2), 0, 4 * MiB, SPARSE_FROM);
      closeSync(sparse);
      truncateSync(join(served, "sparse"), SPARSE_FROM + 60 * MiB + 5);
      await mount();
      for (const [path, from, length, medianBytes, mostBytes] of [
        ["large", 0, 64 * MiB, 24 * KiB, 2 * 64 * KiB],
        ["sparse", SPARSE_FROM, 4 * MiB, 32 * KiB, 32 * KiB],
      ] as const) {
        const costs = await readHereAndThere(path, from, length);
        expect(median(costs.map(({ bytes }) => bytes))).toBeLessThan(medianBytes);
        for (const { bytes, roundTrips: trips } of costs) {
          expect(bytes).toBeLessThan(mostBytes + AROUND_BYTES);
          expect(trips).toBeLessThanOrEqual(2);
        }
      }
    },
    SLOW_MS,
  );
});
