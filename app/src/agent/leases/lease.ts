// Keeps the lease on what is followed: asks for it while programs use the drive, counts it from asking, gives it back
// after a term without use. Each answer that nothing delayed measures the line.
import type { Channel, Clock, Connection, RunnelError, Timer } from "@runnel/shared";
import { TIMING } from "@runnel/shared";
import { type Keepalive, unanswered } from "../wire/keepalive.ts";

export interface LeaseDeps {
  clock: Clock;
  keepalive: Keepalive;
  connection(): Connection | undefined;
  /** @returns undefined while there is none. */
  feed(): Channel | undefined;
  /** Programs use the drive, or somebody waits for an answer. */
  isUsed(): boolean;
  /** Called when it lasts for longer than before, or is given back. */
  changed(): void;
  /** Called when it is given back, and when it begins anew: what holds only while it lasts has ended. */
  interrupted(): void;
  /** Called when the line was measured anew. */
  measured(): void;
}

interface Question {
  /** On the boot clock: the lease counts from it. In own time: for how long it has been waited for. */
  sentMs: number;
  askedMs: number;
  /** A program waits for the answer. */
  isAwaited: boolean;
  /** Bytes that had come by then; undefined when what was sent before may delay it. */
  receivedBytes: number | undefined;
  answered(isCurrent: boolean): void;
  failed(error: RunnelError): void;
}

/** Bytes of an answer and what comes with it at the most: behind more the answer has waited. */
const ANSWER_BYTES_MAX = 1024;
const RENEWALS_A_TERM = 3;
/**
 * Interval of renewals, however long the term: a living server shows itself within the request timeout to whoever
 * waits.
 */
const RENEWED_MS = 0.7 * TIMING.requestTimeoutMs;

export class Lease {
  private readonly deps: LeaseDeps;
  private question = 0;
  private readonly asked = new Map<number, Question>();
  private termMs: number = TIMING.leaseTermMs;
  /** Boot time that it lasts until; 0: there is none. */
  untilMs = 0;
  private usedMs = 0;
  private isIdle = false;
  private timer: Timer | undefined;

  constructor(deps: LeaseDeps) {
    this.deps = deps;
  }

  get isHeld(): boolean {
    return this.untilMs > this.deps.clock.bootMs();
  }

  /** Own time for which the oldest question has been waited for without a word of the server; 0: there is none. */
  get oldestMs(): number {
    const [oldest] = this.asked.values();
    return oldest === undefined ? 0 : this.deps.keepalive.waitedMs(oldest.askedMs);
  }

  /** Called for an attachment. `isResumed`: what was promised of the tree of before still counts. */
  attached(termMs: number, isResumed: boolean): void {
    this.termMs = termMs;
    if (!isResumed) this.untilMs = 0;
  }

  /** The connection is lost; the lease goes on. */
  lost(error: RunnelError): void {
    this.timer?.cancel();
    for (const asked of this.asked.values()) asked.failed(error);
    this.asked.clear();
  }

  /** Gives the lease up, and asks for none before the next attachment. */
  giveUp(): void {
    this.timer?.cancel();
    this.set(0);
  }

  /** Programs use the drive: it is kept alive for another term. */
  used(): void {
    this.usedMs = this.deps.clock.bootMs();
    if (!this.isIdle) return;
    this.isIdle = false;
    this.schedule(0);
  }

  /**
   * Asks the server once; `isAwaited`: for a program. @throws Unreachable when it is not answered soon; `otherwise`
   * while there is no feed.
   */
  async ask(otherwise: RunnelError, isAwaited = false): Promise<void> {
    const { clock, keepalive } = this.deps;
    const feed = this.deps.feed();
    const connection = this.deps.connection();
    if (feed === undefined || connection === undefined) throw otherwise;
    const question = ++this.question;
    const [sentMs, askedMs] = [clock.bootMs(), keepalive.time.nowMs];
    const receivedBytes = connection.unacknowledgedBytes > 0 ? undefined : connection.link.receivedBytes;
    const answer = new Promise<boolean>((answered, failed) => {
      this.asked.set(question, { sentMs, askedMs, isAwaited, receivedBytes, answered, failed });
    });
    feed.send(["current", question]);
    await keepalive.soon(answer, "current");
  }

  answered(question: number, isCurrent: boolean): void {
    const asked = this.asked.get(question);
    // It is of nobody, or from before the lease was given back: the server has released it by then.
    if (asked === undefined) return;
    this.asked.delete(question);
    this.measure(asked);
    // The lease counts from sending: the server began to count later.
    if (isCurrent) this.set(asked.sentMs + this.termMs - Math.min(TIMING.leaseMarginMs, this.termMs / 4));
    asked.answered(isCurrent);
  }

  /** Measures the line, unless something came in between or went out before: that was in the way of the answer. */
  private measure({ askedMs, receivedBytes }: Question): void {
    const { keepalive } = this.deps;
    const connection = this.deps.connection();
    if (connection === undefined || receivedBytes === undefined || connection.unacknowledgedBytes > 0) return;
    if (connection.link.receivedBytes - receivedBytes > ANSWER_BYTES_MAX) return;
    keepalive.line.measured(keepalive.time.nowMs - askedMs);
    this.deps.measured();
  }

  private set(untilMs: number): void {
    if (untilMs !== 0 && untilMs <= this.untilMs) return;
    const isContinued = this.isHeld && untilMs !== 0;
    this.untilMs = untilMs;
    if (!isContinued) this.deps.interrupted();
    this.deps.changed();
  }

  schedule(delayMs: number): void {
    this.timer?.cancel();
    this.timer = this.deps.clock.after(delayMs, () => this.renew());
  }

  /** Asks at least three times a term while programs use the drive; gives the lease back after a term without use. */
  private renew(): void {
    const { clock, keepalive } = this.deps;
    const connection = this.deps.connection();
    const feed = this.deps.feed();
    if (connection === undefined || feed === undefined) return;
    const nowMs = clock.bootMs();
    // Whoever asks may have to wait for longer than a term, for somebody else.
    const isAwaited = [...this.asked.values()].some((question) => question.isAwaited);
    if (this.deps.isUsed() || isAwaited) this.usedMs = nowMs;
    if (nowMs - this.usedMs > this.termMs) {
      this.isIdle = true;
      this.set(0);
      for (const asked of this.asked.values()) asked.answered(false);
      this.asked.clear();
      feed.send(["idle"]);
      return;
    }
    const error = unanswered("renew lease");
    this.ask(error).catch(() => {
      // Nothing at all has come for long: the line is dead although nobody said so.
      const isHere = connection === this.deps.connection();
      if (isHere && keepalive.time.nowMs - keepalive.lastReceivedMs > keepalive.line.requestTimeoutMs)
        connection.close(error);
    });
    this.schedule(Math.min(this.termMs / RENEWALS_A_TERM, RENEWED_MS));
  }
}
