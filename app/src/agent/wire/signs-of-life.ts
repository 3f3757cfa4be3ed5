// When to stop waiting for a server that says nothing: after a silence for whoever only reads, after the patience for what may have been executed.
// A sign is any byte from it, whomever it answers: over a slow line one message may take longer than that.
import type { Clock, Connection, Timer } from "@runnel/shared";
import { RunnelError, TIMING } from "@runnel/shared";

/** How exactly the moment is known when bytes come that end no message yet. */
const LOOK_EVERY_MS = 250;

export class SignsOfLife {
  private readonly clock: Clock;
  private readonly connection: () => Connection | undefined;
  /** When something was asked that met silence; 0 when nothing was on this connection. */
  private askedInVainMs = 0;
  /** When bytes were last seen to have come, and how many had by then on this connection. */
  private heardMs = 0;
  private heardBytes = 0;
  /** When the last connection was lost. */
  private lostMs: number;

  constructor(clock: Clock, connection: () => Connection | undefined) {
    this.clock = clock;
    this.connection = connection;
    this.lostMs = clock.bootMs();
  }

  get lastHeardMs(): number {
    this.look();
    return this.heardMs;
  }

  /** Something was not answered in time, and nothing has been heard since it was asked. */
  get isSilent(): boolean {
    return this.askedInVainMs !== 0 && this.lastHeardMs <= this.askedInVainMs;
  }

  /** Since when it counts as offline; undefined: it does not. */
  get offlineSinceMs(): number | undefined {
    if (this.connection() === undefined) return this.lostMs;
    return this.isSilent ? this.askedInVainMs : undefined;
  }

  /** To be called when a connection has been made, and before one is let go. */
  changed(): void {
    this.heardMs = this.lastHeardMs;
    // One that is let go because it said nothing was lost when it began to.
    this.lostMs = this.isSilent ? this.askedInVainMs : this.clock.bootMs();
    this.heardBytes = 0;
    this.askedInVainMs = 0;
  }

  /** An answer that must come within TIMING.silenceMs (or `limitMs`), whatever else is heard. @throws Unreachable */
  async soon<T>(answer: Promise<T>, what: string, limitMs: number = TIMING.silenceMs): Promise<T> {
    this.look();
    const askedMs = this.clock.bootMs();
    const outcome = await this.within(answer, limitMs);
    if (outcome !== undefined) return outcome.result;
    throw this.inVain(what, askedMs);
  }

  /** Waits as long as no silence reaches TIMING.silenceMs. @throws Unreachable */
  async whileHeard<T>(answer: Promise<T>, what: string): Promise<T> {
    const askedMs = this.clock.bootMs();
    const outcome = await this.untilSilent(answer, askedMs, TIMING.silenceMs);
    if (outcome !== undefined) return outcome.result;
    throw this.inVain(what, askedMs);
  }

  /**
   * Waits as long as no silence reaches TIMING.patienceMs, what it has lasted already counted. @throws Unreachable; the connection is closed then, so that
   * whoever else waits on it hears of it too.
   */
  async patiently<T>(answer: Promise<T>, what: string): Promise<T> {
    const connection = this.connection();
    const askedMs = this.offlineSinceMs ?? this.clock.bootMs();
    const soon = await this.untilSilent(answer, askedMs, TIMING.silenceMs);
    if (soon !== undefined) return soon.result;
    // From now on whoever comes does not ask in vain; what is under way may still be answered.
    this.askedInVainMs = Math.max(this.askedInVainMs, askedMs);
    const outcome = await this.untilSilent(answer, askedMs, TIMING.patienceMs);
    if (outcome !== undefined) return outcome.result;
    const error = this.inVain(what, askedMs);
    connection?.close(error);
    throw error;
  }

  private look(): void {
    const connection = this.connection();
    if (connection === undefined) return;
    const { link } = connection;
    if (link.receivedBytes > this.heardBytes) this.heardMs = this.clock.bootMs();
    this.heardBytes = link.receivedBytes;
  }

  private async untilSilent<T>(
    answer: Promise<T>,
    askedMs: number,
    silenceMs: number,
  ): Promise<{ result: T } | undefined> {
    // It may come to nothing after nobody waits for it any longer.
    answer.catch(() => undefined);
    for (;;) {
      const leftMs = Math.max(askedMs, this.lastHeardMs) + silenceMs - this.clock.bootMs();
      if (leftMs <= 0) return undefined;
      const outcome = await this.within(answer, Math.min(leftMs, LOOK_EVERY_MS));
      if (outcome !== undefined) return outcome;
    }
  }

  private async within<T>(answer: Promise<T>, limitMs: number): Promise<{ result: T } | undefined> {
    let timer: Timer | undefined;
    const over = new Promise<undefined>((resolve) => {
      timer = this.clock.after(limitMs, () => resolve(undefined));
    });
    try {
      return await Promise.race([answer.then((result) => ({ result })), over]);
    } finally {
      timer?.cancel();
    }
  }

  private inVain(what: string, askedMs: number): RunnelError {
    this.askedInVainMs = Math.max(this.askedInVainMs, askedMs);
    return new RunnelError("Unreachable", what, "The server does not answer.");
  }
}
