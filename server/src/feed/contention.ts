// Folders whose write leases were recalled again and again: two people work there at once, and sending ahead of each
// other costs both more than it brings.
import type { Clock } from "@runnel/shared";

/** Recalls within this time after which a lease on the folder is not granted for as long. */
export const CONTENDED_MS = 60_000;
const RECALLS_MAX = 2;

export class Contention {
  readonly #clock: Clock;
  /** When the lease of each folder was recalled lately, on the boot clock. */
  readonly #recalled = new Map<number, number[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  recalled(folder: number): void {
    const nowMs = this.#clock.bootMs();
    for (const each of this.#recalled.keys()) if (this.#lately(each, nowMs).length === 0) this.#recalled.delete(each);
    this.#recalled.set(folder, [...this.#lately(folder, nowMs), nowMs]);
  }

  /** Time for which a lease on the folder is not to be granted; 0: it may be. */
  waitMs(folder: number): number {
    const nowMs = this.#clock.bootMs();
    const lately = this.#lately(folder, nowMs);
    const [oldest] = lately;
    return oldest !== undefined && lately.length >= RECALLS_MAX ? Math.ceil(oldest + CONTENDED_MS - nowMs) : 0;
  }

  #lately(folder: number, nowMs: number): number[] {
    return (this.#recalled.get(folder) ?? []).filter((atMs) => nowMs - atMs < CONTENDED_MS);
  }
}
