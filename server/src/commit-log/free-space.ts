// Room for the log and the index: known before anything is written, so that a commit is refused while it is still nothing, and not half done.
import type { Clock, DiskRoot } from "@runnel/shared";
import { RunnelError, isRunnelError } from "@runnel/shared";

/** Left for what the index writes besides, and for the records of what is being brought up. */
const MARGIN_BYTES = 1024 * 1024;
/** What the index writes for one operation, at most: some pages of each table. */
const OPERATION_BYTES = 64 * 1024;
/** How long an answer of the disk counts. */
const FRESH_MS = 500;

export class DataRoom {
  readonly #root: DiskRoot;
  readonly #clock: Clock;
  #availableBytes = 0;
  #askedMs = -Infinity;

  constructor(root: DiskRoot, clock: Clock) {
    this.#root = root;
    this.#clock = clock;
  }

  /** Before so many operations with so many bytes of records are written. @throws NoSpace. */
  async ensure(operations: number, recordBytes: number): Promise<void> {
    const neededBytes = recordBytes + operations * OPERATION_BYTES;
    if (this.#clock.bootMs() - this.#askedMs > FRESH_MS || this.#availableBytes < MARGIN_BYTES + neededBytes) {
      ({ availableBytes: this.#availableBytes } = await this.#root.space());
      this.#askedMs = this.#clock.bootMs();
    }
    if (this.#availableBytes < MARGIN_BYTES + neededBytes) throw fullData();
    this.#availableBytes -= neededBytes;
  }
}

export function fullData(cause?: unknown): RunnelError {
  return new RunnelError("NoSpace", "write commit log", "The server's disk with its log and index is full.", { cause });
}

/** The sentence for a disk of the served folder that is full; other errors as they are. */
export function fullFolder(error: unknown): unknown {
  if (!isRunnelError(error, "NoSpace")) return error;
  return new RunnelError("NoSpace", error.operation, "The server's disk with the volume's folder is full.", {
    cause: error,
  });
}
