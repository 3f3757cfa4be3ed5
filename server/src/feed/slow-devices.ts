// Devices that cost writers one lease after another [W18]: what runs out while a change waits for it counts for the
// device, whatever instances it calls itself.
import { TIMING } from "@runnel/shared";

/** A line that breaks now and then costs no more. */
const RUN_OUT_MAX = 3;

interface Slow {
  sinceMs: number;
  count: number;
}

export class SlowDevices {
  readonly #lastsMs: number;
  readonly #slow = new Map<string, Slow>();

  constructor(termMs: number) {
    this.#lastsMs = TIMING.probationTerms * termMs;
  }

  /** A lease of the device has run out, and a change waited for it. `device`: "" where devices are not told apart. */
  ranOut(device: string, nowMs: number): void {
    if (device === "") return;
    const before = this.#now(device, nowMs);
    const count = (before?.count ?? 0) + 1;
    // Once it is too many, the time begins anew with each.
    const sinceMs = before === undefined || count >= RUN_OUT_MAX ? nowMs : before.sinceMs;
    this.#slow.set(device, { sinceMs, count });
  }

  mayHoldLease(device: string, nowMs: number): boolean {
    return (this.#now(device, nowMs)?.count ?? 0) < RUN_OUT_MAX;
  }

  #now(device: string, nowMs: number): Slow | undefined {
    const slow = this.#slow.get(device);
    if (slow === undefined || nowMs < slow.sinceMs + this.#lastsMs) return slow;
    this.#slow.delete(device);
    return undefined;
  }
}
