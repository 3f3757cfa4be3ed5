// Records which of our code has run: V8's precise coverage by block, as a set of source positions that only grows.
import { type Profiler, Session } from "node:inspector";

/** Files of this project: sources, and the bugs that are planted in tests. */
const OURS = /\/(shared|native|server|app)\/src\/|\/planted/;

export class Coverage {
  readonly #session = new Session();
  readonly #functions = new Map<string, Uint8Array>();
  covered = 0;

  constructor() {
    this.#session.connect();
    this.#session.post("Profiler.enable");
    this.#session.post("Profiler.startPreciseCoverage", { callCount: false, detailed: true });
  }

  close(): void {
    this.#session.disconnect();
  }

  /** Returns true when code that ran since the last call had never run before. `keep`: it counts as run then. */
  take(keep: boolean): boolean {
    let fresh = 0;
    this.#session.post("Profiler.takePreciseCoverage", (error, { result }) => {
      if (error !== null) throw error;
      for (const script of result) if (OURS.test(script.url)) fresh += this.#script(script, keep);
    });
    if (keep) this.covered += fresh;
    return fresh > 0;
  }

  /**
   * Positions that were not covered before. A function is within another's range and has a range of its own: each has
   * its own positions.
   */
  #script({ url, functions }: Profiler.ScriptCoverage, keep: boolean): number {
    let fresh = 0;
    for (const { ranges } of functions) {
      const [whole] = ranges;
      if (whole === undefined) continue;
      const key = `${url}:${whole.startOffset}:${whole.endOffset}`;
      const seen = this.#functions.get(key) ?? new Uint8Array(whole.endOffset - whole.startOffset);
      this.#functions.set(key, seen);
      const ran = new Uint8Array(seen.length);
      // An inner range comes after the one around it.
      for (const { startOffset, endOffset, count } of ranges)
        ran.fill(count > 0 ? 1 : 0, startOffset - whole.startOffset, endOffset - whole.startOffset);
      for (let at = 0; at < ran.length; at++) {
        if (ran[at] === 0 || seen[at] === 1) continue;
        fresh++;
        if (keep) seen[at] = 1;
      }
    }
    return fresh;
  }
}
