// Node ids that the server gave to this instance for what it makes: valid within one epoch.

export class NodeRange {
  #next = 0;
  #end = 0;
  #epoch = "";
  #asked: Promise<void> | undefined;
  readonly #ask: () => Promise<readonly [first: number, count: number]>;

  /** `ask`: brings further ids. @throws Unreachable when that is not possible now */
  constructor(ask: () => Promise<readonly [first: number, count: number]>) {
    this.#ask = ask;
  }

  get isEmpty(): boolean {
    return this.#next >= this.#end;
  }

  /** Takes the range that an attach brought; ids of another epoch mean nothing in this one. */
  attached(epoch: string, given: readonly [first: number, count: number] | null): void {
    if (given !== null) this.#take(given);
    else if (epoch !== this.#epoch) this.#take([0, 0]);
    this.#epoch = epoch;
  }

  /** @throws Unreachable when the range is used up and there are no further ones. */
  async newNode(): Promise<number> {
    while (this.isEmpty) {
      this.#asked ??= this.#ask()
        .then((range) => this.#take(range))
        .finally(() => {
          this.#asked = undefined;
        });
      await this.#asked;
    }
    return this.#next++;
  }

  #take([first, count]: readonly [number, number]): void {
    this.#next = first;
    this.#end = first + count;
  }
}
