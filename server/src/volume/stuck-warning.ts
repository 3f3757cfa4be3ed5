// Tells whoever runs the server, once, of what keeps saved changes from the folder and does not end by itself.
import type { Stuck } from "../content/content-store.ts";

/** Time after which it is news: most hindrances end sooner. */
const LASTS_MS = 60_000;

export class StuckWarning {
  readonly #warn: (message: string) => void;
  #stuck: Stuck | undefined;
  #sinceMs = 0;
  #isTold = false;

  constructor(warn: (message: string) => void) {
    this.#warn = warn;
  }

  /** Called now and then with what is in the way at this time. */
  look(stuck: Stuck | undefined, nowMs: number): void {
    if (stuck?.path !== this.#stuck?.path || stuck?.kind !== this.#stuck?.kind) {
      this.#sinceMs = nowMs;
      this.#isTold = false;
    }
    this.#stuck = stuck;
    if (stuck === undefined || this.#isTold || nowMs - this.#sinceMs < LASTS_MS) return;
    this.#isTold = true;
    const { path, kind, sentence } = stuck;
    const at = path === "" ? "" : ` at ${path}`;
    this.#warn(`Saved changes do not come into the folder${at} (${kind}): ${sentence} They are kept, and tried again.`);
  }
}
