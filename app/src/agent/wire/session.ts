// The agent's use of one volume: connects and connects again, attaches and resumes, keeps the feed applied and acknowledged, and the lease
// alive while programs use the drive. Whoever asks something goes through here and gets Unreachable instead of a hang.
import type {
  Change,
  Channel,
  Clock,
  Connection,
  Dialer,
  Executor,
  FeedFromServer,
  NodeState,
  RequestName,
  Timer,
} from "@runnel/shared";
import { FEED_FROM_SERVER, RESULTS, RunnelError, TIMING, check, fromSystemError, sleep } from "@runnel/shared";
import { openConnection } from "./open-connection.ts";

export interface SessionEvents {
  /** Attached anew or resumed. Called before any feed item of this attachment; when it resolves, operations may go. */
  attached(facts: AttachFacts): Promise<void>;
  /** Applies feed items; acknowledged when it returns. Must not wait for the kernel. */
  changes(changes: readonly Change[]): void;
  up(seq: number): void;
  /** What is followed is current as of this seq. */
  current(seq: number): void;
  /** The backlog was too long: everything is unknown. */
  listAgain(): void;
  /** Until this boot time what is followed is current; 0 = no lease. */
  lease(untilBootMs: number): void;
  waiting(n: number, whom: readonly string[], untilMs: number): void;
  /** Connected or not; with a sentence when not. */
  link(isConnected: boolean, why: string): void;
}

export interface AttachFacts {
  epoch: string;
  seq: number;
  root: NodeState;
  isResumed: boolean;
}

export interface Resume {
  epoch: string;
  seq: number;
  follows: "all" | number[];
}

export interface SessionParts {
  url: string;
  volume: string;
  clock: Clock;
  dialer: Dialer;
  executor: Executor;
  /** Of the journal; asked at each attach. */
  instance(): string;
  software: string;
  /** Programs used the drive since the last call, answered without this side hearing of it. */
  wasUsed(): boolean;
  /** What a new attachment resumes from. */
  resume(): Resume | undefined;
  events: SessionEvents;
}

const RECONNECT_MS = [200, 400, 800, 1_500, 3_000, 5_000];
/** Without any sign of the server for this long after a question, the connection is given up and made anew. */
const DEAD_MS = 15_000;
const DIAL_MS = 10_000;
const nodeRange = RESULTS.newNodes;

export class Session {
  private readonly parts: SessionParts;
  private connection: Connection | undefined;
  private feed: Channel | undefined;
  private isEnding = false;
  private readonly whenConnected: { resolve(): void; reject(error: RunnelError): void }[] = [];
  private lastError = new RunnelError("Unreachable", "connect", "Not connected yet.");
  private epoch = "";
  private nodes = { next: 0, end: 0 };
  private nodesAsked: Promise<void> | undefined;

  private question = 0;
  private readonly asked = new Map<
    number,
    { sentMs: number; answered: (isCurrent: boolean) => void; failed: (error: RunnelError) => void }
  >();
  private termMs: number = TIMING.leaseTermMs;
  private leaseUntilMs = 0;
  private usedMs = 0;
  private isIdle = false;
  private renewTimer: Timer | undefined;
  private running: Promise<void> | undefined;
  private ackPending = 0;
  /** Silent: it did not answer in time; whoever asks gets Unreachable at once until something is heard. */
  private silentSinceMs = 0;

  /** Waits for the server that someone waited out. */
  roundTrips = 0;
  /** Bytes of recipes within control messages, for the statistics. */
  recipeBytes = { sent: 0, received: 0 };
  private past = { sent: 0, received: 0, sentBulk: 0, receivedBulk: 0, sentControl: 0, receivedControl: 0 };

  constructor(parts: SessionParts) {
    this.parts = parts;
  }

  /** Connects for the first time. @throws what a person must know when that fails: Unreachable, NotFound (no such volume), Version. */
  async start(): Promise<void> {
    await this.connect();
    this.running = this.keepConnected();
  }

  get isConnected(): boolean {
    return this.connection?.isOpen === true && this.feed !== undefined;
  }

  /** Connected, and not known to be silent. */
  get isResponsive(): boolean {
    const { connection } = this;
    return (
      connection !== undefined &&
      this.isConnected &&
      (this.silentSinceMs === 0 || connection.lastHeardMs > this.silentSinceMs)
    );
  }

  get why(): string {
    return this.lastError.message;
  }

  get hasLease(): boolean {
    return this.leaseUntilMs > this.parts.clock.bootMs();
  }

  get ratePerSecond(): number {
    return this.connection?.ratePerSecond ?? 0;
  }

  /** TCP payload so far, over all connections of this session, by direction; bulk and control frames within. */
  wireBytes(): typeof this.past {
    const { connection, past } = this;
    if (connection === undefined) return { ...past };
    const { counts, link } = connection;
    return {
      sent: past.sent + link.sentBytes,
      received: past.received + link.receivedBytes,
      sentBulk: past.sentBulk + counts.sentBulk,
      receivedBulk: past.receivedBulk + counts.receivedBulk,
      sentControl: past.sentControl + counts.sentControl,
      receivedControl: past.receivedControl + counts.receivedControl,
    };
  }

  /**
   * Proves that the replica of followed folders is current: at once under the lease, else by one question. @throws Unreachable after
   * TIMING.silenceMs without an answer, or at once while offline.
   */
  async current(): Promise<void> {
    this.used();
    if (this.hasLease) return;
    await this.ask();
  }

  /** Programs use the drive: the lease is kept alive for another term. */
  used(): void {
    this.usedMs = this.parts.clock.bootMs();
    if (this.isIdle) {
      this.isIdle = false;
      this.scheduleRenewal(0);
    }
  }

  /** A request with one answer. `silenceMs`: Unreachable after that; 0 waits as long as the connection lives. */
  async call(name: RequestName, body: object, silenceMs: number): Promise<unknown> {
    const { connection, attachment } = this.here();
    this.roundTrips++;
    const answer = connection.call(name, { attachment, ...body });
    return silenceMs === 0 ? answer : this.withSilence(answer, name, silenceMs);
  }

  /** A request that may wait for other clients: Unreachable only after TIMING.patienceMs without any sign of the server. */
  async callPatiently(name: RequestName, body: object): Promise<unknown> {
    const { connection } = this.here();
    const answer = this.call(name, body, 0);
    answer.catch(() => undefined);
    for (;;) {
      const outcome = await Promise.race([
        answer.then((result) => ({ result })),
        sleep(this.parts.clock, PATIENCE_STEP_MS),
      ]);
      if (outcome !== undefined) return outcome.result;
      if (this.parts.clock.bootMs() - connection.lastHeardMs > TIMING.patienceMs) {
        throw new RunnelError("Unreachable", name, "The server does not answer: the change is not confirmed.");
      }
    }
  }

  /** Opens a stream. The caller ends it. */
  open(name: RequestName, body: object, isCall: boolean): Channel {
    const { connection, attachment } = this.here();
    this.roundTrips++;
    const request = { attachment, ...body };
    return isCall ? connection.ask(name, request) : connection.open(name, request);
  }

  /** Resolves when connected; rejects with Unreachable after `patienceMs`. */
  async connected(patienceMs: number): Promise<void> {
    if (this.isConnected) return;
    if (this.isEnding) throw this.lastError;
    await new Promise<void>((resolve, reject) => {
      const timer = this.parts.clock.after(patienceMs, () => reject(this.lastError));
      this.whenConnected.push({
        resolve: () => {
          timer.cancel();
          resolve();
        },
        reject: (error) => {
          timer.cancel();
          reject(error);
        },
      });
    });
  }

  /** A node id of this instance's own range. @throws Unreachable when the range is used up and the server cannot be asked. */
  async newNode(): Promise<number> {
    while (this.nodes.next >= this.nodes.end) {
      this.nodesAsked ??= this.call("newNodes", {}, TIMING.silenceMs)
        .then((message) => {
          const [first, count] = check(nodeRange, message, "node range");
          this.nodes = { next: first, end: first + count };
        })
        .finally(() => {
          this.nodesAsked = undefined;
        });
      await this.nodesAsked;
    }
    return this.nodes.next++;
  }

  /** Gives up the lease and the connection. */
  async close(): Promise<void> {
    this.isEnding = true;
    this.renewTimer?.cancel();
    this.setLease(0);
    const error = new RunnelError("Unreachable", "disconnect", "The drive is being unmounted.");
    this.lastError = error;
    if (this.isConnected) {
      this.feed?.end();
      await Promise.race([this.feed?.result().catch(() => undefined), sleep(this.parts.clock, GOODBYE_MS)]);
    }
    this.connection?.close(error);
    for (const waiter of this.whenConnected.splice(0)) waiter.reject(error);
    await this.running;
  }

  private here(): { connection: Connection; attachment: number } {
    if (this.connection === undefined || this.feed === undefined || !this.connection.isOpen) throw this.lastError;
    return { connection: this.connection, attachment: this.feed.id };
  }

  private async connect(): Promise<void> {
    let opened: Connection | undefined;
    const connection = await openConnection(this.parts, DIAL_MS, (error) => {
      if (opened !== undefined) this.lost(opened, error);
    });
    opened = connection;
    try {
      await this.attach(connection);
    } catch (error) {
      this.addPast(connection);
      connection.close(fromSystemError(error, "attach"));
      throw error;
    }
  }

  private async attach(connection: Connection): Promise<void> {
    const { volume, resume, events } = this.parts;
    const from = resume();
    const feed = connection.open("attach", {
      volume,
      instance: this.parts.instance(),
      ...(from === undefined ? {} : { epoch: from.epoch, seq: from.seq, follows: from.follows }),
      wantsNodes: this.nodes.next >= this.nodes.end,
    });
    const answer = await this.withSilence(feed.next(), "attach", DIAL_MS);
    if (answer === undefined) throw new RunnelError("Unreachable", "attach", "The server closed the volume.");
    const attached = check(RESULTS.attached, answer, "attached");
    if (attached.nodes !== null) this.nodes = { next: attached.nodes[0], end: attached.nodes[0] + attached.nodes[1] };
    this.termMs = attached.termMs;
    // Ids of another epoch mean nothing in this one.
    if (attached.epoch !== this.epoch && attached.nodes === null) this.nodes = { next: 0, end: 0 };
    this.epoch = attached.epoch;
    await events.attached({
      epoch: attached.epoch,
      seq: attached.seq,
      root: attached.root,
      isResumed: attached.isResumed,
    });
    this.connection = connection;
    this.feed = feed;
    this.silentSinceMs = 0;
    void this.follow(connection, feed);
    events.link(true, "");
    this.scheduleRenewal(0);
    for (const waiter of this.whenConnected.splice(0)) waiter.resolve();
  }

  private async follow(connection: Connection, feed: Channel): Promise<void> {
    try {
      for (;;) {
        const message = await feed.next();
        if (message === undefined) break;
        this.handle(check(FEED_FROM_SERVER, message, "feed item"), feed);
      }
      connection.close(new RunnelError("Unreachable", "feed", "The server ended the feed."));
    } catch (error) {
      connection.close(fromSystemError(error, "feed"));
    }
  }

  private handle(item: FeedFromServer, feed: Channel): void {
    const { events } = this.parts;
    switch (item[0]) {
      case "changes": {
        events.changes(item[1]);
        const last = item[1].at(-1);
        if (last !== undefined) this.acknowledge(feed, last.seq);
        return;
      }
      case "up":
        events.up(item[1]);
        return;
      case "current":
        events.current(item[2]);
        this.answered(item[1], true);
        return;
      case "not":
        this.answered(item[1], false);
        return;
      case "listAgain":
        events.listAgain();
        this.acknowledge(feed, item[1]);
        return;
      case "waiting":
        events.waiting(item[1], item[2], item[3]);
    }
  }

  /** Items that came in one turn of the loop are acknowledged together: acks are cumulative. */
  private acknowledge(feed: Channel, seq: number): void {
    if (this.ackPending === 0) {
      queueMicrotask(() => {
        feed.send(["ack", this.ackPending]);
        this.ackPending = 0;
      });
    }
    this.ackPending = seq;
  }

  private async ask(): Promise<void> {
    const { feed } = this;
    if (feed === undefined || !this.isResponsive) throw this.lastError;
    const question = ++this.question;
    const sentMs = this.parts.clock.bootMs();
    this.roundTrips++;
    const answer = new Promise<boolean>((answered, failed) => {
      this.asked.set(question, { sentMs, answered, failed });
    });
    feed.send(["current", question]);
    await this.withSilence(answer, "current", TIMING.silenceMs);
  }

  private answered(question: number, isCurrent: boolean): void {
    const asked = this.asked.get(question);
    if (asked === undefined) return;
    this.asked.delete(question);
    // The lease counts from sending: the server began to count later.
    if (isCurrent) this.setLease(asked.sentMs + this.termMs - Math.min(TIMING.leaseMarginMs, this.termMs / 4));
    asked.answered(isCurrent);
  }

  private setLease(untilMs: number): void {
    if (untilMs !== 0 && untilMs <= this.leaseUntilMs) return;
    this.leaseUntilMs = untilMs;
    this.parts.events.lease(untilMs);
  }

  private scheduleRenewal(delayMs: number): void {
    this.renewTimer?.cancel();
    if (this.isEnding) return;
    this.renewTimer = this.parts.clock.after(delayMs, () => this.renew());
  }

  /** Three questions a term while programs use the drive; none after a term without use (the lease is given back then). */
  private renew(): void {
    if (!this.isConnected) return;
    const nowMs = this.parts.clock.bootMs();
    if (this.parts.wasUsed()) this.usedMs = nowMs;
    if (nowMs - this.usedMs > this.termMs) {
      this.isIdle = true;
      this.leaseUntilMs = 0;
      this.parts.events.lease(0);
      // An answer still under way says nothing any more: the server has released the lease by then.
      for (const asked of this.asked.values()) asked.answered(false);
      this.asked.clear();
      this.feed?.send(["idle"]);
      return;
    }
    const { connection } = this;
    this.ask().catch(() => {
      // A question without any sign of life for long: the line is dead although nobody said so.
      if (connection?.isOpen === true && this.parts.clock.bootMs() - connection.lastHeardMs > DEAD_MS) {
        connection.close(new RunnelError("Unreachable", "renew lease", "The server does not answer."));
      }
    });
    this.roundTrips--;
    this.scheduleRenewal(this.termMs / RENEWALS_A_TERM);
  }

  /** What an answer that must come soon becomes: Unreachable after `silenceMs`, and known as silent until something is heard. */
  async withSilence<T>(answer: Promise<T>, what: string, silenceMs: number): Promise<T> {
    const askedMs = this.parts.clock.bootMs();
    let timer: Timer | undefined;
    const silence = new Promise<never>((_resolve, reject) => {
      timer = this.parts.clock.after(silenceMs, () => {
        this.silentSinceMs = Math.max(this.silentSinceMs, askedMs);
        this.lastError = new RunnelError("Unreachable", what, "The server does not answer.");
        reject(this.lastError);
      });
    });
    answer.catch(() => undefined);
    try {
      return await Promise.race([answer, silence]);
    } finally {
      timer?.cancel();
    }
  }

  private lost(connection: Connection, error: RunnelError): void {
    if (this.connection !== connection) return;
    this.addPast(connection);
    this.connection = undefined;
    this.feed = undefined;
    this.lastError =
      error.kind === "Unreachable"
        ? error
        : new RunnelError("Unreachable", "connection", error.message, { cause: error });
    this.renewTimer?.cancel();
    for (const asked of this.asked.values()) asked.failed(this.lastError);
    this.asked.clear();
    this.parts.events.link(false, this.lastError.message);
    this.wakeKeeper?.();
  }

  private wakeKeeper: (() => void) | undefined;

  private async keepConnected(): Promise<void> {
    while (!this.isEnding) {
      if (this.isConnected) {
        await new Promise<void>((resolve) => {
          this.wakeKeeper = resolve;
        });
        continue;
      }
      for (let attempt = 0; !this.isEnding && !this.isConnected; attempt++) {
        await sleep(this.parts.clock, RECONNECT_MS[Math.min(attempt, RECONNECT_MS.length - 1)] ?? 0);
        if (this.isEnding) return;
        try {
          await this.connect();
        } catch (error) {
          this.lastError = new RunnelError("Unreachable", "connect", fromSystemError(error, "connect").message, {
            cause: error,
          });
          this.parts.events.link(false, this.lastError.message);
        }
      }
    }
  }

  private addPast(connection: Connection): void {
    const { past } = this;
    past.sent += connection.link.sentBytes;
    past.received += connection.link.receivedBytes;
    past.sentBulk += connection.counts.sentBulk;
    past.receivedBulk += connection.counts.receivedBulk;
    past.sentControl += connection.counts.sentControl;
    past.receivedControl += connection.counts.receivedControl;
  }
}

const RENEWALS_A_TERM = 3;
const PATIENCE_STEP_MS = 1_000;
const GOODBYE_MS = 1_000;
