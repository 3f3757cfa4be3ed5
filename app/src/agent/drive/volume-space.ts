// Free space of the server's disk, as df shows it: the last known answer, since every find, rm -r and file manager asks
// for it. It is asked for anew in the background.
import type { Drive } from "@runnel/native/drive";
import { type Clock, checkResult } from "@runnel/shared";
import type { Session } from "../wire/session.ts";

type FreeSpace = Parameters<Drive["statfs"]>[1];

/** Age of what is shown at the most. */
const AGE_MS_MAX = 30_000;
/** Bytes saved from here after which it is asked for at once, and no more often than that. */
const SAVED_BYTES = 16 * 1024 * 1024;
const ASKED_EVERY_MS = 5_000;
/** Shown before the first answer: as of a file system that has no blocks. */
const UNKNOWN: FreeSpace = { totalBytes: 0, freeBytes: 0, availableBytes: 0, totalFiles: 0, freeFiles: 0 };

export interface VolumeSpaceDeps {
  session: Session;
  clock: Clock;
  log(message: string, error?: unknown): void;
}

export class VolumeSpace {
  readonly #deps: VolumeSpaceDeps;
  #last: FreeSpace | undefined;
  #askedMs = -Infinity;
  #asking: Promise<void> | undefined;
  #savedBytes = 0;

  constructor(deps: VolumeSpaceDeps) {
    this.#deps = deps;
  }

  /** Returns the last answer; waits for the server's first one after the mount only. */
  async known(): Promise<FreeSpace> {
    if (this.#deps.clock.bootMs() - this.#askedMs >= AGE_MS_MAX) this.refresh();
    if (this.#last === undefined) await this.#asking;
    return this.#last ?? UNKNOWN;
  }

  /** Asks in the background; called when the server is there again, too. */
  refresh(): void {
    const { session, clock, log } = this.#deps;
    if (this.#asking !== undefined || !session.isResponsive) return;
    this.#askedMs = clock.bootMs();
    this.#savedBytes = 0;
    this.#asking = session
      .aside(session.inBackground("space", {}), "space")
      .then((answer) => {
        this.#last = checkResult("space", answer);
      })
      .catch((error: unknown) => log("The server was asked in vain how much free space it has.", error))
      .finally(() => {
        this.#asking = undefined;
      });
  }

  /** Counts a save from here that the server has accepted. */
  saved(bytes: number): void {
    this.#savedBytes += bytes;
    if (this.#savedBytes >= SAVED_BYTES && this.#deps.clock.bootMs() - this.#askedMs >= ASKED_EVERY_MS) this.refresh();
  }
}
