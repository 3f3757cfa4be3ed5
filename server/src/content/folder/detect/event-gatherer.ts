// Watching: gathers events and says when a path is to be probed. A change is probed at once (a batch gathers for a
// moment), a file that is being written after a second of quiet, but so that it shows within 2 s even if the writer
// never pauses.
import type { Clock, Timer, WatchEvent } from "@runnel/shared";
import { SETTLE_MS } from "../disk/same-file.ts";
import { isInStore } from "../disk/store-layout.ts";

const GATHER_MS = 50;
const QUIET_MS = 1000;
/** From the first write that has not been probed. */
const WRITING_MS_MAX = 1500;
/** More are a reason to scan all. */
const PATHS_MAX = 50_000;
/** A probe that failed is repeated. */
const RETRY_MS = 1000;
/** A probe that takes longer comes too late for what it probes. */
const PROBING_MS_MAX = 1000;

interface Gathered {
  firstMs: number;
  dueMs: number;
  /** Only because an event's path led here: not to be led further. */
  isLed: boolean;
  /** When a write to it was last reported, on the wall clock. */
  writtenNs?: bigint | undefined;
}

/** Paths that are due. */
export interface Due {
  paths: string[];
  /** Paths among them that were not just led to. */
  named: string[];
  /** Paths that a program has written to, with when that was last reported, on the wall clock. */
  written: ReadonlyMap<string, bigint>;
}

export class Gatherer {
  readonly #clock: Clock;
  readonly #probe: (due: Due) => Promise<void>;
  readonly #overflow: () => void;
  /** Something else that is due, on the boot clock. */
  readonly #otherDueMs: () => number | undefined;
  readonly #paths = new Map<string, Gathered>();
  /** When the first path is due, or earlier where what it waits for was put off since. */
  #earliestMs = Infinity;
  #timer: Timer | undefined;
  #timerMs = Infinity;
  #isProbing = false;
  #probingSinceMs = 0;
  #probingCount = 0;
  #isClosed = false;

  /** `probe` gets what is due, also when that is only the other thing. */
  constructor(
    clock: Clock,
    probe: (due: Due) => Promise<void>,
    overflow: () => void,
    otherDueMs: () => number | undefined,
  ) {
    this.#clock = clock;
    this.#probe = probe;
    this.#overflow = overflow;
    this.#otherDueMs = otherDueMs;
  }

  add(events: readonly WatchEvent[]): void {
    const nowMs = this.#clock.bootMs();
    for (const { path, kind } of events) {
      if (kind === "overflow") this.#overflowed();
      if (kind === "overflow" || isInStore(path)) continue;
      this.#gather(path, nowMs, kind === "writing" ? QUIET_MS : GATHER_MS, kind === "writing");
      const gathered = this.#paths.get(path);
      if (gathered !== undefined && kind !== "changed") gathered.writtenNs = this.#clock.wallNs();
    }
    this.#arm();
  }

  /** Has paths probed after a delay, if nothing brings it earlier. */
  again(paths: Iterable<string>, delayMs: number): void {
    const nowMs = this.#clock.bootMs();
    for (const path of paths) this.#gather(path, nowMs, delayMs, false);
    this.#arm();
  }

  /** Has paths probed at once, since what an event named has moved here. */
  ledTo(paths: Iterable<string>): void {
    const nowMs = this.#clock.bootMs();
    for (const path of paths) this.#gather(path, nowMs, 0, false, true);
    this.#arm();
  }

  unsettled(path: string): void {
    if (!this.#paths.has(path)) this.again([path], SETTLE_MS);
  }

  #gather(path: string, nowMs: number, delayMs: number, isWriting: boolean, isLed = false): void {
    const before = this.#paths.get(path);
    const firstMs = before?.firstMs ?? nowMs;
    let dueMs = nowMs + delayMs;
    if (before !== undefined) dueMs = isWriting ? Math.max(before.dueMs, dueMs) : Math.min(before.dueMs, dueMs);
    if (isWriting) dueMs = Math.min(dueMs, firstMs + WRITING_MS_MAX);
    this.#paths.set(path, {
      firstMs,
      dueMs,
      isLed: isLed && before?.isLed !== false,
      writtenNs: before?.writtenNs,
    });
    this.#earliestMs = Math.min(this.#earliestMs, dueMs);
    if (this.#paths.size > PATHS_MAX) this.#overflowed();
  }

  #overflowed(): void {
    this.#paths.clear();
    this.#earliestMs = Infinity;
    this.#overflow();
  }

  /** Runs when the first is due. */
  #arm(): void {
    if (this.#isProbing || this.#isClosed) return;
    const dueMs = Math.min(this.#earliestMs, this.#otherDueMs() ?? Infinity);
    if (dueMs === this.#timerMs && this.#timer !== undefined) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerMs = dueMs;
    if (dueMs === Infinity) return;
    this.#timer = this.#clock.after(Math.max(0, dueMs - this.#clock.bootMs()), () => {
      this.#timer = undefined;
      void this.#probeDue();
    });
  }

  /** Count of paths that wait for a probe that is late; 0 when none is. */
  get late(): number {
    const isLate = this.#isProbing && this.#clock.bootMs() - this.#probingSinceMs > PROBING_MS_MAX;
    return isLate ? this.#probingCount + this.#paths.size : 0;
  }

  /** Something may have come due besides. */
  rearm(): void {
    this.#arm();
  }

  async #probeDue(): Promise<void> {
    if (this.#isProbing || this.#isClosed) return;
    const nowMs = this.#clock.bootMs();
    const paths: string[] = [];
    const named: string[] = [];
    const written = new Map<string, bigint>();
    this.#earliestMs = Infinity;
    for (const [path, { dueMs, isLed, writtenNs }] of this.#paths) {
      if (dueMs > nowMs) {
        this.#earliestMs = Math.min(this.#earliestMs, dueMs);
        continue;
      }
      paths.push(path);
      if (!isLed) named.push(path);
      if (writtenNs !== undefined) written.set(path, writtenNs);
    }
    for (const path of paths) this.#paths.delete(path);
    if (paths.length === 0 && (this.#otherDueMs() ?? Infinity) > nowMs) {
      this.#arm();
      return;
    }
    this.#isProbing = true;
    this.#probingSinceMs = nowMs;
    this.#probingCount = paths.length;
    try {
      await this.#probe({ paths, named, written });
    } catch {
      // The disk or the volume failed for now; what was to be seen still is.
      this.#probeAgain(paths, written);
    }
    this.#isProbing = false;
    this.#arm();
  }

  #probeAgain(paths: readonly string[], written: ReadonlyMap<string, bigint>): void {
    this.again(paths, RETRY_MS);
    for (const [path, writtenNs] of written) {
      const gathered = this.#paths.get(path);
      if (gathered !== undefined) gathered.writtenNs ??= writtenNs;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }
}
