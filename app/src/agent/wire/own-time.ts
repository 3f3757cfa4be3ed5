// Counts time for whoever waits for the server: it stands still while this process does not get on itself, being
// stopped, starved of its processor, busy in one turn, or asleep. What has arrived meanwhile is not read yet, and must
// not be taken for silence.
import type { Clock, Timer } from "@runnel/shared";

/** Interval at which lateness is measured while somebody waits. */
const MEASURE_EVERY_MS = 50;

export class OwnTime {
  readonly #clock: Clock;
  readonly #isBehind: () => boolean;
  #lateMs = 0;
  #watchers = 0;
  #timer: Timer | undefined;
  #measuredMs = 0;
  #wasBehind = false;

  /** `isBehind`: messages wait for threads of ours. */
  constructor(clock: Clock, isBehind: () => boolean = () => false) {
    this.#clock = clock;
    this.#isBehind = isBehind;
  }

  /** Means something only as a difference between two moments. */
  get nowMs(): number {
    return this.#clock.bootMs() - this.totalLateMs;
  }

  /** Time for which this process has not got on, as far as somebody watched. */
  get totalLateMs(): number {
    return this.#lateMs + (this.#timer === undefined ? 0 : this.#overdueMs);
  }

  /** Measures lateness from now on, until the function is called that this returns. */
  watch(): () => void {
    if (this.#watchers++ === 0) this.#measure();
    let isEnded = false;
    return () => {
      if (isEnded) return;
      isEnded = true;
      if (--this.#watchers > 0) return;
      this.#count();
      this.#timer?.cancel();
      this.#timer = undefined;
    };
  }

  get #overdueMs(): number {
    return Math.max(0, this.#clock.bootMs() - this.#measuredMs - MEASURE_EVERY_MS);
  }

  #count(): void {
    this.#lateMs += this.#overdueMs;
    if (this.#wasBehind && this.#isBehind()) this.#lateMs += MEASURE_EVERY_MS;
  }

  #measure(): void {
    this.#measuredMs = this.#clock.bootMs();
    this.#wasBehind = this.#isBehind();
    this.#timer = this.#clock.after(MEASURE_EVERY_MS, () => {
      this.#count();
      this.#measure();
    });
  }
}
