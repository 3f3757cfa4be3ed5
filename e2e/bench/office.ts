// `office`: devices behind one thin line open the same new file at once (C2Cfs §5). Reference: one device that does so
// alone. With colleagues the line carries the file once, and the last device is not much later than the one alone.
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { type Device, type LinkEmulator, Sandbox, noise, onMount, quiet } from "../src/harness/index.ts";
import type { BenchContext, Benchmark, Result } from "./benchmark.ts";
import { median } from "./benchmark.ts";

const SHAPE = { upBitsPerSecond: 20e6, downBitsPerSecond: 20e6, rttMs: 40 };
const DEVICES = 10;
const MB = 1e6;
const SIZES = { full: 100 * MB, small: 20 * MB, tiny: 4 * MB };
const DEADLINE_MS = 600_000;

export interface OfficeRow {
  what: string;
  devices: number;
  /** From the moment at which all began until the last one had it. */
  seconds: number;
  /** Sent by the server, divided by the size of the file. */
  timesTheFile: number;
}

interface Seat {
  device: Device;
  drive: string;
}

export const officeBenchmark: Benchmark = {
  name: "office",
  about: `${DEVICES} devices behind 20 Mbit/s open the same new file at once; --size full|small|tiny`,
  async run(context: BenchContext): Promise<Result> {
    const sizeBytes = SIZES[context.size];
    const sandbox = new Sandbox(10 * DEADLINE_MS);
    try {
      const server = await sandbox.startServer();
      const link = await sandbox.startEmulator(server.port, SHAPE);
      const url = `ws://127.0.0.1:${link.port}/docs`;
      // Beside the server: who saves a file has cut it.
      const author = { device: sandbox.device("author"), drive: sandbox.makeFolder("drive-author") };
      await author.device.mount(server.url + "/docs", author.drive);
      const seats: Seat[] = [];
      for (let number = 0; number < DEVICES; number++) {
        const seat = { device: sandbox.device(`d${number}`), drive: sandbox.makeFolder(`drive-${number}`) };
        await seat.device.mount(url, seat.drive, ["--colleagues", "network"]);
        seats.push(seat);
      }
      const rows: OfficeRow[] = [];
      let files = 0;
      const measure = async (what: string, those: readonly Seat[]): Promise<OfficeRow> => {
        const name = `file-${++files}`;
        const bytes = noise(sizeBytes, files);
        writeFileSync(sandbox.path(name), bytes);
        await onMount('cp "$1" "$2"', [sandbox.path(name), join(author.drive, name)], { deadlineMs: DEADLINE_MS });
        for (const { drive } of those)
          await onMount('until [ -e "$1" ] && [ "$(stat -c %s "$1")" = "$2" ]; do sleep 0.1; done', [
            join(drive, name),
            String(sizeBytes),
          ]);
        await quiet(link);
        return readBy(what, those, link, name, createHash("sha256").update(bytes).digest("hex"), sizeBytes);
      };
      const [first] = seats;
      if (first === undefined) throw new Error("There is no device.");
      for (let round = 0; round < context.rounds; round++) {
        context.say(`round ${round + 1} of ${context.rounds}`);
        for (const { device, drive } of seats) await device.ask(["set", drive, "--colleagues", "off"]);
        rows.push(await measure("one alone", [first]));
        if (context.size === "tiny") rows.push(await measure("all, without colleagues", seats));
        for (const { device, drive } of seats) await device.ask(["set", drive, "--colleagues", "network"]);
        rows.push(await measure("all, colleagues", seats));
      }
      const middle = [...new Set(rows.map(({ what }) => what))].map((what) => middleOf(what, rows));
      return { rows: middle, figures: { load: loadavg()[0] }, table: tableOf(middle, sizeBytes) };
    } finally {
      await sandbox.cleanup();
    }
  },
};

async function readBy(
  what: string,
  seats: readonly Seat[],
  link: LinkEmulator,
  name: string,
  digest: string,
  sizeBytes: number,
): Promise<OfficeRow> {
  await link.resetCounts();
  const beganMs = performance.now();
  const read = async ({ drive }: Seat): Promise<void> => {
    const said = await onMount('sha256sum < "$1"', [join(drive, name)], { deadlineMs: DEADLINE_MS });
    if (!said.startsWith(digest)) throw new Error(`${drive} has other bytes of ${name}.`);
  };
  await Promise.all(seats.map(read));
  const seconds = (performance.now() - beganMs) / 1000;
  const { down } = await link.counts();
  return { what, devices: seats.length, seconds, timesTheFile: down.sentBytes / sizeBytes };
}

function middleOf(what: string, rows: readonly OfficeRow[]): OfficeRow {
  const those = rows.filter((row) => row.what === what);
  return {
    what,
    devices: those[0]?.devices ?? 0,
    seconds: median(those.map(({ seconds }) => seconds)),
    timesTheFile: median(those.map(({ timesTheFile }) => timesTheFile)),
  };
}

function tableOf(rows: readonly OfficeRow[], sizeBytes: number): string {
  const alone = rows.find(({ devices }) => devices === 1)?.seconds ?? 1;
  return [
    `office: a new file of ${sizeBytes / MB} MB, 20 Mbit/s, 40 ms (load ${loadavg()[0]?.toFixed(1)})`,
    ...rows.map(
      ({ what, devices, seconds, timesTheFile }) =>
        `${what.padEnd(24)} ${String(devices).padStart(3)} devices ${seconds.toFixed(1).padStart(7)} s = ${(seconds / alone).toFixed(2)} × one alone; the server sent ${timesTheFile.toFixed(3)} × the file`,
    ),
  ].join("\n");
}
