// `local`: what a program feels. The same operations on the drive, on libfuse's passthrough_ll and on the local disk
// below both; server and agent on this machine over loopback. Each measurement is one child process that times itself.
import { createCipheriv } from "node:crypto";
import { threadExecutor } from "@runnel/native";
import { type Device, Sandbox, onMount, onMountInNode } from "../src/harness/index.ts";
import { type BenchContext, type Benchmark, type Pair, type Result, formatTable, measurePairs } from "./benchmark.ts";
import { mountPassthrough } from "./passthrough.ts";
import * as work from "./work.ts";

const KiB = 1024;
const MiB = 1024 * KiB;
const FILE_BYTES = 64 * MiB;
const REWRITTEN_BYTES = 16 * MiB;
const READS = 8;
const SMALL_FILES = 500;
const MANY = 1000;
const CALLS = 20_000;
const LISTS = 50;
const DEADLINE_MS = 120_000;

interface Places {
  drive: string;
  disk: string;
  passthrough: string;
}

type Work = (task: work.Task) => Promise<number>;
/** Milliseconds of one measurement to the figure that is shown. */
type Figure = (tookMs: number) => number;

const mibPerSecond =
  (bytes: number): Figure =>
  (ms) =>
    bytes / MiB / (ms / 1000);
const perSecond =
  (count: number): Figure =>
  (ms) =>
    count / (ms / 1000);
const thousandPerSecond =
  (count: number): Figure =>
  (ms) =>
    count / ms;

let seed = 1;

async function once(what: Work, folder: string, task: Partial<work.Task>): Promise<number> {
  const whole = { folder, bytes: FILE_BYTES, count: 1, request: MiB, seed: seed++, ...task };
  return onMountInNode(what, whole, { deadlineMs: DEADLINE_MS });
}

function pairsOf(places: Places): Pair[] {
  const pair = (
    what: string,
    unit: string,
    against: keyof Places,
    done: Work,
    task: Partial<work.Task>,
    figure: Figure,
  ): Pair => ({
    what,
    unit,
    reference: against === "disk" ? "local disk" : "passthrough_ll",
    measure: async () => figure(await once(done, places.drive, task)),
    measureReference: async () => figure(await once(done, places[against], task)),
  });
  const small = { bytes: 4 * KiB, count: SMALL_FILES };
  return [
    pair(
      "read 64 MiB again, 1 MiB a call",
      "MiB/s",
      "passthrough",
      work.readAgain,
      { count: READS },
      mibPerSecond(READS * FILE_BYTES),
    ),
    pair("write 64 MiB, 1 MiB a call", "MiB/s", "passthrough", work.writeOn, {}, mibPerSecond(FILE_BYTES)),
    pair(
      "write 16 MiB, 4 KiB a call",
      "MiB/s",
      "passthrough",
      work.writeOn,
      { bytes: REWRITTEN_BYTES, request: 4 * KiB },
      mibPerSecond(REWRITTEN_BYTES),
    ),
    pair(
      "stat in the working folder",
      "1000/s",
      "passthrough",
      work.statHere,
      { count: CALLS },
      thousandPerSecond(CALLS),
    ),
    pair("stat by path", "1000/s", "passthrough", work.statPath, { count: CALLS }, thousandPerSecond(CALLS)),
    pair("open and close", "1000/s", "passthrough", work.openHere, { count: CALLS }, thousandPerSecond(CALLS)),
    pair("list 1,000 names", "lists/s", "passthrough", work.listFolder, { count: LISTS }, perSecond(LISTS)),
    pair("write 64 MiB and fsync", "MiB/s", "disk", work.writeAndSync, {}, mibPerSecond(FILE_BYTES)),
    pair("500 files of 4 KiB, each with fsync", "files/s", "disk", work.writeSmall, small, perSecond(SMALL_FILES)),
    uploadPair(places),
  ];
}

/**
 * New data to the server and durable there, beside the slower of what it cannot do without: to cut and digest it, and
 * to write it.
 */
function uploadPair({ drive, disk }: Places): Pair {
  const figure = mibPerSecond(FILE_BYTES);
  const executor = threadExecutor();
  return {
    what: "upload 64 MiB (the fsync alone)",
    unit: "MiB/s",
    reference: "min(chunk+hash, disk)",
    measure: async () => figure(await once(work.syncWritten, drive, {})),
    measureReference: async () => {
      const bytes = createCipheriv("aes-128-ctr", Buffer.alloc(16, seed++), Buffer.alloc(16)).update(
        Buffer.alloc(FILE_BYTES),
      );
      const start = performance.now();
      await executor.chunkBytes(bytes);
      const cut = performance.now() - start;
      return figure(Math.max(cut, await once(work.writeAndSync, disk, {})));
    },
  };
}

async function prepare(sandbox: Sandbox, device: Device): Promise<Places> {
  const server = await sandbox.startServer();
  const places = {
    drive: sandbox.makeFolder("drive"),
    disk: sandbox.makeFolder("disk"),
    passthrough: await mountPassthrough(sandbox),
  };
  await device.mount(`${server.url}/docs`, places.drive);
  for (const folder of Object.values(places)) {
    const script =
      'mkdir "$1/many"; cd "$1/many"; for i in $(seq "$2"); do echo "$i" >"$i"; done; head -c "$3" /dev/urandom >"$1/warm"';
    await onMount(script, [folder, String(MANY), String(FILE_BYTES)], { deadlineMs: DEADLINE_MS });
  }
  await device.flush(places.drive, { up: true });
  return places;
}

export const localBenchmark: Benchmark = {
  name: "local",
  about: "a drive over loopback, beside libfuse's passthrough_ll and the local disk",
  async run(context: BenchContext): Promise<Result> {
    const sandbox = new Sandbox(30 * 60_000);
    try {
      const device = sandbox.device();
      const places = await prepare(sandbox, device);
      const rows = await measurePairs(pairsOf(places), context);
      await device.unmount(places.drive);
      return { rows, table: formatTable("local", rows) };
    } finally {
      await sandbox.cleanup();
    }
  },
};
