// Decides how much the dearest source takes over of what a slower one was asked for and has not brought (DOT §5.1: a
// source that has nothing to do borrows late requests of another's). Its bytes cost most, so it begins with a few, and
// goes on while it turns out to be the faster by far.

/** Begins with so much: what is lost when it turns out not to be worth it. */
const FIRST_BYTES = 128 * 1024;
const MOST_BYTES = 4 * 1024 * 1024;
/** Times as fast as the slower one that it must be. */
const WORTH = 2;

export class Borrowing {
  #bytesMax = FIRST_BYTES;
  #isWorthIt = true;

  /** Bytes that may be borrowed now; 0 once it was not worth it. */
  get bytesMax(): number {
    return this.#isWorthIt ? this.#bytesMax : 0;
  }

  /** Tells that so many bytes were borrowed in so long, of one that brings so many bytes in a millisecond. */
  brought(bytes: number, ms: number, lenderRate: number): void {
    this.#isWorthIt = bytes > 0 && bytes >= WORTH * lenderRate * ms;
    this.#bytesMax = Math.min(2 * this.#bytesMax, MOST_BYTES);
  }
}
