// UpSeq: up to which commit the folder is, and who waits for one.
export class UpSeq {
  readonly #tell: (seq: number) => void;
  /** In the order of their seqs. */
  readonly #waiters: { seq: number; resolve: () => void }[] = [];
  #up: number;
  /** The last commit known, of clients or of other programs. */
  seen: number;

  /** `seq`: the last of the volume. `tell`: called once for each step. */
  constructor(seq: number, upSeq: number, tell: (seq: number) => void) {
    this.seen = seq;
    this.#up = upSeq;
    this.#tell = tell;
  }

  get up(): number {
    return this.#up;
  }

  see(seq: number): void {
    this.seen = Math.max(this.seen, seq);
  }

  advanceTo(seq: number): void {
    if (seq <= this.#up) return;
    this.#up = seq;
    this.#tell(seq);
    const end = this.#waiters.findIndex((waiter) => waiter.seq > seq);
    for (const { resolve } of this.#waiters.splice(0, end < 0 ? this.#waiters.length : end)) resolve();
  }

  when(seq: number): Promise<void> {
    if (seq <= this.#up) return Promise.resolve();
    // Nearly always the last.
    const before = this.#waiters.findLastIndex((waiter) => waiter.seq <= seq);
    return new Promise((resolve) => this.#waiters.splice(before + 1, 0, { seq, resolve }));
  }
}
