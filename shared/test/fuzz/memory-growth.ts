// Growth of this process in the course of a campaign: inputs given again and again must leave nothing of each behind.

/** Share of the inputs after which all is loaded, and most of what is kept of the inputs is there. */
const SETTLED = 0.2;
/**
 * Memory outside the heap, such as a decompressor's, is freed in a turn after the collection that has found its owner
 * gone.
 */
const COLLECTIONS = 3;

export class MemoryGrowth {
  private settledBytes: number | undefined;

  /** Measures once `done`, the share of the campaign that is over (0 to 1), has settled. */
  async look(done: number): Promise<void> {
    if (done >= SETTLED) this.settledBytes ??= await liveBytes();
  }

  async bytes(): Promise<number> {
    return this.settledBytes === undefined ? 0 : (await liveBytes()) - this.settledBytes;
  }
}

/** Needs --expose-gc. */
async function liveBytes(): Promise<number> {
  for (let collected = 0; collected < COLLECTIONS; collected++) {
    global.gc?.();
    await new Promise(setImmediate);
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
