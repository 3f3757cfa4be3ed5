// Counts tokens that were wrong, of whatever kind: past so many none is looked at until some time has passed. All
// callers have one address, so they are counted together. The limit is far above what a person does, since whoever
// reaches it closes the door to others as well for a moment.
import type { Clock } from "../host/clock.ts";
import { PAGE_LIMITS } from "./page-limits.ts";

export class WrongTokens {
  readonly #clock: Clock;
  /** Time at which all of them are forgotten (a leaky bucket in one number). */
  #untilMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds until a token is looked at again; 0: now. */
  get waitMs(): number {
    const { wrongTokens, graceMs } = PAGE_LIMITS;
    return Math.max(0, this.#untilMs - this.#clock.bootMs() - (wrongTokens - 1) * graceMs);
  }

  add(): void {
    this.#untilMs = Math.max(this.#untilMs, this.#clock.bootMs()) + PAGE_LIMITS.graceMs;
  }
}
