// Warnings that others can cause as often as they like: some of them each minute, and how many were left out.
import type { Clock } from "@runnel/shared";

const EACH_MS = 60_000;
const AT_MOST = 10;

export class ThrottledWarnings {
  readonly #clock: Clock;
  readonly #warn: (message: string) => void;
  #sinceMs = -Infinity;
  #said = 0;
  #suppressed = 0;

  constructor(clock: Clock, warn: (message: string) => void) {
    this.#clock = clock;
    this.#warn = warn;
  }

  say(message: string): void {
    const nowMs = this.#clock.bootMs();
    if (nowMs - this.#sinceMs >= EACH_MS) {
      this.#sinceMs = nowMs;
      this.#said = 0;
    }
    if (++this.#said > AT_MOST) {
      this.#suppressed++;
      return;
    }
    this.#warn(this.#suppressed === 0 ? message : `${message} (And ${this.#suppressed} times something like it.)`);
    this.#suppressed = 0;
  }
}
