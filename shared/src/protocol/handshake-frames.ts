// Frames of the other side before it is authenticated (rule W73): one request is examined, the rest waits as it came
// until that has been answered, since each may be the one that authenticates it.
import { RunnelError } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import type { Frame } from "./frame.ts";

export class HandshakeFrames {
  private readonly take: (frame: Frame) => void;
  private readonly waiting: Frame[] = [];
  private count = 0;
  private isAnswering = false;

  constructor(take: (frame: Frame) => void) {
    this.take = take;
  }

  /** @throws TooLarge for more than may be said before; whatever `take` throws. */
  put(frame: Frame): void {
    if (++this.count > LIMITS.unauthenticatedFrames || frame.isCompressed) {
      const sentence = "Before it is known whose a connection is, little may be said on it, and nothing compressed.";
      throw new RunnelError("TooLarge", "receive", sentence, {
        detail: { limit: LIMITS.unauthenticatedFrames, rule: "W73" },
      });
    }
    this.waiting.push(frame);
    this.takeNext();
  }

  /** A request of it is being answered. */
  begun(): void {
    this.isAnswering = true;
  }

  /** @throws whatever `take` throws. */
  answered(): void {
    this.isAnswering = false;
    this.takeNext();
  }

  /** The other side is authenticated. @throws whatever `take` throws. */
  release(): void {
    for (const frame of this.waiting.splice(0)) this.take(frame);
  }

  private takeNext(): void {
    while (!this.isAnswering) {
      const frame = this.waiting.shift();
      if (frame === undefined) return;
      this.take(frame);
    }
  }
}
