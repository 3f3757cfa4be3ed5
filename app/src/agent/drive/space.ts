// How much room the server has, as df shows it: what was last heard, since every find, rm -r and file manager asks for it. It is asked for anew in the background.
import type { Drive } from "@runnel/native/drive";
import { type Clock, RESULTS, check } from "@runnel/shared";
import type { Session } from "../wire/session.ts";

type Room = Parameters<Drive["statfs"]>[1];

/** What is shown may be so old. */
const AGE_MS_MAX = 30_000;
/** After this much was saved from here it is asked for at once, and no more often than that. */
const SAVED_BYTES = 16 * 1024 * 1024;
const ASKED_EVERY_MS = 5_000;
/** Nothing was ever heard: as of a file system that has no blocks. */
const UNKNOWN: Room = { totalBytes: 0, freeBytes: 0, availableBytes: 0, totalFiles: 0, freeFiles: 0 };

export interface SpaceParts {
  session: Session;
  clock: Clock;
  log(message: string, error?: unknown): void;
}

export class Space {
  private readonly parts: SpaceParts;
  private last: Room | undefined;
  private askedMs = -Infinity;
  private asking: Promise<void> | undefined;
  private savedBytes = 0;

  constructor(parts: SpaceParts) {
    this.parts = parts;
  }

  /** Does not wait for the server, but for its first answer after the mount. */
  async known(): Promise<Room> {
    if (this.parts.clock.bootMs() - this.askedMs >= AGE_MS_MAX) this.refresh();
    if (this.last === undefined) await this.asking;
    return this.last ?? UNKNOWN;
  }

  /** To be called when the server is there again, too. */
  refresh(): void {
    const { session, clock, log } = this.parts;
    if (this.asking !== undefined || !session.isResponsive) return;
    this.askedMs = clock.bootMs();
    this.savedBytes = 0;
    this.asking = session
      .aside(session.inBackground("space", {}), "space")
      .then((answer) => {
        this.last = check(RESULTS.space, answer, "space");
      })
      .catch((error: unknown) => log("The server was asked in vain how much room it has.", error))
      .finally(() => {
        this.asking = undefined;
      });
  }

  /** A save from here that the server has taken. */
  saved(bytes: number): void {
    this.savedBytes += bytes;
    if (this.savedBytes >= SAVED_BYTES && this.parts.clock.bootMs() - this.askedMs >= ASKED_EVERY_MS) this.refresh();
  }
}
