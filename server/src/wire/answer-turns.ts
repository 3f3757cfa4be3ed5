// Answers that are made whole before they are sent. A client that asks for them and does not read them shall cost no memory: few are made at a time, and none while
// much of what it asked for before lies unread.

/** Made at a time: each is at most a control message long. */
const AT_ONCE = 8;

export class AnswerTurns {
  private readonly whenRead: () => Promise<void>;
  private free = AT_ONCE;
  private readonly waiting: (() => void)[] = [];

  /** `whenRead` resolves when little lies unread. */
  constructor(whenRead: () => Promise<void>) {
    this.whenRead = whenRead;
  }

  /** In the order of asking. */
  async take(answer: () => Promise<void>): Promise<void> {
    if (this.free > 0) this.free--;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      await this.whenRead();
      await answer();
    } finally {
      const next = this.waiting.shift();
      if (next === undefined) this.free++;
      else next();
    }
  }
}
