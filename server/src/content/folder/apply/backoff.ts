// Backoff: what failed is tried again after a wait that is twice as long each time.
import type { Clock, Timer } from "@runnel/shared";

const DELAY_MS_MIN = 500;
const DELAY_MS_MAX = 30_000;

export class Backoff {
  readonly #clock: Clock;
  readonly #tryAgain: () => void;
  #delayMs = DELAY_MS_MIN;
  #timer: Timer | undefined;

  constructor(clock: Clock, tryAgain: () => void) {
    this.#clock = clock;
    this.#tryAgain = tryAgain;
  }

  get isWaiting(): boolean {
    return this.#timer !== undefined;
  }

  /** `leastMs`: not sooner, as far as the longest wait allows. */
  wait(leastMs = 0): void {
    const delayMs = Math.max(this.#delayMs, Math.min(leastMs, DELAY_MS_MAX));
    this.#delayMs = Math.min(2 * this.#delayMs, DELAY_MS_MAX);
    this.#timer = this.#clock.after(delayMs, () => {
      this.#timer = undefined;
      this.#tryAgain();
    });
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** The next wait is short again. */
  reset(): void {
    this.#delayMs = DELAY_MS_MIN;
  }
}
