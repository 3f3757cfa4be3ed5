// Handles a little of what a device says in each turn of the event loop, whatever the number of its connections: others
// are served between.
import { nextTurn } from "@runnel/shared";

/** Bytes of messages, unfolded: a few milliseconds of work. A longer message is handled alone. */
const TURN_BYTES = 64 * 1024;
/** A message costs something, however short it is. */
const MESSAGE_BYTES = 4096;

export class DeviceTurns {
  private leftBytes = TURN_BYTES;
  private isTurning = false;
  private readonly waiting: { bytes: number; go(): void }[] = [];

  /** Returns false when it has to wait until `turn` resolves. */
  tryTake(bytes: number): boolean {
    if (this.waiting.length > 0 || this.leftBytes <= 0) return false;
    this.spend(bytes);
    return true;
  }

  /** Resolves in the order of asking. */
  async take(bytes: number): Promise<void> {
    if (this.tryTake(bytes)) return;
    await new Promise<void>((go) => this.waiting.push({ bytes, go }));
  }

  private spend(bytes: number): void {
    this.leftBytes -= bytes + MESSAGE_BYTES;
    if (this.isTurning) return;
    this.isTurning = true;
    nextTurn(() => {
      this.isTurning = false;
      this.leftBytes = TURN_BYTES;
      while (this.leftBytes > 0) {
        const next = this.waiting.shift();
        if (next === undefined) return;
        this.spend(next.bytes);
        next.go();
      }
    });
  }
}
