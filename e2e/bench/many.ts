// `many`: small new files by 64 writers at once over a long line, in sync mode: each close returns when the server has
// the file. A writer waits for a round trip a file, so that 64 of them make 640 files a second at 100 ms at the most.
import { loadavg } from "node:os";
import { Sandbox, onMountInNode, quiet } from "../src/harness/index.ts";
import type { BenchContext, Benchmark, Result } from "./benchmark.ts";
import { median } from "./benchmark.ts";
import { type FileTimes, writeMany } from "./work.ts";

const SHAPE = { upBitsPerSecond: 100e6, downBitsPerSecond: 100e6, rttMs: 100 };
const FILES = { full: 5_000, small: 1_000, tiny: 200 };
const FILE_BYTES = 4096;
const WRITERS = 64;
const DEADLINE_MS = 300_000;

export interface ManyRow {
  what: string;
  filesPerSecond: number;
  /** Time of a file, in milliseconds. */
  medianMs: number;
  slowestMs: number;
  /** On the line, a file, beside its content. */
  extraBytes: number;
}

export const manyBenchmark: Benchmark = {
  name: "many",
  about: `new files of 4 KiB by ${WRITERS} writers, sync mode, 100 ms and 100 Mbit/s; --size full|small|tiny`,
  async run(context: BenchContext): Promise<Result> {
    const files = FILES[context.size];
    const sandbox = new Sandbox(2 * DEADLINE_MS * context.rounds);
    try {
      const server = await sandbox.startServer({ volumes: { docs: sandbox.makeFolder("served") } });
      const link = await sandbox.startEmulator(server.port, SHAPE);
      const device = sandbox.device();
      const drive = sandbox.makeFolder("drive");
      await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive);
      const rounds: ManyRow[] = [];
      for (let round = 0; round < context.rounds; round++) {
        context.say(`round ${round + 1} of ${context.rounds}`);
        await quiet(link);
        await link.resetCounts();
        const task = { folder: `${drive}/${round}`, files, bytes: FILE_BYTES, writers: WRITERS };
        const env = { ...process.env, UV_THREADPOOL_SIZE: String(WRITERS) };
        const times = await onMountInNode(writeMany, task, { deadlineMs: DEADLINE_MS, env });
        await quiet(link);
        const { up, down } = await link.counts();
        rounds.push(rowOf(times, files, up.sentBytes + down.sentBytes));
      }
      const row = middle(rounds);
      return { rows: [row], figures: { load: loadavg()[0] }, table: tableOf(row, files) };
    } finally {
      await sandbox.cleanup();
    }
  },
};

function rowOf({ tookMs, fileMs }: FileTimes, files: number, bytes: number): ManyRow {
  return {
    what: `${files} files`,
    filesPerSecond: files / (tookMs / 1000),
    medianMs: median(fileMs),
    slowestMs: Math.max(...fileMs),
    extraBytes: bytes / files - FILE_BYTES,
  };
}

function middle(rows: readonly ManyRow[]): ManyRow {
  const of = (figure: (row: ManyRow) => number): number => median(rows.map(figure));
  return {
    what: rows[0]?.what ?? "",
    filesPerSecond: of((row) => row.filesPerSecond),
    medianMs: of((row) => row.medianMs),
    slowestMs: of((row) => row.slowestMs),
    extraBytes: of((row) => row.extraBytes),
  };
}

function tableOf(row: ManyRow, files: number): string {
  return [
    `many: ${files} new files of 4 KiB by ${WRITERS} writers, sync mode, 100 ms, 100 Mbit/s (load ${loadavg()[0]?.toFixed(1)})`,
    `${row.filesPerSecond.toFixed(0)} files/s (goal 300); a file takes ${row.medianMs.toFixed(0)} ms, the slowest ${row.slowestMs.toFixed(0)}; ${row.extraBytes.toFixed(0)} bytes a file beside its content`,
  ].join("\n");
}
