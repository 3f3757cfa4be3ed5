// `office`: devices behind one thin line open the same new file at once (C2Cfs §5). Reference: one device that does so
// alone. With colleagues the line carries the file once, and the last device is not much later than the one alone.
import { loadavg } from "node:os";
import { Sandbox } from "../src/harness/index.ts";
import type { BenchContext, Benchmark, Result } from "./benchmark.ts";
import { median } from "./benchmark.ts";
import { DEADLINE_MS, type Seat, Seats } from "./seats.ts";

const SHAPE = { upBitsPerSecond: 20e6, downBitsPerSecond: 20e6, rttMs: 40 };
const DEVICES = 10;
const MB = 1e6;
const SIZES = { full: 100 * MB, small: 20 * MB, tiny: 4 * MB };

export interface OfficeRow {
  what: string;
  devices: number;
  /** From the moment at which all began until the last one had it. */
  seconds: number;
  /** Sent by the server, divided by the size of the file. */
  timesTheFile: number;
}

export const officeBenchmark: Benchmark = {
  name: "office",
  about: `${DEVICES} devices behind 20 Mbit/s open the same new file at once; --size full|small|tiny`,
  async run(context: BenchContext): Promise<Result> {
    const sizeBytes = SIZES[context.size];
    const sandbox = new Sandbox(10 * DEADLINE_MS);
    try {
      const office = await Seats.open(sandbox, DEVICES, SHAPE);
      const rows: OfficeRow[] = [];
      for (let round = 0; round < context.rounds; round++) {
        context.say(`round ${round + 1} of ${context.rounds}`);
        await office.share("off");
        rows.push(await measure("one alone", office, office.seats.slice(0, 1), sizeBytes));
        if (context.size === "tiny")
          rows.push(await measure("all, without colleagues", office, office.seats, sizeBytes));
        await office.share("network");
        rows.push(await measure("all, colleagues", office, office.seats, sizeBytes));
      }
      const middle = [...new Set(rows.map(({ what }) => what))].map((what) => middleOf(what, rows));
      return { rows: middle, figures: { load: loadavg()[0] }, table: tableOf(middle, sizeBytes) };
    } finally {
      await sandbox.cleanup();
    }
  },
};

async function measure(what: string, office: Seats, those: readonly Seat[], sizeBytes: number): Promise<OfficeRow> {
  const file = await office.add(sizeBytes);
  let seconds = 0;
  const sent = await office.sentDuring(async () => {
    seconds = Math.max(...(await Promise.all(those.map((seat) => office.read(seat, file)))));
  });
  return { what, devices: those.length, seconds, timesTheFile: sent / sizeBytes };
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
