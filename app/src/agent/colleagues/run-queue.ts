// Runs that several colleagues bring at once, for one reader: who brings more than a few that were not taken waits.
import type { ChunkRun } from "../transfer/sources/chunk-source.ts";

const WAITING_MAX = 16;

export class RunQueue {
  readonly #runs: ChunkRun[] = [];
  #hasEnded = false;
  #failure: { why: unknown } | undefined;
  #taker: (() => void) | undefined;
  readonly #givers: (() => void)[] = [];

  /** Resolves when there is room for another one. */
  async put(run: ChunkRun): Promise<void> {
    if (this.#hasEnded) return;
    this.#runs.push(run);
    this.#taker?.();
    if (this.#runs.length >= WAITING_MAX) await new Promise<void>((resolve) => this.#givers.push(resolve));
  }

  end(failure?: { why: unknown }): void {
    this.#hasEnded = true;
    this.#failure ??= failure;
    this.#taker?.();
    for (const give of this.#givers.splice(0)) give();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ChunkRun> {
    for (;;) {
      const run = this.#runs.shift();
      if (run !== undefined) {
        this.#givers.shift()?.();
        yield run;
      } else if (this.#hasEnded) {
        if (this.#failure !== undefined) throw this.#failure.why;
        return;
      } else {
        const { promise, resolve } = Promise.withResolvers<void>();
        this.#taker = resolve;
        await promise;
        this.#taker = undefined;
      }
    }
  }
}
