// Bounds how fast a drive sends to colleagues: what is sent takes the time that it would take at the limit, and what
// was not used lately serves for a second's worth at once.
import { type Clock, sleep } from "@runnel/shared";

const SAVED_MS = 1_000;

export class UploadLimit {
  readonly #clock: Clock;
  readonly #bytesPerSecond: () => number | undefined;
  /** The moment up to which what was taken has paid. */
  #paidMs = -Infinity;

  /** `bytesPerSecond` undefined: as fast as the line takes it. */
  constructor(clock: Clock, bytesPerSecond: () => number | undefined) {
    this.#clock = clock;
    this.#bytesPerSecond = bytesPerSecond;
  }

  /** Resolves when so many bytes may go. They are taken in the order of asking. */
  async take(bytes: number): Promise<void> {
    const limit = this.#bytesPerSecond();
    if (limit === undefined) return;
    const nowMs = this.#clock.bootMs();
    this.#paidMs = Math.max(this.#paidMs, nowMs - SAVED_MS) + (bytes / limit) * 1000;
    if (this.#paidMs > nowMs) await sleep(this.#clock, this.#paidMs - nowMs);
  }
}
