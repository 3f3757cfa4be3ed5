// Old rows: what the meta store need not keep of long ago goes now and then, a little at a time, so that an index does
// not grow with what was made and removed, nor with clients that never come back.
import type { Clock } from "@runnel/shared";
import type { MetaStore } from "../meta/meta-store.ts";

/** A client that missed more lists again: that costs it less than they would. */
const CHANGES_KEPT = 200_000;
/** Results of clients that are away, some 40 MB: of more the oldest go [W24]. */
const RESULTS_KEPT = 262_144;
const EVERY_MS = 10 * 60_000;
/** Nodes in a transaction, which others wait for. */
const NODES_AT_ONCE = 500;

export interface OldRowsDeps {
  meta: Pick<MetaStore, "forgetChanges" | "forgetNameless" | "forgetOldResults">;
  clock: Clock;
  warn(message: string, error?: unknown): void;
}

export class OldRows {
  readonly #deps: OldRowsDeps;
  #dueMs = 0;
  #working: Promise<void> | undefined;
  #isClosed = false;

  constructor(deps: OldRowsDeps) {
    this.#deps = deps;
  }

  /** Begins what is due; `seq` is that of the last change. */
  forget(seq: number): void {
    if (this.#working !== undefined || this.#isClosed) return;
    this.#working = this.#forget(seq)
      .catch((error: unknown) => this.#deps.warn("Old rows of the index could not be forgotten.", error))
      .finally(() => {
        this.#working = undefined;
      });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#working;
  }

  async #forget(seq: number): Promise<void> {
    const { meta, clock } = this.#deps;
    if (seq > CHANGES_KEPT) await meta.forgetChanges(seq - CHANGES_KEPT);
    if (clock.bootMs() < this.#dueMs) return;
    this.#dueMs = clock.bootMs() + EVERY_MS;
    await meta.forgetOldResults(RESULTS_KEPT);
    for (let after: number | undefined = 0; after !== undefined && !this.#isClosed;)
      after = await meta.forgetNameless(after, NODES_AT_ONCE);
  }
}
