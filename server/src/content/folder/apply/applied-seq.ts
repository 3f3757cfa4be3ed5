// AppliedSeq: the commit up to which the folder has all, and the callers that wait for one.
export class AppliedSeq {
  readonly #onAdvance: (seq: number) => void;
  /** Waiting callers, in the order of their seqs. */
  readonly #waiters: { seq: number; resolve: () => void }[] = [];
  #applied: number;
  #lastSeq: number;

  /** `lastSeq`: the last commit of the volume. `onAdvance`: called once for each step. */
  constructor(lastSeq: number, applied: number, onAdvance: (seq: number) => void) {
    this.#lastSeq = lastSeq;
    this.#applied = applied;
    this.#onAdvance = onAdvance;
  }

  get applied(): number {
    return this.#applied;
  }

  /** The last commit known, of clients or of other programs. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  noteSeq(seq: number): void {
    this.#lastSeq = Math.max(this.#lastSeq, seq);
  }

  advanceTo(seq: number): void {
    if (seq <= this.#applied) return;
    this.#applied = seq;
    this.#onAdvance(seq);
    const end = this.#waiters.findIndex((waiter) => waiter.seq > seq);
    for (const { resolve } of this.#waiters.splice(0, end < 0 ? this.#waiters.length : end)) resolve();
  }

  whenApplied(seq: number): Promise<void> {
    if (seq <= this.#applied) return Promise.resolve();
    // Nearly always the last.
    const before = this.#waiters.findLastIndex((waiter) => waiter.seq <= seq);
    return new Promise((resolve) => this.#waiters.splice(before + 1, 0, { seq, resolve }));
  }
}
