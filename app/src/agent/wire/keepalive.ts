// Decides when to stop waiting for a server that says nothing: after a silence for whoever only reads, after the
// request timeout for what may have been executed. A server that says it is there, but has no answer yet, has the
// request timeout in both cases: its disk may be slow. Any byte from it shows that it is alive, whomever it answers:
// over a slow line one message may take longer than that. All in own time: while this process is late nothing counts as
// silence.
import type { Clock, Connection, Timer } from "@runnel/shared";
import { RunnelError } from "@runnel/shared";
import { LineTimes } from "./line-times.ts";
import { OwnTime } from "./own-time.ts";

/** Interval of checks for bytes that end no message yet. */
const CHECK_EVERY_MS = 250;
/** Part of a silence after which the connection is suspect: there is time to replace it before the silence counts. */
const SUSPICION = 3 / 8;
/**
 * Times what the line needs for the bytes under way to the server that they are given; less than TCP sends without an
 * answer needs no time of its own.
 */
const SENDING = 3;
const FIRST_FLIGHT_BYTES = 14_000;
/** Bytes of a small answer on the line, TLS's included. */
const ANSWER_BYTES_MAX = 128;

export class Keepalive {
  readonly line = new LineTimes();
  readonly time: OwnTime;
  readonly #clock: Clock;
  readonly #connection: () => Connection | undefined;
  readonly #suspects: () => void;
  /** When something was asked that met silence; undefined when nothing was on this connection. */
  #unansweredSinceMs: number | undefined;
  /** When bytes were last seen to have come, and how many had by then on this connection. */
  #receivedMs = 0;
  #receivedBytes = 0;
  /** Bytes that had been sent by then. */
  #sentBytes = 0;
  /** When the last connection was lost. */
  #lostMs: number;
  #suspectedMs = 0;
  /** When it last answered that it is there. */
  #thereMs = 0;
  /** When it last said that what is asked has to wait for somebody else. */
  #toldMs = 0;

  /**
   * `suspects` is called while somebody waits for the server, which says nothing although nothing is known to delay it.
   */
  constructor(clock: Clock, connection: () => Connection | undefined, suspects: () => void = () => undefined) {
    this.#clock = clock;
    this.#connection = connection;
    this.#suspects = suspects;
    this.time = new OwnTime(clock, () => connection()?.isBehind === true);
    this.#lostMs = this.time.nowMs;
  }

  get lastReceivedMs(): number {
    this.#check();
    return this.#receivedMs;
  }

  /** Something was not answered in time, and nothing has come since it was asked. */
  get isSilent(): boolean {
    return this.#unansweredSinceMs !== undefined && this.lastReceivedMs <= this.#unansweredSinceMs;
  }

  /** Moment since which it counts as offline; undefined when it does not. */
  get offlineSinceMs(): number | undefined {
    if (this.#connection() === undefined) return this.#lostMs;
    return this.isSilent ? this.#unansweredSinceMs : undefined;
  }

  /**
   * Rest of the silence in which a line that has just broken, or was found again since, does not count as offline yet:
   * 0 while it is there.
   */
  get silenceLeftMs(): number {
    const sinceMs = this.offlineSinceMs;
    return sinceMs === undefined
      ? 0
      : Math.max(0, Math.max(sinceMs, this.#thereMs) + this.line.silenceMs - this.time.nowMs);
  }

  /** Called when a connection has been made, and before one is given up. */
  changed(): void {
    this.#receivedMs = this.lastReceivedMs;
    // A connection that is given up because it said nothing was lost when it began to.
    this.#lostMs = (this.isSilent ? this.#unansweredSinceMs : undefined) ?? this.time.nowMs;
    this.#receivedBytes = 0;
    this.#sentBytes = 0;
    this.#unansweredSinceMs = undefined;
  }

  /** Waits for an answer that must come within a silence, whatever else comes. @throws Unreachable */
  async soon<T>(answer: Promise<T>, what: string): Promise<T> {
    this.#check();
    const askedMs = this.time.nowMs;
    return this.#orOverdue(
      answer,
      askedMs,
      () => Math.max(askedMs, this.#toldMs) + this.line.silenceMs,
      () => this.#timedOut(what, askedMs),
    );
  }

  /** Waits for an answer on a connection that is being made. @throws `overdue` after the request timeout. */
  async atFirst<T>(answer: Promise<T>, overdue: RunnelError): Promise<T> {
    const askedMs = this.time.nowMs;
    return this.#orOverdue(
      answer,
      Infinity,
      () => askedMs + this.line.requestTimeoutMs,
      () => overdue,
    );
  }

  /** @throws `overdue` after so long of own time. */
  async connected(connecting: Promise<void>, limitMs: number, overdue: () => RunnelError): Promise<void> {
    const untilMs = this.time.nowMs + limitMs;
    return this.#orOverdue(connecting, Infinity, () => untilMs, overdue);
  }

  /**
   * Waits until the server has said nothing for a silence, or for the request timeout where it says that it is there.
   * @throws Unreachable
   */
  async whileAlive<T>(answer: Promise<T>, what: string): Promise<T> {
    const askedMs = this.time.nowMs;
    const dueMs = (): number => {
      const sinceMs = Math.max(askedMs, this.lastReceivedMs);
      return Math.min(sinceMs + this.line.requestTimeoutMs, Math.max(sinceMs, this.#thereMs) + this.line.silenceMs);
    };
    return this.#orOverdue(answer, askedMs, dueMs, () => this.#timedOut(what, askedMs));
  }

  /**
   * Waits for what nobody's work depends on: the server does not count as offline because of it. @throws Unreachable
   */
  async aside<T>(answer: Promise<T>, what: string): Promise<T> {
    const askedMs = this.time.nowMs;
    const dueMs = (): number => Math.max(askedMs, this.lastReceivedMs) + this.line.silenceMs;
    return this.#orOverdue(answer, Infinity, dueMs, () => unanswered(what));
  }

  /**
   * Waits until a silence reaches the request timeout, what it has lasted already counted. @throws Unreachable; the
   * connection is closed then, so that whoever else waits on it is rejected too.
   */
  async withRequestTimeout<T>(answer: Promise<T>, what: string): Promise<T> {
    const connection = this.#connection();
    const askedMs = this.offlineSinceMs ?? this.time.nowMs;
    const soon = await this.#untilSilent(answer, askedMs, () => this.line.silenceMs);
    if (soon !== undefined) return soon.result;
    // Later callers do not wait in vain; what is under way may still be answered.
    this.#note(askedMs);
    const outcome = await this.#untilSilent(answer, askedMs, () => this.line.requestTimeoutMs);
    if (outcome !== undefined) return outcome.result;
    const error = this.#timedOut(what, askedMs);
    connection?.close(error);
    throw error;
  }

  #check(): void {
    const connection = this.#connection();
    if (connection === undefined) return;
    const { link } = connection;
    if (link.receivedBytes > this.#receivedBytes) {
      this.#receivedMs = this.time.nowMs;
      this.#sentBytes = link.sentBytes;
    }
    this.#receivedBytes = link.receivedBytes;
  }

  /** Called when the server has answered that it is there, and nothing that anybody waits for. */
  answered(): void {
    this.#thereMs = this.time.nowMs;
    const received = this.#connection()?.link.receivedBytes ?? 0;
    if (received - this.#receivedBytes <= ANSWER_BYTES_MAX) this.#receivedBytes = received;
  }

  /** Called when it says that what is asked has to wait for somebody else. */
  toldToWait(): void {
    this.#toldMs = this.time.nowMs;
  }

  /** Own time since it was asked at `askedMs`, or last said that this has to wait. */
  waitedMs(askedMs: number): number {
    return this.time.nowMs - Math.max(askedMs, this.#toldMs);
  }

  /** Called when it has answered on another connection, which may take this one's place. */
  answeredElsewhere(): void {
    this.#thereMs = this.time.nowMs;
  }

  /** Time without a byte after which the line is suspect to whoever waits. */
  #suspicionMs(connection: Connection): number {
    const { link, ratePerSecond } = connection;
    const underWayBytes = link.sentBytes - this.#sentBytes + connection.unacknowledgedBytes;
    const sendingMs = underWayBytes <= FIRST_FLIGHT_BYTES ? 0 : (SENDING * underWayBytes * 1000) / ratePerSecond;
    return SUSPICION * this.line.silenceMs + sendingMs;
  }

  #suspect(askedMs: number): void {
    const connection = this.#connection();
    if (connection === undefined) return;
    const suspicionMs = this.#suspicionMs(connection);
    const { nowMs } = this.time;
    if (nowMs - Math.max(askedMs, this.lastReceivedMs, this.#suspectedMs) < suspicionMs) return;
    this.#suspectedMs = nowMs;
    this.#suspects();
  }

  async #orOverdue<T>(
    answer: Promise<T>,
    askedMs: number,
    dueMs: () => number,
    overdue: () => RunnelError,
  ): Promise<T> {
    const outcome = await this.#settledBy(answer, askedMs, dueMs);
    if (outcome === undefined) throw overdue();
    return outcome.result;
  }

  #untilSilent<T>(answer: Promise<T>, askedMs: number, limitMs: () => number): Promise<{ result: T } | undefined> {
    return this.#settledBy(answer, askedMs, () => Math.max(askedMs, this.lastReceivedMs) + limitMs());
  }

  /** @returns undefined once that moment of own time, which may move on meanwhile, has come. */
  async #settledBy<T>(answer: Promise<T>, askedMs: number, dueMs: () => number): Promise<{ result: T } | undefined> {
    // It may come to nothing after nobody waits for it any longer.
    answer.catch(() => undefined);
    const end = this.time.watch();
    try {
      for (;;) {
        const leftMs = dueMs() - this.time.nowMs;
        if (leftMs <= 0) return undefined;
        const outcome = await this.#within(answer, Math.min(leftMs, CHECK_EVERY_MS));
        if (outcome !== undefined) return outcome;
        this.#suspect(askedMs);
      }
    } finally {
      end();
    }
  }

  async #within<T>(answer: Promise<T>, limitMs: number): Promise<{ result: T } | undefined> {
    let timer: Timer | undefined;
    const over = new Promise<undefined>((resolve) => {
      timer = this.#clock.after(limitMs, () => resolve(undefined));
    });
    try {
      return await Promise.race([answer.then((result) => ({ result })), over]);
    } finally {
      timer?.cancel();
    }
  }

  #note(askedMs: number): void {
    this.#unansweredSinceMs = Math.max(this.#unansweredSinceMs ?? askedMs, askedMs);
  }

  #timedOut(what: string, askedMs: number): RunnelError {
    this.#note(askedMs);
    return unanswered(what);
  }
}

export function unanswered(what: string): RunnelError {
  return new RunnelError("Unreachable", what, "The server does not answer.");
}
