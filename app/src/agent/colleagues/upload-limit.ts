// Bounds how fast a drive sends to colleagues: what is sent takes the time that it would take at the limit, and what
// was not used lately serves for a second's worth at once.
import type { Clock } from "@runnel/shared";

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

  /** Resolves when so many bytes may go, in the order of asking; at `signal`, too, and then nothing was taken. */
  async take(bytes: number, signal: AbortSignal): Promise<void> {
    const limit = this.#bytesPerSecond();
    if (limit === undefined || signal.aborted) return;
    const costMs = (bytes / limit) * 1000;
    const nowMs = this.#clock.bootMs();
    this.#paidMs = Math.max(this.#paidMs, nowMs - SAVED_MS) + costMs;
    if (this.#paidMs <= nowMs) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = this.#clock.after(this.#paidMs - nowMs, resolve);
    const stop = (): void => {
      this.#paidMs -= costMs;
      timer.cancel();
      resolve();
    };
    signal.addEventListener("abort", stop, { once: true });
    await promise;
    signal.removeEventListener("abort", stop);
  }
}
