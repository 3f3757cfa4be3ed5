// Notices a run that never lets its event loop turn: something in it goes on without end, and no clock moves. Runs as a
// thread beside the simulation, and ends the whole process with a report of the run.
import { writeSync } from "node:fs";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";

const BEAT_MS = 250;
/** Longer than any single piece of work, on a slow machine. */
const STUCK_MS = 20_000;
const STDOUT = 1;

export class Watchdog {
  private readonly beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  private readonly worker = new Worker(new URL(import.meta.url), { workerData: this.beats });

  constructor() {
    this.worker.unref();
    setInterval(() => Atomics.add(this.beats, 0, 1), BEAT_MS).unref();
  }

  /** `report`: what is to be said of the run that begins now if it is stuck, but for that. */
  begins(report: object): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, no window
    this.worker.postMessage(report);
  }
}

function watch(beats: Int32Array): void {
  let run: object = {};
  let seen = 0;
  let sinceMs = performance.now();
  parentPort?.on("message", (report: object) => {
    run = report;
  });
  setInterval(() => {
    const now = Atomics.load(beats, 0);
    if (now !== seen) sinceMs = performance.now();
    seen = now;
    if (performance.now() - sinceMs < STUCK_MS) return;
    const violations = [`stuck: for ${STUCK_MS} ms the event loop has not turned`];
    writeSync(STDOUT, `${JSON.stringify({ ...run, violations })}\n`);
    process.kill(process.pid, "SIGKILL");
  }, BEAT_MS);
}

if (!isMainThread) watch(workerData as Int32Array);
