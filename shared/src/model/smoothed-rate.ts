// A rate as a person is shown it: what a count grows by in a second, smoothed over the last seconds. Brought up to date
// when somebody looks.

/** Interval between two looks; a shorter one would show single runs. */
const SAMPLE_MS = 250;
/** Time over which it is smoothed. */
const SMOOTH_MS = 3_000;

export class SmoothedRate {
  perSecond = 0;
  #atMs: number;
  #count: number;
  #hasSample = false;

  constructor(nowMs: number, count = 0) {
    this.#atMs = nowMs;
    this.#count = count;
  }

  /** Brings it up to this time, at which the count is so much. */
  sample(nowMs: number, count: number): void {
    const elapsedMs = nowMs - this.#atMs;
    if (elapsedMs < SAMPLE_MS) return;
    const now = (Math.max(0, count - this.#count) * 1000) / elapsedMs;
    const weight = this.#hasSample ? 1 - Math.exp(-elapsedMs / SMOOTH_MS) : 1;
    this.perSecond += weight * (now - this.perSecond);
    this.#atMs = nowMs;
    this.#count = count;
    this.#hasSample = true;
  }

  /** The count begins anew. */
  restart(): void {
    this.#count = 0;
  }
}
