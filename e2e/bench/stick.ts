// `stick`: a file over a slow line, and the same with a stick that is plugged in after a while (DOT, figure 8: 255 MB
// at 2 Mbit/s, a stick after 300 s). A program reads the file from a drive; the stick is used as a supply.
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Device, Sandbox, noise, onMount, quiet } from "../src/harness/index.ts";
import type { BenchContext, Benchmark, Result } from "./benchmark.ts";

const MB = 1_000_000;
/** Work of a size: bytes of the file, and the time after which the stick comes. */
const SIZES = {
  full: { bytes: 255 * MB, afterMs: 300_000 },
  small: { bytes: 25.5 * MB, afterMs: 30_000 },
  tiny: { bytes: 1.5 * MB, afterMs: 2_000 },
};
const LINE = { upBitsPerSecond: 2e6, downBitsPerSecond: 2e6, rttMs: 30 };
const DEADLINE_MS = 60 * 60_000;

export interface StickRow {
  what: string;
  seconds: number;
  /** Bytes that crossed the line to the reader. */
  downBytes: number;
}

export const stickBenchmark: Benchmark = {
  name: "stick",
  about: "a file over a slow line, and with a stick that comes after a while (DOT, figure 8); --size full|small|tiny",
  async run({ size, say }: BenchContext): Promise<Result> {
    const { bytes, afterMs } = SIZES[size];
    const sandbox = new Sandbox(DEADLINE_MS);
    const rows: StickRow[] = [];
    try {
      const served = sandbox.makeFolder("served");
      const content = noise(bytes, 1);
      writeFileSync(join(served, "state"), content);
      const digest = createHash("sha256").update(content).digest("hex");
      const server = await sandbox.startServer({ volumes: { docs: served } });
      say("the stick is written");
      const office = sandbox.device("office");
      const drive = sandbox.makeFolder("office-drive");
      const stick = sandbox.makeFolder("stick");
      await office.mount(`${server.url}/docs`, drive);
      const asked = ["carry", "out", stick, join(drive, "state")];
      const { carried } = (await office.ask(asked, { deadlineMs: DEADLINE_MS })) as { carried: { files: number } };
      if (carried.files !== 1) throw new Error("The file did not get onto the stick.");
      await office.ask(["stop"]);
      const line = { sandbox, port: server.port, digest };
      say("the line alone");
      rows.push({ what: "line alone", ...(await readOver(line, "alone")) });
      say(`the line, and the stick after ${afterMs / 1000} s`);
      const plugIn = (device: Device): Promise<unknown> => device.ask(["supply", stick]);
      const what = `stick after ${afterMs / 1000} s`;
      rows.push({ what, ...(await readOver(line, "stick", { afterMs, plugIn })) });
    } finally {
      await sandbox.cleanup();
    }
    return { rows, table: formatStick(rows) };
  },
};

interface Line {
  sandbox: Sandbox;
  port: number;
  digest: string;
}

interface Stick {
  afterMs: number;
  plugIn(device: Device): Promise<unknown>;
}

/** Reads the whole file over a line of its own; `stick` is plugged in meanwhile. */
async function readOver(
  { sandbox, port, digest }: Line,
  name: string,
  stick?: Stick,
): Promise<Pick<StickRow, "seconds" | "downBytes">> {
  const link = await sandbox.startEmulator(port, LINE);
  const device = sandbox.device(name);
  const drive = sandbox.path(`${name}-drive`);
  mkdirSync(drive);
  await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive);
  await quiet(link);
  await link.resetCounts();
  const began = performance.now();
  const reading = onMount('sha256sum < "$1/state"', [drive], { deadlineMs: DEADLINE_MS });
  if (stick !== undefined) {
    const { afterMs, plugIn } = stick;
    await Promise.race([reading, new Promise((done) => setTimeout(done, afterMs))]);
    await plugIn(device);
  }
  const read = await reading;
  const seconds = (performance.now() - began) / 1000;
  if (!read.startsWith(digest)) throw new Error("What was read is not what is served.");
  const { down } = await link.counts();
  await device.ask(["stop"]);
  return { seconds, downBytes: down.sentBytes };
}

export function formatStick(rows: readonly StickRow[]): string {
  const lines = rows.map(
    ({ what, seconds, downBytes }) => `| ${what} | ${seconds.toFixed(1)} | ${(downBytes / MB).toFixed(1)} |`,
  );
  return ["| | seconds | MB over the line |", "| --- | ---: | ---: |", ...lines].join("\n");
}
