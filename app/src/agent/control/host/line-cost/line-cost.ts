// Interface to what the system says of the line that this computer uses: whether it is metered, so that what crosses it
// costs money. Each system has an engine here; who asks, and what a person says instead, is elsewhere.

/** Tells what a system says, for as long as it is followed. */
export interface LineCost {
  /** False also where the system does not say, and while nobody follows it. */
  readonly isMetered: boolean;
  /** `changed` is called whenever the system says something else than before. */
  follow(changed: () => void): Following;
}

export interface Following extends Disposable {
  /** Resolves once the system has answered, or did not in time; never rejects. */
  readonly answered: Promise<void>;
}

/**
 * Begins to watch what a system says. Calls `said` with its first word before it resolves, then with each other one.
 * Resolves to how to end it. @throws where the system has no word for it
 */
export type WatchCost = (said: (isMetered: boolean) => void) => Promise<() => void>;

/** Keeps a single watch for all who follow, and none while nobody does. */
export class SharedLineCost implements LineCost {
  readonly #watch: WatchCost;
  readonly #followers = new Set<() => void>();
  #isMetered = false;
  #watching: { answered: Promise<void>; end: () => void } | undefined;

  constructor(watch: WatchCost) {
    this.#watch = watch;
  }

  get isMetered(): boolean {
    return this.#isMetered;
  }

  follow(changed: () => void): Following {
    const follower = (): void => changed();
    this.#followers.add(follower);
    this.#watching ??= this.#begin();
    const { answered } = this.#watching;
    return {
      answered,
      [Symbol.dispose]: () => {
        if (!this.#followers.delete(follower) || this.#followers.size > 0) return;
        this.#watching?.end();
        this.#watching = undefined;
        this.#isMetered = false;
      },
    };
  }

  #begin(): { answered: Promise<void>; end: () => void } {
    let isOver = false;
    const said = (isMetered: boolean): void => {
      if (isOver || isMetered === this.#isMetered) return;
      this.#isMetered = isMetered;
      for (const changed of this.#followers) changed();
    };
    const begun = this.#watch(said).catch(() => () => undefined);
    const end = (): void => {
      isOver = true;
      void begun.then((stop) => stop());
    };
    return { answered: begun.then(() => undefined), end };
  }
}
