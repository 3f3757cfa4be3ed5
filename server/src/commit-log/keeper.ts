// Lets log segments go: one may be dropped when the meta store is durable past it and every commit in it is in the
// plain folder.
import type { Clock, Log, Timer } from "@runnel/shared";
import { isRunnelError } from "@runnel/shared";
import type { MetaStore } from "../meta/meta-store.ts";

const SEGMENT_BYTES_MAX = 64 * 1024 * 1024;
const CHECK_EVERY_MS = 5_000;

export interface LogKeeperDeps {
  log: Log;
  meta: MetaStore;
  clock: Clock;
  /** All commits up to this are in the plain folder already. */
  appliedSeq: number;
  /** A segment is closed when it has so many bytes. */
  segmentBytesMax?: number | undefined;
  warn(message: string, error?: unknown): void;
}

export class LogKeeper {
  readonly #deps: LogKeeperDeps;
  /** Last commit of each segment; it must be applied before the segment may be deleted. */
  readonly #lastOf = new Map<number, number>();
  #appliedSeq: number;
  /** Segments before this one are gone. */
  #keptFrom = 0;
  #timer: Timer | undefined;
  #working: Promise<void> | undefined;
  #isClosed = false;

  constructor(deps: LogKeeperDeps) {
    this.#deps = deps;
    this.#appliedSeq = deps.appliedSeq;
    this.#arm();
  }

  /** Adds a commit that is to be applied, and has its record in this segment. */
  addCommit(seq: number, segment: number): void {
    this.#lastOf.set(segment, Math.max(seq, this.#lastOf.get(segment) ?? 0));
  }

  /** Records that all commits up to this are in the plain folder. */
  recordApplied(seq: number): void {
    this.#appliedSeq = Math.max(seq, this.#appliedSeq);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#working;
  }

  #arm(): void {
    if (this.#isClosed) return;
    this.#timer = this.#deps.clock.after(CHECK_EVERY_MS, () => {
      this.#working = this.#tidy()
        .catch((error: unknown) => {
          // Another program reads the meta store just now: next time.
          if (!isRunnelError(error, "Busy"))
            this.#deps.warn("Old parts of the commit log could not be removed.", error);
        })
        .finally(() => this.#arm());
    });
  }

  async #tidy(): Promise<void> {
    const { log, meta, segmentBytesMax } = this.#deps;
    if (log.current.sizeBytes >= (segmentBytesMax ?? SEGMENT_BYTES_MAX)) await log.rotate();
    // Facts of the index say from where on the log is needed: a commit may be in the log and not in the index yet.
    const { logSegment } = await meta.facts();
    const keepFrom = this.#neededFrom(logSegment);
    if (keepFrom <= this.#keptFrom) return;
    await meta.checkpoint();
    await log.dropBefore(keepFrom);
    this.#keptFrom = keepFrom;
    for (const segment of this.#lastOf.keys()) if (segment < keepFrom) this.#lastOf.delete(segment);
  }

  #neededFrom(indexedTo: number): number {
    let from = indexedTo;
    for (const [segment, seq] of this.#lastOf) if (seq > this.#appliedSeq) from = Math.min(from, segment);
    return from;
  }
}
