// `local`: what a program feels. The same operations on the drive and on the local disk below it, server and agent on this
// machine over loopback. Each measurement is one child process that times itself, so that starting it does not count.
import { type Device, Sandbox, onMount, onMountInNode } from "../src/harness/index.ts";
import { type BenchContext, type Benchmark, type Pair, type Row, measurePairs } from "./benchmark.ts";

const FILE_BYTES = 64 * 1024 * 1024;
const SMALL_FILES = 500;
const SMALL_BYTES = 4096;
const STATS = 20_000;
const DEADLINE_MS = 120_000;

const MiB = 1024 * 1024;

/** What one child does. The bytes it writes come from the seed, neither compress nor repeat. */
interface Task {
  folder: string;
  bytes: number;
  count: number;
  seed: number;
}

/** Milliseconds to write one file in 1 MiB calls, fsync included: only then is it safe in either place. */
async function writeFile({ folder, bytes, seed }: Task): Promise<number> {
  const fs = await import("node:fs");
  const { createCipheriv } = await import("node:crypto");
  const stream = createCipheriv("aes-128-ctr", Buffer.alloc(16, seed & 255), Buffer.alloc(16, seed >> 8));
  const data = Array.from({ length: bytes / 1048576 }, () => stream.update(Buffer.alloc(1048576)));
  const start = performance.now();
  const file = fs.openSync(`${folder}/large`, "w");
  for (const part of data) fs.writeSync(file, part);
  fs.fsyncSync(file);
  fs.closeSync(file);
  return performance.now() - start;
}

async function readFile({ folder, bytes }: Task): Promise<number> {
  const fs = await import("node:fs");
  const buffer = Buffer.alloc(1048576);
  const start = performance.now();
  const file = fs.openSync(`${folder}/large`, "r");
  let total = 0;
  for (let got = 1; got > 0; total += got) got = fs.readSync(file, buffer);
  fs.closeSync(file);
  if (total !== bytes) throw new Error(`read ${total} of ${bytes} bytes`);
  return performance.now() - start;
}

async function writeSmall({ folder, bytes, count, seed }: Task): Promise<number> {
  const fs = await import("node:fs");
  const { createCipheriv } = await import("node:crypto");
  const stream = createCipheriv("aes-128-ctr", Buffer.alloc(16, seed & 255), Buffer.alloc(16, seed >> 8));
  const data = Array.from({ length: count }, () => stream.update(Buffer.alloc(bytes)));
  const start = performance.now();
  fs.mkdirSync(`${folder}/small-${seed}`);
  for (const [i, part] of data.entries()) {
    const file = fs.openSync(`${folder}/small-${seed}/${i}`, "w");
    fs.writeSync(file, part);
    fs.fsyncSync(file);
    fs.closeSync(file);
  }
  return performance.now() - start;
}

async function statLoop({ folder, count }: Task): Promise<number> {
  const fs = await import("node:fs");
  const names = fs.readdirSync(`${folder}/stat`);
  const start = performance.now();
  for (let i = 0; i < count; i++) fs.statSync(`${folder}/stat/${names[i % names.length]}`);
  return performance.now() - start;
}

interface Place {
  drive: string;
  disk: string;
}

function throughput(tookMs: number): number {
  return FILE_BYTES / MiB / (tookMs / 1000);
}

function pairsOf({ drive, disk }: Place): Pair[] {
  let seed = 1;
  const timed = (work: (task: Task) => Promise<number>, folder: string, bytes: number, count: number) =>
    onMountInNode(work, { folder, bytes, count, seed: seed++ }, { deadlineMs: DEADLINE_MS });
  const pair = (
    what: string,
    unit: string,
    once: (folder: string) => Promise<number>,
    units: (ms: number) => number,
  ): Pair => ({
    what,
    unit,
    reference: "local disk",
    measure: async () => units(await once(drive)),
    measureReference: async () => units(await once(disk)),
  });
  return [
    pair("write 64 MiB and fsync", "MiB/s", (folder) => timed(writeFile, folder, FILE_BYTES, 1), throughput),
    pair("read it again", "MiB/s", (folder) => timed(readFile, folder, FILE_BYTES, 1), throughput),
    pair(
      `write ${SMALL_FILES} files of 4 KiB, each with fsync`,
      "files/s",
      (folder) => timed(writeSmall, folder, SMALL_BYTES, SMALL_FILES),
      (ms) => SMALL_FILES / (ms / 1000),
    ),
    pair(
      "stat, 100 files in turn",
      "1000/s",
      (folder) => timed(statLoop, folder, 0, STATS),
      (ms) => STATS / ms,
    ),
  ];
}

async function prepare(sandbox: Sandbox, device: Device): Promise<Place> {
  const server = await sandbox.startServer();
  const drive = sandbox.makeFolder("drive");
  const disk = sandbox.makeFolder("disk");
  await device.mount(`${server.url}/docs`, drive);
  for (const folder of [drive, disk]) {
    await onMount('mkdir "$1/stat"; for i in $(seq 100); do echo "$i" >"$1/stat/$i"; done', [folder]);
  }
  await device.flush(drive);
  return { drive, disk };
}

export const localBenchmark: Benchmark = {
  name: "local",
  about: "throughput, small files and stat on a drive over loopback, beside the local disk",
  async run(context: BenchContext): Promise<Row[]> {
    const sandbox = new Sandbox();
    try {
      const device = sandbox.device();
      const place = await prepare(sandbox, device);
      const rows = await measurePairs(pairsOf(place), context);
      await device.unmount(place.drive);
      return rows;
    } finally {
      await sandbox.cleanup();
    }
  },
};
