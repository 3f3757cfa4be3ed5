// UpSeq: up to which commit the folder is, and who waits for one.
export class UpSeq {
  readonly #tell: (seq: number) => void;
  #waiters: { seq: number; resolve: () => void }[] = [];
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
    const ready = this.#waiters.filter((waiter) => waiter.seq <= seq);
    this.#waiters = this.#waiters.filter((waiter) => waiter.seq > seq);
    for (const { resolve } of ready) resolve();
  }

  when(seq: number): Promise<void> {
    if (seq <= this.#up) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push({ seq, resolve }));
  }
}
