// Counts what one side of a connection holds of the other's messages and has not handled yet: in memory, so unfolded,
// however they travelled (W7).
import { RunnelError } from "../errors.ts";

/** Added to the length of each message that waits: an object stands for it, however short it is (rule W169). */
export const WAITING_BYTES = 128;

export class HeldBytes {
  private readonly mayHold: (bytes: number) => boolean;
  private sum = 0;

  constructor(mayHold: (bytes: number) => boolean) {
    this.mayHold = mayHold;
  }

  get bytes(): number {
    return this.sum;
  }

  /** @throws TooLarge: the other side says more than is handled. Nothing is counted then. */
  add(bytes: number): void {
    this.sum += bytes;
    if (this.mayHold(this.sum)) return;
    this.sum -= bytes;
    throw new RunnelError("TooLarge", "receive", "More was said than can be handled: wait for the answers.", {
      detail: { rule: "W7" },
    });
  }

  less(bytes: number): void {
    this.sum -= bytes;
  }
}
