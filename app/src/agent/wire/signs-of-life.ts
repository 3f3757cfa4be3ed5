// When to stop waiting for a server that says nothing: after a silence for whoever only reads, after the patience for what may have been executed. One that
// says it is there, but has no answer yet, has the patience in both cases: its disk may be slow.
// A sign is any byte from it, whomever it answers: over a slow line one message may take longer than that. All in own time: while this process is
// late nothing counts as silence.
import type { Clock, Connection, Timer } from "@runnel/shared";
import { RunnelError } from "@runnel/shared";
import { LineTimes } from "./line-times.ts";
import { OwnTime } from "./own-time.ts";

/** How exactly the moment is known when bytes come that end no message yet. */
const LOOK_EVERY_MS = 250;
/** A silence of this part of what counts is looked into: there is time to replace a connection before it counts. */
const HESITATION = 3 / 8;
/** What is on its way to the server is given so many times what the line needs for it; less than TCP sends without an answer needs no time of its own. */
const SENDING = 3;
const FIRST_FLIGHT_BYTES = 14_000;
/** Of one small answer on the line, TLS's bytes included. */
const ANSWER_BYTES_MAX = 128;

export class SignsOfLife {
  readonly line = new LineTimes();
  readonly time: OwnTime;
  private readonly clock: Clock;
  private readonly connection: () => Connection | undefined;
  private readonly hesitates: () => void;
  /** When something was asked that met silence; undefined when nothing was on this connection. */
  private askedInVainMs: number | undefined;
  /** When bytes were last seen to have come, and how many had by then on this connection. */
  private heardMs = 0;
  private heardBytes = 0;
  /** How many had been sent by then. */
  private sentBytes = 0;
  /** When the last connection was lost. */
  private lostMs: number;
  private hesitatedMs = 0;
  /** When it last answered that it is there. */
  private thereMs = 0;

  /** `hesitates`: somebody waits for the server, which says nothing although nothing is known to delay it; told again while that lasts. */
  constructor(clock: Clock, connection: () => Connection | undefined, hesitates: () => void = () => undefined) {
    this.clock = clock;
    this.connection = connection;
    this.hesitates = hesitates;
    this.time = new OwnTime(clock, () => connection()?.isBehind === true);
    this.lostMs = this.time.nowMs;
  }

  get lastHeardMs(): number {
    this.look();
    return this.heardMs;
  }

  /** Something was not answered in time, and nothing has been heard since it was asked. */
  get isSilent(): boolean {
    return this.askedInVainMs !== undefined && this.lastHeardMs <= this.askedInVainMs;
  }

  /** Since when it counts as offline; undefined: it does not. */
  get offlineSinceMs(): number | undefined {
    if (this.connection() === undefined) return this.lostMs;
    return this.isSilent ? this.askedInVainMs : undefined;
  }

  /** How much is left of the silence in which a line that has just broken, or was found again since, does not count as offline yet: 0 while it is there. */
  get silenceLeftMs(): number {
    const sinceMs = this.offlineSinceMs;
    return sinceMs === undefined
      ? 0
      : Math.max(0, Math.max(sinceMs, this.thereMs) + this.line.silenceMs - this.time.nowMs);
  }

  /** To be called when a connection has been made, and before one is let go. */
  changed(): void {
    this.heardMs = this.lastHeardMs;
    // One that is let go because it said nothing was lost when it began to.
    this.lostMs = (this.isSilent ? this.askedInVainMs : undefined) ?? this.time.nowMs;
    this.heardBytes = 0;
    this.sentBytes = 0;
    this.askedInVainMs = undefined;
  }

  /** An answer that must come within a silence, whatever else is heard. @throws Unreachable */
  async soon<T>(answer: Promise<T>, what: string): Promise<T> {
    this.look();
    const askedMs = this.time.nowMs;
    const outcome = await this.until(answer, askedMs, () => askedMs + this.line.silenceMs);
    if (outcome !== undefined) return outcome.result;
    throw this.inVain(what, askedMs);
  }

  /** An answer on a connection that is being made. @throws `overdue` after the patience. */
  async atFirst<T>(answer: Promise<T>, overdue: RunnelError): Promise<T> {
    const askedMs = this.time.nowMs;
    return this.byThen(
      answer,
      () => askedMs + this.line.patienceMs,
      () => overdue,
    );
  }

  /** @throws `overdue` after so long of own time. */
  async connected(connecting: Promise<void>, limitMs: number, overdue: () => RunnelError): Promise<void> {
    const untilMs = this.time.nowMs + limitMs;
    return this.byThen(connecting, () => untilMs, overdue);
  }

  /** Waits as long as nothing is silent for a silence, or for the patience where the server says that it is there. @throws Unreachable */
  async whileHeard<T>(answer: Promise<T>, what: string): Promise<T> {
    const askedMs = this.time.nowMs;
    const dueMs = (): number => {
      const sinceMs = Math.max(askedMs, this.lastHeardMs);
      return Math.min(sinceMs + this.line.patienceMs, Math.max(sinceMs, this.thereMs) + this.line.silenceMs);
    };
    const outcome = await this.until(answer, askedMs, dueMs);
    if (outcome !== undefined) return outcome.result;
    throw this.inVain(what, askedMs);
  }

  /** The same for what nobody's work depends on: the server does not count as offline because of it. @throws Unreachable */
  async aside<T>(answer: Promise<T>, what: string): Promise<T> {
    const askedMs = this.time.nowMs;
    const outcome = await this.until(answer, Infinity, () => Math.max(askedMs, this.lastHeardMs) + this.line.silenceMs);
    if (outcome !== undefined) return outcome.result;
    throw unanswered(what);
  }

  /**
   * Waits as long as no silence reaches the patience, what it has lasted already counted. @throws Unreachable; the connection is closed then, so that
   * whoever else waits on it hears of it too.
   */
  async patiently<T>(answer: Promise<T>, what: string): Promise<T> {
    const connection = this.connection();
    const askedMs = this.offlineSinceMs ?? this.time.nowMs;
    const soon = await this.untilSilent(answer, askedMs, () => this.line.silenceMs);
    if (soon !== undefined) return soon.result;
    // From now on whoever comes does not ask in vain; what is under way may still be answered.
    this.note(askedMs);
    const outcome = await this.untilSilent(answer, askedMs, () => this.line.patienceMs);
    if (outcome !== undefined) return outcome.result;
    const error = this.inVain(what, askedMs);
    connection?.close(error);
    throw error;
  }

  private look(): void {
    const connection = this.connection();
    if (connection === undefined) return;
    const { link } = connection;
    if (link.receivedBytes > this.heardBytes) {
      this.heardMs = this.time.nowMs;
      this.sentBytes = link.sentBytes;
    }
    this.heardBytes = link.receivedBytes;
  }

  /** What has just come answers the question whether the server is there, and nothing that anybody waits for. */
  showedItself(): void {
    this.thereMs = this.time.nowMs;
    const received = this.connection()?.link.receivedBytes ?? 0;
    if (received - this.heardBytes <= ANSWER_BYTES_MAX) this.heardBytes = received;
  }

  /** On another connection, which may take this one's place. */
  answeredBeside(): void {
    this.thereMs = this.time.nowMs;
  }

  /** To whoever has waited for as long as this without a sign the line is suspect. */
  private hesitationMs(connection: Connection): number {
    const { link, ratePerSecond } = connection;
    const underWayBytes = link.sentBytes - this.sentBytes + connection.unacknowledgedBytes;
    const sendingMs = underWayBytes <= FIRST_FLIGHT_BYTES ? 0 : (SENDING * underWayBytes * 1000) / ratePerSecond;
    return HESITATION * this.line.silenceMs + sendingMs;
  }

  private suspect(askedMs: number): void {
    const connection = this.connection();
    if (connection === undefined) return;
    const hesitationMs = this.hesitationMs(connection);
    const { nowMs } = this.time;
    if (nowMs - Math.max(askedMs, this.lastHeardMs, this.hesitatedMs) < hesitationMs) return;
    this.hesitatedMs = nowMs;
    this.hesitates();
  }

  private async byThen<T>(answer: Promise<T>, dueMs: () => number, overdue: () => RunnelError): Promise<T> {
    const outcome = await this.until(answer, Infinity, dueMs);
    if (outcome === undefined) throw overdue();
    return outcome.result;
  }

  private untilSilent<T>(
    answer: Promise<T>,
    askedMs: number,
    limitMs: () => number,
  ): Promise<{ result: T } | undefined> {
    return this.until(answer, askedMs, () => Math.max(askedMs, this.lastHeardMs) + limitMs());
  }

  /** Until that moment of own time, which may move on meanwhile. */
  private async until<T>(answer: Promise<T>, askedMs: number, dueMs: () => number): Promise<{ result: T } | undefined> {
    // It may come to nothing after nobody waits for it any longer.
    answer.catch(() => undefined);
    const end = this.time.watch();
    try {
      for (;;) {
        const leftMs = dueMs() - this.time.nowMs;
        if (leftMs <= 0) return undefined;
        const outcome = await this.within(answer, Math.min(leftMs, LOOK_EVERY_MS));
        if (outcome !== undefined) return outcome;
        this.suspect(askedMs);
      }
    } finally {
      end();
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

  private note(askedMs: number): void {
    this.askedInVainMs = Math.max(this.askedInVainMs ?? askedMs, askedMs);
  }

  private inVain(what: string, askedMs: number): RunnelError {
    this.note(askedMs);
    return unanswered(what);
  }
}

export function unanswered(what: string): RunnelError {
  return new RunnelError("Unreachable", what, "The server does not answer.");
}
