// How often an address may try tokens and secrets that are none (W74): a few at once, then one every few seconds.
import type { Clock } from "@runnel/shared";
import { LIMITS, TIMING } from "@runnel/shared";

/** More addresses than that at once are an attack by itself; the oldest are forgotten. */
const ADDRESSES_MAX = 10_000;

export class FailedLogins {
  private readonly clock: Clock;
  /** By address: when all its failures will be forgiven (a leaky bucket in one number). */
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

/** One subscriber of IPv6 has a /64 at least. */
function networkOf(address: string): string {
  if (!address.includes(":") || /^::ffff:\d/i.test(address)) return address;
  const [head = "", tail] = address.split("::");
  const groups = head.split(":").filter((group) => group !== "");
  const after = tail === undefined ? [] : tail.split(":").filter((group) => group !== "");
  const missing = tail === undefined ? 0 : 8 - groups.length - after.length;
  groups.push(...Array.from({ length: Math.max(0, missing) }, () => "0"));
  return [...groups, ...after].slice(0, 4).join(":");
}
