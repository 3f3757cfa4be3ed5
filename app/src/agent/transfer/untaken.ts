// What of a write's items the server has not said to have taken (W35): it holds that in memory, so only so much is sent ahead.
import { TOOK_BYTES, TOOK_STEP } from "@runnel/shared";

const ITEMS_MAX = 2 * TOOK_STEP;
const BYTES_MAX = 4 * TOOK_BYTES;

export class Untaken {
  /** Items that it has taken, from the beginning of the write. */
  private taken: number;
  /** Of those sent after them, in order: what stands in each. */
  private readonly sizes: number[] = [];
  private bytes = 0;

  /** `taken`: before the first that is sent. */
  constructor(taken: number) {
    this.taken = taken;
  }

  get mustWait(): boolean {
    return this.sizes.length >= ITEMS_MAX || this.bytes >= BYTES_MAX;
  }

  sent(bytes: number): void {
    this.sizes.push(bytes);
    this.bytes += bytes;
  }

  /** So many from the beginning. */
  took(items: number): void {
    for (const bytes of this.sizes.splice(0, Math.max(0, items - this.taken))) this.bytes -= bytes;
    this.taken = Math.max(this.taken, items);
  }
}
