// Limits the tries of an address with tokens and secrets that do not exist (W74): a few at once, then one every few
// seconds.
import type { Clock } from "@runnel/shared";
import { LIMITS, TIMING, networkOf } from "@runnel/shared";

/** More addresses than that at once are an attack by itself; the oldest are forgotten. */
const ADDRESSES_MAX = 10_000;

export class FailedLogins {
  private readonly clock: Clock;
  /** Times by address at which it has all its tries again (a token bucket in one number). */
  private readonly refilledMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Milliseconds until it may try again; 0: now. */
  waitMs(address: string): number {
    const debtMs = (this.refilledMs.get(networkOf(address)) ?? 0) - this.clock.bootMs();
    return Math.max(0, debtMs - (LIMITS.failedLogins - 1) * TIMING.loginRefillMs);
  }

  failed(address: string): void {
    const network = networkOf(address);
    const nowMs = this.clock.bootMs();
    const before = Math.max(nowMs, this.refilledMs.get(network) ?? 0);
    // The latest stand last.
    this.refilledMs.delete(network);
    this.refilledMs.set(network, before + TIMING.loginRefillMs);
    for (const [oldest, untilMs] of this.refilledMs) {
      if (untilMs > nowMs && this.refilledMs.size <= ADDRESSES_MAX) break;
      this.refilledMs.delete(oldest);
    }
  }
}
