// The server's question to who has a write lease, until that has been given up or has run out.
import type { Clock, Timer } from "@runnel/shared";

/** Time after which a recalled holder is not waited for although it goes on sending. */
export const RECALL_MS_MAX = 60_000;

export class Recall {
  readonly released = Promise.withResolvers<void>();
  /** When another device began to wait; undefined while only further instances of the holder's own do. */
  othersSinceMs: number | undefined;
  /** When it was recalled, or its holder last sent a change: it is at work. */
  progressMs: number;
  readonly #begunMs: number;
  #timer: Timer | undefined;

  /**
   * `leftMs`: of the holder's lease. `look`: called whenever that may have run out; it is renewed meanwhile, or not.
   */
  constructor(clock: Clock, leftMs: () => number, look: () => void) {
    this.#begunMs = clock.bootMs();
    this.progressMs = this.#begunMs;
    const watch = (): void => {
      this.#timer = clock.after(Math.max(1, leftMs()), () => {
        watch();
        look();
      });
    };
    watch();
  }

  /** A minute is over, or the holder has sent nothing for a term. */
  isOverdue(nowMs: number, termMs: number): boolean {
    return nowMs - this.progressMs > termMs || nowMs - this.#begunMs > RECALL_MS_MAX;
  }

  end(): void {
    this.#timer?.cancel();
    this.released.resolve();
  }
}
