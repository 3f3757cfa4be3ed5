// A system's word on the line that a test says.
import { SharedLineCost, type WatchCost } from "./line-cost.ts";

export class MemoryCost {
  #isMetered = false;
  readonly #listeners = new Set<(isMetered: boolean) => void>();
  readonly cost = new SharedLineCost((said) => this.watch(said));

  get isMetered(): boolean {
    return this.#isMetered;
  }

  set isMetered(isMetered: boolean) {
    this.#isMetered = isMetered;
    for (const said of this.#listeners) said(isMetered);
  }

  /** Count of those who watch. */
  get watchers(): number {
    return this.#listeners.size;
  }

  readonly watch: WatchCost = (said) => {
    this.#listeners.add(said);
    said(this.#isMetered);
    return Promise.resolve(() => void this.#listeners.delete(said));
  };
}
