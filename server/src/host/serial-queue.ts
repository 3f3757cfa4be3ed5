// A serial queue runs one task at a time, in the order they were given: none of them sees half of what another does.
export class SerialQueue {
  #tail: Promise<unknown> = Promise.resolve();

  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(task);
    this.#tail = result.catch(() => undefined);
    return result;
  }

  /** Resolves when all given so far are done. */
  async idle(): Promise<void> {
    await this.#tail;
  }
}
