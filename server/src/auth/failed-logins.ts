// Limits the tries of an address with tokens and secrets that do not exist (W74): a few at once, then one every few
// seconds.
import type { Clock } from "@runnel/shared";
import { LIMITS, TIMING, networkOf } from "@runnel/shared";
import { FailedTries } from "./failed-tries.ts";

export class FailedLogins {
  private readonly tries: FailedTries;

  constructor(clock: Clock) {
    this.tries = new FailedTries(clock, { atOnce: LIMITS.failedLogins, refillMs: TIMING.loginRefillMs });
  }

  /** Milliseconds until it may try again; 0: now. */
  waitMs(address: string): number {
    return this.tries.waitMs(networkOf(address));
  }

  failed(address: string): void {
    this.tries.failed(networkOf(address));
  }
}
