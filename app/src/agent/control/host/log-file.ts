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
  /** Length at which it starts anew. */
  #turnsAt: number;

  constructor(path: string, bytesMax: number = LOG_BYTES_MAX) {
    this.#path = path;
    this.#bytesMax = bytesMax;
    this.#turnsAt = bytesMax;
    this.#descriptor = openLog(path);
    this.#bytes = fstatSync(this.#descriptor).size;
  }

  write(line: string): void {
    try {
      if (this.#bytes >= this.#turnsAt) this.#turn();
      this.#bytes += writeSync(this.#descriptor, line);
    } catch {
      // A full disk must not end the agent: the line is lost.
    }
  }

  #turn(): void {
    try {
      renameSync(this.#path, `${this.#path}.1`);
    } catch {
      // Somebody reads the older part, whose name Windows then gives to no other file: it goes on as long again, since
      // to wait for a reader at each line would hold up the agent.
      this.#turnsAt = this.#bytes + this.#bytesMax;
      return;
    }
    const next = openLog(this.#path);
    closeSync(this.#descriptor);
    this.#descriptor = next;
    this.#bytes = 0;
    this.#turnsAt = this.#bytesMax;
  }
}

/** A descriptor that appends, readable by its user only. */
export function openLog(path: string): number {
  return openSync(path, "a", 0o600);
}

export { closeSync as closeLog } from "node:fs";
