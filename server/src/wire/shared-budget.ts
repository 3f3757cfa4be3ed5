// Room that the connections of a device share, in bytes of memory or in number. A connection that has stalled leaves
// each of the others a little: a computer that was cut off comes back on another one, and is served though nobody has
// noticed yet that the former one is gone.

interface Waiting {
  amount: number;
  go(): void;
}

export class SharedBudget {
  private readonly most: number;
  private readonly ownMost: number;
  private used = 0;
  /** Amount used by each connection, as long as it has any. */
  private readonly usedBy = new Map<object, number>();
  /** Requests by connection, in the order of asking; the connections take turns. */
  private readonly waiting = new Map<object, Waiting[]>();

  /** `most` of all connections together; each has its first, whatever that is, and up to `ownMost` of its own. */
  constructor(most: number, ownMost = 0) {
    this.most = most;
    this.ownMost = ownMost;
  }

  /** Resolves when there is room for so much of the connection, with what gives it back. */
  async enter(connection: object, amount = 1): Promise<() => void> {
    await new Promise<void>((go) => {
      const queue = this.waiting.get(connection) ?? [];
      this.waiting.set(connection, queue);
      queue.push({ amount, go });
      this.fill();
    });
    return () => {
      this.count(connection, -amount);
      this.fill();
    };
  }

  /** Does it there. */
  async run<T>(connection: object, work: () => Promise<T>): Promise<T> {
    const leave = await this.enter(connection);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  private fill(): void {
    // A connection that has more waiting comes again, behind the others.
    for (const [connection, queue] of this.waiting) {
      const [next] = queue;
      if (next === undefined || !this.fits(connection, next.amount)) continue;
      queue.shift();
      this.waiting.delete(connection);
      if (queue.length > 0) this.waiting.set(connection, queue);
      this.count(connection, next.amount);
      next.go();
    }
  }

  private fits(connection: object, amount: number): boolean {
    const own = this.usedBy.get(connection) ?? 0;
    return own === 0 || own + amount <= this.ownMost || this.used + amount <= this.most;
  }

  private count(connection: object, amount: number): void {
    this.used += amount;
    const own = (this.usedBy.get(connection) ?? 0) + amount;
    if (own > 0) this.usedBy.set(connection, own);
    else this.usedBy.delete(connection);
  }
}
