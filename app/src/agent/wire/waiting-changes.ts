// Changes of this client that wait for others, as the server says: until they are answered.

export class WaitingChanges {
  readonly #isOutstanding: (n: number) => boolean;
  /** Waiting changes by number. */
  readonly #waiting = new Map<number, { for: readonly string[]; untilMs: number }>();

  constructor(isOutstanding: (n: number) => boolean) {
    this.#isOutstanding = isOutstanding;
  }

  get count(): number {
    return this.#waiting.size;
  }

  /** Notes a change that waits; what has been answered is dropped. */
  note(n: number, whom: readonly string[], untilMs: number): void {
    this.#clean();
    this.#waiting.set(n, { for: [...whom], untilMs });
  }

  list(): { operation: string; for: string[]; untilMs: number }[] {
    this.#clean();
    return [...this.#waiting].map(([n, one]) => ({
      operation: `change ${n}`,
      for: [...one.for],
      untilMs: one.untilMs,
    }));
  }

  #clean(): void {
    for (const n of this.#waiting.keys()) if (!this.#isOutstanding(n)) this.#waiting.delete(n);
  }
}
