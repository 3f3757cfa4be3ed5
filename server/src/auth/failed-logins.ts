// Limits the tries of an address with tokens and secrets that do not exist (W74): a few at once, then one every few
// seconds.
import type { Clock } from "@runnel/shared";
import { LIMITS, TIMING, networkOf } from "@runnel/shared";

/** More addresses than that at once are an attack by itself; the oldest are forgotten. */
const ADDRESSES_MAX = 10_000;

export class FailedLogins {
  private readonly clock: Clock;
  /** Times by address at which all its failures will be forgiven (a leaky bucket in one number). */
  private readonly forgivenMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Milliseconds until it may try again; 0: now. */
  waitMs(address: string): number {
    const debtMs = (this.forgivenMs.get(networkOf(address)) ?? 0) - this.clock.bootMs();
    return Math.max(0, debtMs - (LIMITS.failedLogins - 1) * TIMING.forgivenMs);
  }

  failed(address: string): void {
    const network = networkOf(address);
    const nowMs = this.clock.bootMs();
    const before = Math.max(nowMs, this.forgivenMs.get(network) ?? 0);
    // The latest stand last.
    this.forgivenMs.delete(network);
    this.forgivenMs.set(network, before + TIMING.forgivenMs);
    for (const [oldest, untilMs] of this.forgivenMs) {
      if (untilMs > nowMs && this.forgivenMs.size <= ADDRESSES_MAX) break;
      this.forgivenMs.delete(oldest);
    }
  }
}
