// Measures how much more memory this process has in use in the course of a campaign: what is given inputs again and
// again must not keep something of each.

/** Share of a campaign after which all is loaded, and most of what is kept of the inputs is there. */
const SETTLED = 0.2;

export class MemoryGrowth {
  private settledBytes: number | undefined;

  /** `done`: of the campaign, 0 to 1. */
  look(done: number): void {
    if (done >= SETTLED) this.settledBytes ??= liveBytes();
  }

  get bytes(): number {
    return this.settledBytes === undefined ? 0 : liveBytes() - this.settledBytes;
  }
}

/** Needs --expose-gc. */
function liveBytes(): number {
  global.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
