// Lets log segments go: one may be dropped when the meta store is durable past it and every commit in it is in the
// plain folder. What waits is copied behind the rest when it keeps too much of it [F211].
import type { Clock, Log, RecordPlace, Timer } from "@runnel/shared";
import { isRunnelError } from "@runnel/shared";
import type { MetaStore } from "../meta/meta-store.ts";
import { carryWaiting, placeKey } from "./carry-waiting.ts";

const SEGMENT_BYTES_MAX = 64 * 1024 * 1024;
const CHECK_EVERY_MS = 5_000;
/** Segments that commits which wait may keep to themselves; so many more come before they are looked at again. */
const SEGMENTS_OF_WAITING = 4;
/** Copies have at most so much of what goes. */
const COPIED_PART = 0.5;

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
  /** Up to `seq` all is applied but what has a copy, the first of them in `segment`. */
  #copied = { seq: 0, segment: 0 };
  /** Places of data that was copied, by those that they had when the commit was accepted. */
  readonly #moved = new Map<string, RecordPlace>();
  /** Nothing is copied before the log has come to this segment. */
  #copyFrom = 0;
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

  /** Reads a commit's data by the place that it had when it was accepted. @throws as the log. */
  read(place: RecordPlace, offset: number, length: number): Promise<Uint8Array> {
    return this.#deps.log.read(this.#moved.get(placeKey(place)) ?? place, offset, length);
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
    await this.#copyWaiting(logSegment);
    const keepFrom = this.#neededFrom(logSegment, this.#copied);
    if (keepFrom <= this.#keptFrom) return;
    await meta.checkpoint();
    await log.dropBefore(keepFrom);
    this.#keptFrom = keepFrom;
    for (const segment of this.#lastOf.keys()) if (segment < keepFrom) this.#lastOf.delete(segment);
  }

  /** `copied`: as it would be then. */
  #neededFrom(indexedTo: number, copied: { seq: number; segment: number }): number {
    const upTo = Math.max(this.#appliedSeq, copied.seq);
    let from = indexedTo;
    for (const [segment, seq] of this.#lastOf) if (seq > upTo) from = Math.min(from, segment);
    return copied.seq > this.#appliedSeq ? Math.min(from, copied.segment) : from;
  }

  async #copyWaiting(indexedTo: number): Promise<void> {
    const { log, meta, segmentBytesMax = SEGMENT_BYTES_MAX } = this.#deps;
    const { segment } = log.current;
    const keptFrom = this.#neededFrom(indexedTo, this.#copied);
    if (segment < this.#copyFrom || segment - keptFrom < SEGMENTS_OF_WAITING) return;
    const passed = await meta.passed();
    const going = this.#neededFrom(indexedTo, { seq: passed.seq, segment }) - keptFrom;
    if (going < SEGMENTS_OF_WAITING) return;
    this.#copyFrom = segment + SEGMENTS_OF_WAITING;
    const carried = await carryWaiting(log, passed, COPIED_PART * going * segmentBytesMax);
    if (carried === undefined) return;
    this.#move(carried.moved);
    this.#copied = { seq: carried.seq, segment: carried.segment };
  }

  /** Forgets places that have no newer copy: their commits were applied since. */
  #move(moved: ReadonlyMap<string, RecordPlace>): void {
    for (const [accepted, place] of this.#moved) {
      const now = moved.get(placeKey(place));
      if (now === undefined) this.#moved.delete(accepted);
      else this.#moved.set(accepted, now);
    }
    for (const [before, now] of moved) this.#moved.set(before, now);
  }
}
