// A clock moved by hand. Timers fire in order of time, then of their making; between two of them all promises settle.
import type { Clock, Timer } from "../clock.ts";
import { pendingTurns } from "../next-turn.ts";

interface Pending {
  dueMs: number;
  order: number;
  /** Callback of the timer; undefined once it is cancelled or has fired. */
  fire: (() => void) | undefined;
}

/** Timers that fire, and turns that pass, without time moving on; more is a loop. */
const FIRED_AT_ONCE_MAX = 100_000;
/** A nanosecond: what real clocks count in. */
const TICK_MS = 1e-6;

export class SimulatedClock implements Clock {
  #bootMs: number;
  #wallNs: bigint;
  #order = 0;
  #firedAtOnce = 0;
  #waiting = 0;
  /** A binary heap, earliest first; cancelled ones leave it when they come up. */
  readonly #heap: Pending[] = [];

  constructor(start: { bootMs?: number; wallNs?: bigint } = {}) {
    this.#bootMs = start.bootMs ?? 1_000;
    this.#wallNs = start.wallNs ?? 1_700_000_000_000_000_000n;
  }

  bootMs(): number {
    return this.#bootMs;
  }

  wallNs(): bigint {
    return this.#wallNs;
  }

  after(delayMs: number, fire: () => void): Timer {
    // A remainder too small to be added to a number would fire for ever at one time.
    const laterMs = delayMs > 0 ? Math.max(delayMs, TICK_MS) : 0;
    const pending: Pending = { dueMs: this.#bootMs + laterMs, order: this.#order++, fire };
    push(this.#heap, pending);
    this.#waiting += 1;
    return {
      cancel: () => {
        if (pending.fire === undefined) return;
        pending.fire = undefined;
        this.#waiting -= 1;
      },
    };
  }

  /** Timers not yet fired. */
  get pendingTimers(): number {
    return this.#waiting;
  }

  /** Moves time on by `ms` and fires what comes due, each at its time. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#bootMs + ms;
    await settle();
    while (await this.#fireNext(untilMs)) {
      // Each turn fires one timer.
    }
    this.#moveTo(untilMs);
  }

  /** Fires timers until none is left, or until `withinMs` have passed; returns whether none is left. */
  async runUntilIdle(withinMs = Infinity): Promise<boolean> {
    const untilMs = this.#bootMs + withinMs;
    await settle();
    while (await this.#fireNext(untilMs)) {
      // Each turn fires one timer.
    }
    return this.pendingTimers === 0;
  }

  /**
   * Fires timers until the condition holds; returns whether it does. Gives up after `withinMs` or when nothing is left
   * to fire.
   */
  async runUntil(condition: () => boolean, withinMs = 3_600_000): Promise<boolean> {
    const untilMs = this.#bootMs + withinMs;
    await settle();
    while (!condition()) {
      if (!(await this.#fireNext(untilMs))) return condition();
    }
    return true;
  }

  /** The machine sleeps: both clocks run on, timers wait as they do on Linux. */
  suspend(ms: number): void {
    this.#bootMs += ms;
    this.#wallNs += nanoseconds(ms);
    for (const pending of this.#heap) pending.dueMs += ms;
  }

  /** Somebody sets the wall clock. */
  jumpWall(ms: number): void {
    this.#wallNs += nanoseconds(ms);
  }

  async #fireNext(untilMs: number): Promise<boolean> {
    let next = this.#heap[0];
    while (next !== undefined && next.fire === undefined) {
      pop(this.#heap);
      next = this.#heap[0];
    }
    if (next?.fire === undefined || next.dueMs > untilMs) return false;
    pop(this.#heap);
    this.#waiting -= 1;
    const fire = next.fire;
    next.fire = undefined;
    this.#firedAtOnce = next.dueMs > this.#bootMs ? 0 : this.#firedAtOnce + 1;
    if (this.#firedAtOnce > FIRED_AT_ONCE_MAX) throw new Error("Timers fire without end and time does not move on.");
    this.#moveTo(next.dueMs);
    fire();
    await settle();
    return true;
  }

  #moveTo(bootMs: number): void {
    if (!(bootMs > this.#bootMs) || bootMs === Infinity) return;
    this.#wallNs += nanoseconds(bootMs - this.#bootMs);
    this.#bootMs = bootMs;
  }
}

/** Lets every promise that can settle without a timer do so, and what was put off to a later turn run. */
export async function settle(): Promise<void> {
  let turns = 0;
  do {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    if (++turns > FIRED_AT_ONCE_MAX) throw new Error("Turns follow each other without end and time does not move on.");
  } while (pendingTurns() > 0);
}

function nanoseconds(ms: number): bigint {
  return BigInt(Math.round(ms * 1e6));
}

function isEarlier(a: Pending, b: Pending): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
}

function push(heap: Pending[], pending: Pending): void {
  let at = heap.length;
  heap.push(pending);
  while (at > 0) {
    const parent = (at - 1) >> 1;
    const above = heap[parent];
    if (above === undefined || !isEarlier(pending, above)) break;
    heap[at] = above;
    at = parent;
  }
  heap[at] = pending;
}

function pop(heap: Pending[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    const [left, right] = [heap[child], heap[child + 1]];
    if (left === undefined) break;
    if (right !== undefined && isEarlier(right, left)) child += 1;
    const least = heap[child];
    if (least === undefined || !isEarlier(least, last)) break;
    heap[at] = least;
    at = child;
  }
  heap[at] = last;
}
