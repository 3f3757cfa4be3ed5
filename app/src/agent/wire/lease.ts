// The lease on what is followed: asked for while programs use the drive, counted from asking, given back after a term without use. Each answer that
// nothing delayed measures the line.
import type { Channel, Clock, Connection, RunnelError, Timer } from "@runnel/shared";
import { TIMING } from "@runnel/shared";
import { type SignsOfLife, unanswered } from "./signs-of-life.ts";

export interface LeaseParts {
  clock: Clock;
  signs: SignsOfLife;
  connection(): Connection | undefined;
  /** Undefined while there is none. */
  feed(): Channel | undefined;
  /** Programs use the drive, or somebody waits for an answer. */
  isUsed(): boolean;
  /** Until this boot time; 0: none. */
  changed(untilMs: number): void;
  /** The line is another than was thought. */
  measured(): void;
}

interface Question {
  /** On the boot clock: the lease counts from it. In own time: for how long it has been waited for. */
  sentMs: number;
  askedMs: number;
  /** What had come by then; undefined when what was sent before may delay it. */
  receivedBytes: number | undefined;
  answered(isCurrent: boolean): void;
  failed(error: RunnelError): void;
}

/** More than an answer and what comes with it: the answer has waited behind that. */
const ANSWER_BYTES_MAX = 1024;
const RENEWALS_A_TERM = 3;
/** However long the term: a living server shows itself to who waits for it within the patience. */
const RENEWED_MS = 0.7 * TIMING.patienceMs;

export class Lease {
  private readonly parts: LeaseParts;
  private question = 0;
  private readonly asked = new Map<number, Question>();
  private termMs: number = TIMING.leaseTermMs;
  private untilMs = 0;
  private usedMs = 0;
  private isIdle = false;
  private timer: Timer | undefined;
  private isEnded = false;

  constructor(parts: LeaseParts) {
    this.parts = parts;
  }

  get isHeld(): boolean {
    return this.untilMs > this.parts.clock.bootMs();
  }

  /** How long the oldest question has been waited for, in own time; 0: none is. */
  get oldestMs(): number {
    const [oldest] = this.asked.values();
    return oldest === undefined ? 0 : this.parts.signs.time.nowMs - oldest.askedMs;
  }

  /** An attachment. `isResumed`: what was promised of the tree of before still counts. */
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

  /** For good. */
  end(): void {
    this.isEnded = true;
    this.timer?.cancel();
    this.set(0);
  }

  /** Programs use the drive: it is kept alive for another term. */
  used(): void {
    this.usedMs = this.parts.clock.bootMs();
    if (!this.isIdle) return;
    this.isIdle = false;
    this.schedule(0);
  }

  /** One question. @throws Unreachable when it is not answered soon; `otherwise` while there is no feed. */
  async ask(otherwise: RunnelError): Promise<void> {
    const { clock, signs } = this.parts;
    const feed = this.parts.feed();
    const connection = this.parts.connection();
    if (feed === undefined || connection === undefined) throw otherwise;
    const question = ++this.question;
    const [sentMs, askedMs] = [clock.bootMs(), signs.time.nowMs];
    const receivedBytes = connection.unacknowledgedBytes > 0 ? undefined : connection.link.receivedBytes;
    const answer = new Promise<boolean>((answered, failed) => {
      this.asked.set(question, { sentMs, askedMs, receivedBytes, answered, failed });
    });
    feed.send(["current", question]);
    await signs.soon(answer, "current");
  }

  answered(question: number, isCurrent: boolean): void {
    const asked = this.asked.get(question);
    // None, or one from before it was given back: the server has released the lease by then.
    if (asked === undefined) return;
    this.asked.delete(question);
    this.measure(asked);
    // The lease counts from sending: the server began to count later.
    if (isCurrent) this.set(asked.sentMs + this.termMs - Math.min(TIMING.leaseMarginMs, this.termMs / 4));
    asked.answered(isCurrent);
  }

  /** What came in between, or went out before, was in the way of the answer and says nothing of the line. */
  private measure({ askedMs, receivedBytes }: Question): void {
    const { signs } = this.parts;
    const connection = this.parts.connection();
    if (connection === undefined || receivedBytes === undefined || connection.unacknowledgedBytes > 0) return;
    if (connection.link.receivedBytes - receivedBytes > ANSWER_BYTES_MAX) return;
    signs.line.measured(signs.time.nowMs - askedMs);
    this.parts.measured();
  }

  private set(untilMs: number): void {
    if (untilMs !== 0 && untilMs <= this.untilMs) return;
    this.untilMs = untilMs;
    this.parts.changed(untilMs);
  }

  schedule(delayMs: number): void {
    this.timer?.cancel();
    if (this.isEnded) return;
    this.timer = this.parts.clock.after(delayMs, () => this.renew());
  }

  /** At least three questions a term while programs use the drive; none after a term without use (the lease is given back then). */
  private renew(): void {
    const { clock, signs } = this.parts;
    const connection = this.parts.connection();
    const feed = this.parts.feed();
    if (connection === undefined || feed === undefined) return;
    const nowMs = clock.bootMs();
    if (this.parts.isUsed()) this.usedMs = nowMs;
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
      // A question without any sign of life for long: the line is dead although nobody said so.
      const isHere = connection === this.parts.connection();
      if (isHere && signs.time.nowMs - signs.lastHeardMs > signs.line.patienceMs) connection.close(error);
    });
    this.schedule(Math.min(this.termMs / RENEWALS_A_TERM, RENEWED_MS));
  }
}
