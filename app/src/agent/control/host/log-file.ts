// A log file that starts anew when it has grown: agent.log, and agent.log.1 with what stood in it before.
/* oxlint-disable node/no-sync -- lines are few, and the last one before a crash is the one that counts */
import { closeSync, fstatSync, openSync, renameSync, writeSync } from "node:fs";

/** Some weeks of an ordinary agent. */
const LOG_BYTES_MAX = 4 * 1024 * 1024;

/** File that pino writes to. Synchronous: the lines are few, and the last one before a crash is the one that counts. */
export class LogFile {
  readonly #path: string;
  readonly #bytesMax: number;
  #descriptor: number;
  #bytes: number;

  constructor(path: string, bytesMax: number = LOG_BYTES_MAX) {
    this.#path = path;
    this.#bytesMax = bytesMax;
    this.#descriptor = openLog(path);
    this.#bytes = fstatSync(this.#descriptor).size;
  }

  write(line: string): void {
    try {
      if (this.#bytes >= this.#bytesMax) this.#turn();
      this.#bytes += writeSync(this.#descriptor, line);
    } catch {
      // A full disk must not end the agent: the line is lost.
    }
  }

  #turn(): void {
    renameSync(this.#path, `${this.#path}.1`);
    closeSync(this.#descriptor);
    this.#descriptor = openLog(this.#path);
    this.#bytes = 0;
  }
}

/** A descriptor that appends, readable by its user only. */
export function openLog(path: string): number {
  return openSync(path, "a", 0o600);
}

export { closeSync as closeLog } from "node:fs";
