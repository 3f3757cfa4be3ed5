// A lane runs one task at a time, in the order they were given. What changes the served folder and what compares it pass through one lane,
// so a comparison never sees half of a commit.
export class Lane {
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

/** Runs `work` on each item, so many at once. The first failure is thrown after the running ones ended. */
export async function eachOf<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T, index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const index = next++;
      await work(items[index] as T, index);
    }
  };
  const workers = Array.from({ length: Math.min(atOnce, items.length) }, worker);
  const ends = await Promise.allSettled(workers);
  const failed = ends.find((end) => end.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}
