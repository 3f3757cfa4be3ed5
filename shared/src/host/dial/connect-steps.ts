// The time that connecting may take: so much a step, since each step waits for a round trip of a line that nothing is
// known of yet.
import { TIMING } from "../../limits.ts";

export class ConnectSteps {
  readonly #controller = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #isOverdue = false;

  /** Aborted when a step takes too long. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isOverdue(): boolean {
    return this.#isOverdue;
  }

  /** A step begins, whatever came before is done. */
  next(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#isOverdue = true;
      this.#controller.abort();
    }, TIMING.connectStepMs);
    this.#timer.unref();
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}
