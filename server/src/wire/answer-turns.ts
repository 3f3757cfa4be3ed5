// Answers that are made whole before they are sent. A client that asks for them and does not read them shall cost no memory: few are made at a time, of a connection
// and of all connections of a device, and none while much of what was asked for before lies unread on the connection.

/** Made at a time: each is at most a control message long. */
const AT_ONCE = 8;

/** So many at a time, the others in the order of asking. */
export class Places {
  private free = AT_ONCE;
  private readonly waiting: (() => void)[] = [];

  async enter(): Promise<void> {
    if (this.free > 0) this.free--;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  leave(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.free++;
    else next();
  }
}

export interface Reading {
  /** Little lies unread. */
  isRead(): boolean;
  /** Resolves when it does. */
  whenRead(): Promise<void>;
}

export class AnswerTurns {
  private readonly reading: Reading;
  private readonly own = new Places();
  private readonly device: () => Places;

  constructor(reading: Reading, device: () => Places) {
    this.reading = reading;
    this.device = device;
  }

  /** In the order of asking. */
  async take(answer: () => Promise<void>): Promise<void> {
    await this.own.enter();
    const device = this.device();
    try {
      for (;;) {
        await this.reading.whenRead();
        await device.enter();
        // Others of this connection may have been answered meanwhile.
        if (this.reading.isRead()) break;
        device.leave();
      }
      try {
        await answer();
      } finally {
        device.leave();
      }
    } finally {
      this.own.leave();
    }
  }
}
