// Free space for the log and the index: known before anything is written, so that a commit is refused while it is still
// nothing, and not half done.
import type { Clock, DiskRoot } from "@runnel/shared";
import { RunnelError, fromSystemError, isRunnelError } from "@runnel/shared";

/** Bytes left for what the index writes besides, and for the records of what is being applied. */
const MARGIN_BYTES = 1024 * 1024;
/** Bytes that the index writes for one operation at most: some pages of each table. */
const OPERATION_BYTES = 64 * 1024;
/** Time for which an answer of the disk counts. */
const FRESH_MS = 500;

export class FreeSpace {
  readonly #root: DiskRoot;
  readonly #clock: Clock;
  #availableBytes = 0;
  #askedMs = -Infinity;

  constructor(root: DiskRoot, clock: Clock) {
    this.#root = root;
    this.#clock = clock;
  }

  /** Reserves space before so many operations with so many bytes of records are written. @throws NoSpace. */
  async ensure(operations: number, recordBytes: number): Promise<void> {
    const neededBytes = recordBytes + operations * OPERATION_BYTES;
    if (this.#clock.bootMs() - this.#askedMs > FRESH_MS || this.#availableBytes < MARGIN_BYTES + neededBytes) {
      ({ availableBytes: this.#availableBytes } = await this.#root.space());
      this.#askedMs = this.#clock.bootMs();
    }
    if (this.#availableBytes < MARGIN_BYTES + neededBytes) throw fullDisk();
    this.#availableBytes -= neededBytes;
  }
}

/** Takes a quota that is used up for what it is to whoever saves: a disk without room. */
export function logFailure(error: unknown): RunnelError {
  return isRunnelError(error, "NoSpace", "Quota") ? fullDisk(error) : fromSystemError(error, "write commit log");
}

export function fullDisk(cause?: unknown): RunnelError {
  return new RunnelError("NoSpace", "write commit log", "The server's disk with its log and index is full.", { cause });
}
