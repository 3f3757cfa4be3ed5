// Counts failed tries by who tries: a few at once, then one in a time.
import type { Clock } from "../host/clock.ts";
import { networkOf } from "./crowd.ts";

/** More of them at once are an attack by itself; the oldest are forgotten. */
const KEYS_MAX = 10_000;

export interface Allowance {
  /** Tries that may fail at once. */
  atOnce: number;
  /** Time after which one more is allowed. */
  refillMs: number;
}

export class FailedTries {
  readonly #clock: Clock;
  readonly #allowance: Allowance;
  /** Times by who tries at which it has all its tries again (a token bucket in one number). */
  readonly #refilledMs = new Map<string, number>();

  constructor(clock: Clock, allowance: Allowance) {
    this.#clock = clock;
    this.#allowance = allowance;
  }

  /** Milliseconds until it may try again; 0: now. */
  waitMs(key: string): number {
    const debtMs = (this.#refilledMs.get(key) ?? 0) - this.#clock.bootMs();
    return Math.max(0, debtMs - (this.#allowance.atOnce - 1) * this.#allowance.refillMs);
  }

  /** Takes one back that was counted. */
  forgive(key: string): void {
    const untilMs = this.#refilledMs.get(key);
    if (untilMs !== undefined) this.#set(key, untilMs - this.#allowance.refillMs);
  }

  failed(key: string): void {
    const nowMs = this.#clock.bootMs();
    const before = Math.max(nowMs, this.#refilledMs.get(key) ?? 0);
    this.#set(key, before + this.#allowance.refillMs);
    for (const [oldest, untilMs] of this.#refilledMs) {
      if (untilMs > nowMs && this.#refilledMs.size <= KEYS_MAX) break;
      this.#refilledMs.delete(oldest);
    }
  }

  /** The latest stand last. */
  #set(key: string, untilMs: number): void {
    this.#refilledMs.delete(key);
    this.#refilledMs.set(key, untilMs);
  }
}

/** Counts those of an address, with IPv6 of its /64: that is what one subscriber has. */
export class FailedTriesByAddress {
  readonly #tries: FailedTries;

  constructor(clock: Clock, allowance: Allowance) {
    this.#tries = new FailedTries(clock, allowance);
  }

  /** Milliseconds until it may try again; 0: now. */
  waitMs(address: string): number {
    return this.#tries.waitMs(networkOf(address));
  }

  failed(address: string): void {
    this.#tries.failed(networkOf(address));
  }
}
