// The agent's use of one volume: connects and connects again, attaches and resumes, keeps the feed applied and acknowledged, and the lease
// alive while programs use the drive. Whoever asks something goes through here and gets Unreachable instead of a hang.
import type { Channel, Connection, FeedFromServer, RequestName, Timer } from "@runnel/shared";
import {
  FEED_FROM_SERVER,
  RESULTS,
  RunnelError,
  TIMING,
  check,
  fromSystemError,
  isRunnelError,
  sleep,
} from "@runnel/shared";
import { NodeRange } from "./node-range.ts";
import { openConnection } from "./open-connection.ts";
import type { SessionParts } from "./session-parts.ts";
import { SignsOfLife } from "./signs-of-life.ts";
import { Traffic, type WireTraffic } from "./traffic.ts";

const RECONNECT_MS = [200, 400, 800, 1_500, 3_000, 5_000];
/** Only a person can change that it is not let in. */
const RECONNECT_REFUSED_MS = 30_000;
const DIAL_MS = 10_000;

export class Session {
  private readonly parts: SessionParts;
  private connection: Connection | undefined;
  private feed: Channel | undefined;
  private isEnding = false;
  private readonly whenConnected: { resolve(): void; reject(error: RunnelError): void }[] = [];
  private lastError = new RunnelError("Unreachable", "connect", "Not connected yet.");
  private readonly nodes = new NodeRange(() => this.ask("newNodes", {}));

  private question = 0;
  private readonly asked = new Map<
    number,
    { sentMs: number; answered: (isCurrent: boolean) => void; failed: (error: RunnelError) => void }
  >();
  private termMs: number = TIMING.leaseTermMs;
  private leaseUntilMs = 0;
  private usedMs = 0;
  /** Who waits patiently. */
  private waiting = 0;
  private isIdle = false;
  private renewTimer: Timer | undefined;
  private running: Promise<void> | undefined;
  private ackPending = 0;
  private readonly signs: SignsOfLife;
  /** Set by `close`: ends what is being waited for on the way to a connection. */
  private readonly ending = new AbortController();

  /** Waits for the server that someone waited out. */
  roundTrips = 0;
  /** Why the server does not let this device in; undefined unless that was its last word. */
  refusal: string | undefined;
  /** Bytes of recipes, and of contents, within control messages, for the statistics. */
  recipeBytes = { sent: 0, received: 0 };
  contentBytes = { sent: 0, received: 0 };
  private readonly traffic = new Traffic();

  constructor(parts: SessionParts) {
    this.parts = parts;
    this.signs = new SignsOfLife(parts.clock, () => this.connection);
  }

  /**
   * Connects for the first time. @throws what a person must know when that fails: Unreachable, NotFound (no such volume), Version. With `mayWait` a
   * server that cannot be reached now is one that is offline.
   */
  async start(mayWait = false): Promise<void> {
    try {
      await this.connect();
    } catch (error) {
      if (!mayWait || !isRunnelError(error, "Unreachable")) throw error;
      this.lastError = error;
    }
    this.running = this.keepConnected();
  }

  get isConnected(): boolean {
    return this.connection?.isOpen === true && this.feed !== undefined;
  }

  /** Connected, and not known to be silent: what counts as online. */
  get isResponsive(): boolean {
    return this.isConnected && !this.signs.isSilent;
  }

  /** How much of TIMING.patienceMs is left for what began at `beganMs`: none without any sign of the server for so long. */
  patienceLeftMs(beganMs: number): number {
    const { offlineSinceMs, lastHeardMs } = this.signs;
    const sinceMs = Math.min(offlineSinceMs ?? Infinity, Math.max(beganMs, lastHeardMs));
    return Math.max(0, sinceMs + TIMING.patienceMs - this.parts.clock.bootMs());
  }

  /** @throws Unreachable unless it counts as online: who reads does not wait for the next silence. */
  mustRespond(): void {
    if (!this.isResponsive) throw this.lastError;
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

  wireBytes(): WireTraffic {
    return this.traffic.upTo(this.connection);
  }

  /**
   * Proves that the replica of followed folders is current: at once under the lease, else by one question. @throws Unreachable after
   * TIMING.silenceMs without an answer, or at once while offline, or while an earlier question has waited for so long.
   */
  async current(): Promise<void> {
    this.used();
    if (this.hasLease) return;
    this.mustRespond();
    const [oldest] = this.asked.values();
    if (oldest !== undefined && this.parts.clock.bootMs() - oldest.sentMs >= TIMING.silenceMs) {
      throw new RunnelError("Unreachable", "current", "The server does not answer.");
    }
    await this.prove();
  }

  /** Programs use the drive: the lease is kept alive for another term. */
  used(): void {
    this.usedMs = this.parts.clock.bootMs();
    if (this.isIdle) {
      this.isIdle = false;
      this.scheduleRenewal(0);
    }
  }

  /** Small changes of these files are to come with the feed: versions that are here; 0: no more. False: there is no feed. */
  want(files: readonly (readonly [number, number])[]): boolean {
    if (!this.isConnected) return false;
    this.feed?.send(["want", files]);
    return true;
  }

  /** A request with one answer. Waits as long as the connection lives. */
  async call(name: RequestName, body: object): Promise<unknown> {
    const { connection, attachment } = this.here();
    this.roundTrips++;
    return connection.call(name, { attachment, ...body });
  }

  /** For what only reads. @throws Unreachable at once while offline, else after a silence. */
  async ask(name: RequestName, body: object): Promise<unknown> {
    this.mustRespond();
    return this.whileHeard(this.call(name, body), name);
  }

  /**
   * For what may have been executed, or may wait for other clients, or keeps the server busy for long: who waits uses the drive, so that the lease is asked
   * for and a living server shows itself. @throws Unreachable after the patience without any sign of the server.
   */
  async patiently<T>(answer: Promise<T>, what: string): Promise<T> {
    this.waiting++;
    this.used();
    try {
      return await this.remember(this.signs.patiently(answer, what));
    } finally {
      this.waiting--;
    }
  }

  /** For what only reads, and comes in parts. @throws Unreachable as `patiently`; nobody asks for signs. */
  async whileItComes<T>(answer: Promise<T>, what: string): Promise<T> {
    return this.remember(this.signs.patiently(answer, what));
  }

  /** @throws Unreachable after a silence. */
  async whileHeard<T>(answer: Promise<T>, what: string): Promise<T> {
    return this.remember(this.signs.whileHeard(answer, what));
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
  newNode(): Promise<number> {
    return this.nodes.newNode();
  }

  /** Gives up the lease and the connection. */
  async close(): Promise<void> {
    if (this.isEnding) return this.running;
    this.isEnding = true;
    this.renewTimer?.cancel();
    this.setLease(0);
    const error = new RunnelError("Unreachable", "disconnect", "The drive is being unmounted.");
    this.lastError = error;
    this.ending.abort(error);
    if (this.isResponsive) {
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
    const connection = await openConnection(this.parts, DIAL_MS, this.ending.signal, (error) => {
      if (opened !== undefined) this.lost(opened, error);
    });
    opened = connection;
    try {
      await this.attach(connection);
    } catch (error) {
      this.traffic.ended(connection);
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
      wantsNodes: this.nodes.isEmpty,
    });
    const end = (): void => connection.close(this.lastError);
    this.ending.signal.addEventListener("abort", end);
    const answer = await this.signs.soon(feed.next(), "attach", DIAL_MS);
    this.ending.signal.removeEventListener("abort", end);
    if (answer === undefined) throw new RunnelError("Unreachable", "attach", "The server closed the volume.");
    const attached = check(RESULTS.attached, answer, "attached");
    this.nodes.attached(attached.epoch, attached.nodes);
    this.termMs = attached.termMs;
    // What was promised was about the tree of before.
    if (!attached.isResumed) this.leaseUntilMs = 0;
    await events.attached({
      epoch: attached.epoch,
      seq: attached.seq,
      root: attached.root,
      isResumed: attached.isResumed,
      isReadOnly: attached.isReadOnly,
    });
    this.signs.changed();
    this.refusal = undefined;
    this.connection = connection;
    this.feed = feed;
    this.follow(connection, feed);
    events.link(true, "");
    this.scheduleRenewal(0);
    for (const waiter of this.whenConnected.splice(0)) waiter.resolve();
  }

  /** Whoever gets the answer to a change finds it applied: the feed told of it before, and is heard in the order of the connection. */
  private follow(connection: Connection, feed: Channel): void {
    const end = (error: unknown): void => {
      // What waits on the connection is asked again on the next one, whyever the server ended this feed.
      const known = fromSystemError(error, "feed");
      connection.close(isRunnelError(known, "Invalid") ? known : unreachable("feed", known));
    };
    feed.result().then(() => end(new RunnelError("Unreachable", "feed", "The server ended the feed.")), end);
    feed.listen((message) => {
      try {
        this.handle(check(FEED_FROM_SERVER, message, "feed item"), feed);
      } catch (error) {
        end(error);
      }
    });
  }

  private handle(item: FeedFromServer, feed: Channel): void {
    const { events } = this.parts;
    switch (item[0]) {
      case "changes": {
        events.changes(item[1], item[2] ?? []);
        const last = item[1].at(-1);
        if (last !== undefined) this.acknowledge(feed, last.seq);
        return;
      }
      case "content":
        events.content(item[1], item[2]);
        return;
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

  /** One question of the feed. @throws Unreachable when it is not answered soon. */
  private async prove(): Promise<void> {
    const { feed } = this;
    if (feed === undefined) throw this.lastError;
    const question = ++this.question;
    const sentMs = this.parts.clock.bootMs();
    this.roundTrips++;
    const answer = new Promise<boolean>((answered, failed) => {
      this.asked.set(question, { sentMs, answered, failed });
    });
    feed.send(["current", question]);
    await this.remember(this.signs.soon(answer, "current"));
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

  /** At least three questions a term while programs use the drive; none after a term without use (the lease is given back then). */
  private renew(): void {
    if (!this.isConnected) return;
    const nowMs = this.parts.clock.bootMs();
    if (this.waiting > 0 || this.parts.wasUsed()) this.usedMs = nowMs;
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
    this.prove().catch(() => {
      // A question without any sign of life for long: the line is dead although nobody said so.
      if (connection?.isOpen === true && this.parts.clock.bootMs() - connection.lastHeardMs > TIMING.patienceMs) {
        connection.close(new RunnelError("Unreachable", "renew lease", "The server does not answer."));
      }
    });
    this.roundTrips--;
    this.scheduleRenewal(Math.min(this.termMs / RENEWALS_A_TERM, RENEWED_MS));
  }

  private async remember<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (isRunnelError(error, "Unreachable") && !this.isEnding) this.lastError = error;
      throw error;
    }
  }

  private lost(connection: Connection, error: RunnelError): void {
    if (this.connection !== connection) return;
    this.traffic.ended(connection);
    this.signs.changed();
    this.connection = undefined;
    this.feed = undefined;
    this.lastError = unreachable("connection", error);
    this.renewTimer?.cancel();
    for (const asked of this.asked.values()) asked.failed(this.lastError);
    this.asked.clear();
    // The lease goes on, but every use of it goes through the agent, which knows that nothing can be changed now.
    this.parts.events.lease(0);
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
        const delayMs = RECONNECT_MS[Math.min(attempt, RECONNECT_MS.length - 1)] ?? 0;
        await this.pause(this.refusal !== undefined ? RECONNECT_REFUSED_MS : delayMs);
        if (this.isEnding) return;
        try {
          await this.connect();
        } catch (error) {
          this.refusal = isRunnelError(error, "Denied", "Revoked") ? error.message : undefined;
          this.lastError = unreachable("connect", fromSystemError(error, "connect"));
          this.parts.events.link(false, this.lastError.message);
        }
      }
    }
  }

  /** Shorter when the session is closed. */
  private async pause(delayMs: number): Promise<void> {
    const { signal } = this.ending;
    await new Promise<void>((resolve) => {
      const timer = this.parts.clock.after(delayMs, resolve, true);
      const end = (): void => {
        timer.cancel();
        resolve();
      };
      signal.addEventListener("abort", end, { once: true });
      if (signal.aborted) end();
    });
  }
}

function unreachable(what: string, cause: RunnelError): RunnelError {
  return cause.kind === "Unreachable" ? cause : new RunnelError("Unreachable", what, cause.message, { cause });
}

const RENEWALS_A_TERM = 3;
/** However long the term: a living server shows itself to who waits for it within the patience. */
const RENEWED_MS = 0.7 * TIMING.patienceMs;
const GOODBYE_MS = 1_000;
