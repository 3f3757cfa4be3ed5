// `c2cfs`: the tables of C2Cfs (Ermolinskiy and Tewari §5): clients that come one after another, or two at once at a
// server that is overloaded, each with and without colleagues; and the time that colleagues cost a device alone.
import { loadavg } from "node:os";
import { Sandbox } from "../src/harness/index.ts";
import type { BenchContext, Benchmark, Result } from "./benchmark.ts";
import { median } from "./benchmark.ts";
import { DEADLINE_MS, Seats } from "./seats.ts";

const CLIENTS = 4;
const MB = 1e6;
const SIZES = { full: 100 * MB, small: 20 * MB, tiny: 2 * MB };
/** The paper's: a round trip of 100 ms to the server for the first table, none for the others. */
const FAR = { upBitsPerSecond: 100e6, downBitsPerSecond: 100e6, rttMs: 100 };
const NEAR = { upBitsPerSecond: 100e6, downBitsPerSecond: 100e6, rttMs: 0 };

export interface C2cfsRow {
  part: "far server, read" | "far server, read and write" | "overloaded server" | "alone";
  what: string;
  /** Seconds without colleagues, and with them. */
  base: number;
  colleagues: number;
  /** Bytes that the server sent, divided by those that were read. */
  baseSent?: number;
  colleaguesSent?: number;
}

/** A measurement, before those of the two ways stand side by side. */
interface Measured {
  part: C2cfsRow["part"];
  what: string;
  way: "off" | "network";
  seconds: number;
  sent?: number;
}

export const c2cfsBenchmark: Benchmark = {
  name: "c2cfs",
  about: `C2Cfs's tables: ${CLIENTS} clients of a far, or an overloaded, server; --size full|small|tiny`,
  async run(context: BenchContext): Promise<Result> {
    const sizeBytes = SIZES[context.size];
    const measured: Measured[] = [];
    for (const [line, work] of [
      [FAR, far],
      [NEAR, near],
    ] as const) {
      const sandbox = new Sandbox(10 * DEADLINE_MS);
      try {
        const office = await Seats.open(sandbox, CLIENTS, line);
        for (let round = 0; round < context.rounds; round++) {
          for (const way of round % 2 === 0 ? (["off", "network"] as const) : (["network", "off"] as const)) {
            context.say(`${line.rttMs} ms, round ${round + 1} of ${context.rounds}, colleagues ${way}`);
            await office.share(way);
            measured.push(...(await work(office, sizeBytes)).map((each) => ({ ...each, way })));
          }
        }
      } finally {
        await sandbox.cleanup();
      }
    }
    const rows = rowsOf(measured);
    return { rows, figures: { load: loadavg()[0] }, table: tableOf(rows, sizeBytes) };
  },
};

type Found = Omit<Measured, "way">;

/** Table I, and figure 3: one client after another reads a file, or reads it and writes as much. */
async function far(office: Seats, sizeBytes: number): Promise<Found[]> {
  const found: Found[] = [];
  for (const [part, writes] of [
    ["far server, read", false],
    ["far server, read and write", true],
  ] as const) {
    const file = await office.add(sizeBytes);
    for (const [index, seat] of office.seats.entries()) {
      let seconds = 0;
      const sent = await office.sentDuring(async () => {
        seconds = await office.read(seat, file);
        if (writes) seconds += await office.write(seat, sizeBytes);
      });
      found.push({ part, what: `client ${index + 1}`, seconds, sent: sent / sizeBytes });
    }
  }
  return found;
}

/** The overloaded server of §5-B: two clients read two files at once, then two others the same. Table II: one alone. */
async function near(office: Seats, sizeBytes: number): Promise<Found[]> {
  const found: Found[] = [];
  const files = [await office.add(sizeBytes), await office.add(sizeBytes)];
  for (const [stage, first] of [
    ["first two clients", 0],
    ["next two clients", 2],
  ] as const) {
    let seconds = 0;
    const sent = await office.sentDuring(async () => {
      const reads = files.map((file, index) => {
        const seat = office.seats[first + index];
        return seat === undefined ? 0 : office.read(seat, file);
      });
      seconds = median(await Promise.all(reads));
    });
    found.push({ part: "overloaded server", what: stage, seconds, sent: sent / (2 * sizeBytes) });
  }
  const [seat] = office.seats;
  for (const share of [0.01, 0.1, 1]) {
    const file = await office.add(share * sizeBytes);
    const seconds = seat === undefined ? 0 : await office.read(seat, file);
    found.push({ part: "alone", what: `${(share * sizeBytes) / MB} MB`, seconds });
  }
  return found;
}

function rowsOf(measured: readonly Measured[]): C2cfsRow[] {
  const names = new Map(measured.map(({ part, what }) => [`${part}, ${what}`, { part, what }]));
  return [...names.values()].map(({ part, what }) => {
    const those = measured.filter((each) => each.part === part && each.what === what);
    const of = (way: Measured["way"]): Measured[] => those.filter((each) => each.way === way);
    const seconds = (way: Measured["way"]): number => median(of(way).map((each) => each.seconds));
    const sent = (way: Measured["way"]): number | undefined => {
      const all = of(way).flatMap((each) => each.sent ?? []);
      return all.length === 0 ? undefined : median(all);
    };
    const [baseSent, colleaguesSent] = [sent("off"), sent("network")];
    return {
      part,
      what,
      base: seconds("off"),
      colleagues: seconds("network"),
      ...(baseSent === undefined ? {} : { baseSent }),
      ...(colleaguesSent === undefined ? {} : { colleaguesSent }),
    };
  });
}

function tableOf(rows: readonly C2cfsRow[], sizeBytes: number): string {
  const sent = (times: number | undefined): string => (times === undefined ? "" : times.toFixed(2));
  return [
    `files of ${sizeBytes / MB} MB, 100 Mbit/s (load ${loadavg()[0]?.toFixed(1)})`,
    "",
    "| | | without: s | colleagues: s | times | server sent, without | with |",
    "| --- | --- | --- | --- | --- | --- | --- |",
    ...rows.map(
      ({ part, what, base, colleagues, baseSent, colleaguesSent }) =>
        `| ${part} | ${what} | ${base.toFixed(2)} | ${colleagues.toFixed(2)} | ${(colleagues / base).toFixed(2)} | ${sent(baseSent)} | ${sent(colleaguesSent)} |`,
    ),
  ].join("\n");
}
