// Changes that programs were told of before the server, on their way to it: in the order in which they were made, many
// at a time. A name comes to the server after the content of its file, and whatever was done to names after it comes
// later too; what a broken line left unanswered is sent again.
import type { Clock, Timer } from "@runnel/shared";
import { LIMITS, RunnelError, isRunnelError } from "@runnel/shared";
import type { Making } from "../transfer/send-content.ts";
import { type Save, type TreeChange, isSave } from "./own-change.ts";

export type Queued = Save | TreeChange;

export interface OutboxDeps {
  clock: Clock;
  isConnected(): boolean;
  /** Sends a change of names or attributes after others. @throws what it is refused with, or the line's error. */
  sendChange(change: TreeChange, after: readonly number[]): Promise<void>;
  /** Makes one attempt at a content; `opened` when the server is asked for it. What it fails with is the save's. */
  sendSave(save: Save, making: Making | undefined, opened: () => void): Promise<void>;
  /** The server has refused it, and asking again would not help. */
  refused(change: TreeChange, error: RunnelError): Promise<void>;
}

interface Sending {
  queued: Queued;
  /** The server has been asked for it: what is asked now comes after it. */
  isOpen: boolean;
  /** Contents that it comes after. */
  after: readonly Queued[];
  ended: Promise<void>;
}

const CHANGES_UNDER_WAY_MAX = 256;
const SAVES_UNDER_WAY_MAX = 32;
/** Interval at which what a connected server refused for a while is tried again. */
const AGAIN_MS = 2_000;
/** Kinds of failure that say nothing of the change itself, or may pass. */
const PASSING = ["Unreachable", "Interrupted", "Unavailable", "Busy", "NoSpace", "Quota"] as const;

export class Outbox {
  readonly #deps: OutboxDeps;
  /** Ordered by their numbers. */
  #waiting: Queued[] = [];
  readonly #sending = new Map<number, Sending>();
  readonly #all = new Set<Queued>();
  /** Numbers of the changes under way that make nodes, by node. */
  readonly #makes = new Map<number, number>();
  /** Changes that programs are being answered for, and that come here next. */
  #expected = 0;
  #savesUnderWay = 0;
  /** Contents under way that some change of names waits for at the server, and so all that come later. */
  readonly #barrier = new Set<number>();
  #idle: PromiseWithResolvers<void> | undefined;
  #timer: Timer | undefined;
  /** Something was refused for a while, or the line broke: what comes after it waits too. */
  #isPaused = false;
  #isClosed = false;

  constructor(deps: OutboxDeps) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#all.size + this.#expected;
  }

  has(queued: Queued): boolean {
    return this.#all.has(queued);
  }

  /** Something is about to be added: it is not idle before that has been sent, or the disposal without it. */
  expect(): Disposable {
    this.#expected++;
    return {
      [Symbol.dispose]: () => {
        this.#expected--;
        this.#mayBeIdle();
      },
    };
  }

  add(...queued: readonly Queued[]): void {
    for (const each of queued) this.#all.add(each);
    this.#waiting.push(...queued);
    this.#sort();
    this.pump();
  }

  /** Resolves when nothing waits here; not before the line is back. @throws what the server has no room for. */
  async idle(): Promise<void> {
    if (this.size === 0) return;
    if (this.#idle === undefined) {
      this.#idle = Promise.withResolvers<void>();
      this.#idle.promise.catch(() => undefined);
    }
    await this.#idle.promise;
  }

  /** The line is there again. */
  resume(): void {
    this.#isPaused = false;
    this.pump();
  }

  /** Sends what may be sent. */
  pump(): void {
    if (this.#isClosed || this.#isPaused || !this.#deps.isConnected()) return;
    let started = 0;
    for (const queued of this.#waiting) {
      if (queued.state === "settled") this.#all.delete(queued);
      else if (!this.#start(queued)) break;
      started++;
    }
    this.#waiting.splice(0, started);
    this.#mayBeIdle();
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  /** @returns false when it has to wait. */
  #start(queued: Queued): boolean {
    if (isSave(queued)) {
      if (this.#savesUnderWay >= SAVES_UNDER_WAY_MAX) return false;
      this.#savesUnderWay++;
      const opened = (): void => {
        const sending = this.#sending.get(queued.n);
        if (sending?.queued !== queued) return;
        sending.isOpen = true;
        this.pump();
      };
      this.#track(queued, [], this.#deps.sendSave(queued, this.making(queued.record.node), opened));
      return true;
    }
    const after = this.#contentsBefore(queued);
    const isFull = this.#sending.size - this.#savesUnderWay >= CHANGES_UNDER_WAY_MAX;
    if (isFull || after.length > LIMITS.operationsAfter || after.some(({ isOpen }) => !isOpen)) return false;
    for (const each of after) this.#barrier.add(each.queued.n);
    const contents = after.map((each) => each.queued);
    const numbers = contents.map(({ n }) => n);
    this.#track(queued, contents, this.#deps.sendChange(queued, numbers));
    return true;
  }

  /** Contents under way that it comes after: those of its own nodes, and those that something before it waits for. */
  #contentsBefore({ nodes }: TreeChange): Sending[] {
    if (this.#savesUnderWay === 0) return [];
    return [...this.#sending.values()].filter(
      ({ queued }) => isSave(queued) && (this.#barrier.has(queued.n) || nodes.includes(queued.record.node)),
    );
  }

  /** Returns the change that makes a node, while that is on its way. */
  making(node: number): Making | undefined {
    const n = this.#makes.get(node);
    const sending = n === undefined ? undefined : this.#sending.get(n);
    return n === undefined || sending === undefined ? undefined : { n, settled: sending.ended };
  }

  #track(queued: Queued, after: readonly Queued[], sent: Promise<void>): void {
    const ended = sent.then(
      () => this.#ended(queued, after, isSave(queued) ? queued.failure : undefined),
      (error: unknown) => this.#ended(queued, after, error),
    );
    this.#sending.set(queued.n, { queued, isOpen: false, after, ended });
    const made = madeBy(queued);
    if (made !== undefined) this.#makes.set(made, queued.n);
  }

  async #ended(queued: Queued, after: readonly Queued[], error: unknown): Promise<void> {
    const { n } = queued;
    const isDone = isSave(queued) ? queued.state !== "unsent" : error === undefined;
    // It fails with what a content before it failed with.
    const isOfContent = after.some((each) => each.state === "unsent" || each.state === "sent");
    const isPassing = !isDone && (isOfContent || isRunnelError(error, ...PASSING));
    if (!isDone && !isPassing && !isSave(queued))
      await this.#deps.refused(queued, error instanceof RunnelError ? error : failed(error));
    // A save that is planned anew has another number.
    for (const [number, sending] of this.#sending) if (sending.queued === queued) this.#sending.delete(number);
    this.#barrier.delete(n);
    const made = madeBy(queued);
    if (made !== undefined) this.#makes.delete(made);
    if (isSave(queued)) this.#savesUnderWay--;
    if (isPassing) {
      this.#waiting.push(queued);
      this.#sort();
      this.#again();
      if (isRunnelError(error, "NoSpace", "Quota")) {
        this.#idle?.reject(error);
        this.#idle = undefined;
      }
    } else {
      this.#all.delete(queued);
      this.pump();
    }
    this.#mayBeIdle();
  }

  /** Most come in their order. */
  #sort(): void {
    const waiting = this.#waiting;
    const isSorted = waiting.length < 2 || (waiting.at(-2)?.n ?? 0) < (waiting.at(-1)?.n ?? 0);
    if (!isSorted) waiting.sort((one, other) => one.n - other.n);
  }

  #again(): void {
    this.#isPaused = true;
    this.#timer ??= this.#deps.clock.after(AGAIN_MS, () => {
      this.#timer = undefined;
      this.resume();
    });
  }

  #mayBeIdle(): void {
    if (this.size > 0) return;
    this.#idle?.resolve();
    this.#idle = undefined;
  }
}

function madeBy(queued: Queued): number | undefined {
  if (isSave(queued)) return undefined;
  const { operation } = queued.record;
  return operation.op === "make" ? operation.node : undefined;
}

function failed(error: unknown): RunnelError {
  return new RunnelError("Io", "change", String(error), { cause: error });
}
