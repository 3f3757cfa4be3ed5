// Changes by another client in a file that was open lately come with the feed: opening it again costs no round trip.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { writeFileSync } from "node:fs";
import { Sandbox, noise, onMount, quiet, waitFor } from "../src/harness/index.ts";
import type { Device, LinkEmulator } from "../src/harness/index.ts";

const SLOW_MS = 120_000;
const FILE_BYTES = 500_000;

interface Client {
  device: Device;
  link: LinkEmulator;
  drive: string;
}

let sandbox: Sandbox;
let author: Client;
let reader: Client;

beforeEach(async () => {
  sandbox = new Sandbox();
  const server = await sandbox.startServer({ volumes: { docs: sandbox.makeFolder("served") } });
  const client = async (name: string, rttMs: number): Promise<Client> => {
    const link = await sandbox.startEmulator(server.port, { rttMs });
    const [device, drive] = [sandbox.device(name), sandbox.makeFolder(`drive-${name}`)];
    await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive);
    return { device, link, drive };
  };
  author = await client("author", 0);
  reader = await client("reader", 100);
}, 60_000);

afterEach(() => sandbox.cleanup(), 120_000);

/** Costs of a script on the reader's drive: its answers that something waited for, and all bytes. */
async function costOf(script: string): Promise<{ roundTrips: number; bytes: number; output: string }> {
  const { device, link, drive } = reader;
  await quiet(link);
  await link.resetCounts();
  await device.stats(drive, { reset: true });
  const output = await onMount(script, [drive], { deadlineMs: SLOW_MS });
  const { mounts } = (await device.stats(drive)) as { mounts: { statistics: { roundTrips: number } }[] };
  await quiet(link);
  const { up, down } = await link.counts();
  return { roundTrips: mounts[0]?.statistics.roundTrips ?? NaN, bytes: up.sentBytes + down.sentBytes, output };
}

/** The author's edit is done when its close has returned: then the reader, under its lease, has been told. */
const edit = (at: number, text: string): Promise<string> =>
  onMount(`printf ${text} | dd of="$1/f" bs=1 seek=${at} conv=notrunc status=none`, [author.drive]);

const READ = 'dd if="$1/f" bs=1 skip=250000 count=8 status=none; cksum < "$1/f"';

/** It is told of as wanted a moment after it was read. */
async function readerWantsTheFile(): Promise<void> {
  const source = sandbox.path("source");
  writeFileSync(source, noise(FILE_BYTES, 1));
  await onMount('cp "$2" "$1/f"', [author.drive, source]);
  await onMount('cksum "$1/f"', [reader.drive]);
  const isWanted = async (): Promise<boolean> => {
    await edit(100, "before");
    return (await costOf(READ)).roundTrips === 0;
  };
  await waitFor(isWanted, SLOW_MS / 2, "the file to be wanted");
}

test(
  "a file that another client changed is opened for no round trip when it was open lately, and an edit comes for less than 300 bytes",
  async () => {
    await readerWantsTheFile();
    for (const text of ["changed1", "changed2", "changed3"]) {
      await quiet(reader.link);
      await reader.link.resetCounts();
      await edit(250_000, text);
      await quiet(reader.link);
      const { up, down } = await reader.link.counts();
      // The change, its acknowledgement, the content, and perhaps a renewal of the lease.
      expect(up.sentBytes + down.sentBytes).toBeLessThanOrEqual(300);
      const read = await costOf(READ);
      expect(read.output).toBe(`${text}${await onMount('cksum < "$1/f"', [author.drive])}`);
      expect(read.roundTrips).toBe(0);
      // Nothing but renewals.
      expect(read.bytes).toBeLessThanOrEqual(120);
    }
  },
  SLOW_MS,
);

test(
  "a larger change is fetched when the file is opened: one round trip",
  async () => {
    await readerWantsTheFile();
    const more = sandbox.path("more");
    writeFileSync(more, noise(40_000, 2));
    await onMount('cat "$2" >> "$1/f"', [author.drive, more]);
    const read = await costOf('cksum < "$1/f"');
    expect(read.output).toBe(await onMount('cksum < "$1/f"', [author.drive]));
    expect(read.roundTrips).toBe(1);
    expect(read.bytes).toBeLessThan(40_000 + 1_500);
  },
  SLOW_MS,
);
