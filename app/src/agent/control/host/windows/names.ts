// Names of files on Windows: one may not be given away while a program, a virus scanner for instance, has its file
// open, and those that are given are durable once the file is.
/* oxlint-disable node/no-sync -- small files, when a person acts */
import { renameSync } from "node:fs";
import { type Clock, RealClock } from "@runnel/shared/base";

/** A reader of a small file has closed it by then. */
const WAIT_MS = 1000;
const TRY_MS = 10;
/** Codes of a file that somebody has open (libuv's uv_translate_sys_error). */
const IN_USE = new Set<unknown>(["EACCES", "EBUSY", "EPERM"]);

export function replace(from: string, to: string, rename = renameSync, clock: Clock = new RealClock()): void {
  const untilMs = clock.bootMs() + WAIT_MS;
  for (;;) {
    try {
      rename(from, to);
      return;
    } catch (error) {
      if (!IN_USE.has((error as NodeJS.ErrnoException).code) || clock.bootMs() >= untilMs) throw error;
    }
    // Whoever replaces a file is given no other moment to come back at.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, TRY_MS);
  }
}

export function syncFolder(): void {}
