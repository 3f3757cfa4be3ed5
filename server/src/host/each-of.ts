// Bounded concurrency over a list.
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
