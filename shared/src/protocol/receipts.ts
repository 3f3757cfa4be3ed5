// Acknowledgements of bulk: soon, but not one for each frame; and none while more lies unread than may come on (rule
// W9).
import type { Clock, Timer } from "../host/clock.ts";

/** Bulk is acknowledged when this much is unacknowledged, but no more often than each GAP_MS; else after a moment. */
const STEP_BYTES = 16 * 1024;
const GAP_MS = 1;
const DELAY_MS = 5;

export interface ReceiptsDeps {
  clock: Clock;
  /** Asked again after a moment where it is not so. */
  mayAcknowledge(): boolean;
  /** Acknowledges the total that has come on this connection. */
  say(total: number): void;
}

export class Receipts {
  private readonly deps: ReceiptsDeps;
  private receivedBytes = 0;
  private acknowledgedBytes = 0;
  private acknowledgedMs = -Infinity;
  private timer: Timer | undefined;
  private isSoon = false;

  constructor(deps: ReceiptsDeps) {
    this.deps = deps;
  }

  received(bytes: number): void {
    const { clock } = this.deps;
    this.receivedBytes += bytes;
    if (this.receivedBytes - this.acknowledgedBytes < STEP_BYTES) this.timer ??= this.after(DELAY_MS);
    else if (clock.bootMs() - this.acknowledgedMs >= GAP_MS) this.acknowledge();
    else if (!this.isSoon) {
      this.isSoon = true;
      this.timer?.cancel();
      this.timer = this.after(GAP_MS);
    }
  }

  end(): void {
    this.timer?.cancel();
  }

  private after(ms: number): Timer {
    return this.deps.clock.after(ms, () => this.acknowledge());
  }

  private acknowledge(): void {
    const { clock, mayAcknowledge, say } = this.deps;
    this.timer?.cancel();
    if (!mayAcknowledge()) {
      this.timer = this.after(DELAY_MS);
      return;
    }
    this.timer = undefined;
    this.isSoon = false;
    this.acknowledgedBytes = this.receivedBytes;
    this.acknowledgedMs = clock.bootMs();
    say(this.receivedBytes);
  }
}
