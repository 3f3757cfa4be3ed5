// The agent's use of one volume: connects and connects again, attaches and resumes, keeps the feed applied and
// acknowledged, and the lease alive while programs use the drive. Whoever asks something goes through here and gets
// Unreachable instead of a hang.
import type { Channel, Connection, RequestName } from "@runnel/shared";
import {
  Condition,
  ROOT_NODE,
  RunnelError,
  fromSystemError,
  isRunnelError,
  silent,
  sleep,
  checkResult,
} from "@runnel/shared";
import { followFeed } from "./feed-items.ts";
import type { HeldElsewhere } from "../leases/held-elsewhere.ts";
import type { Lease } from "../leases/lease.ts";
import { Leases } from "../leases/leases.ts";
import { NodeRange } from "./node-range.ts";
import { type Dialed, type Greeting, dial, greet, closeUnused } from "./open-connection.ts";
import type { OwnTime } from "./own-time.ts";
import { Redial } from "./redial.ts";
import type { SessionDeps } from "./session-deps.ts";
import { NOT_LET_IN, NOT_NOW, unreachable } from "./refusals.ts";
import { Keepalive, unanswered } from "./keepalive.ts";
import { dialReplacement } from "./stuck-connection.ts";
import { Traffic, type WireTraffic } from "./traffic.ts";
import type { WriteLeases } from "../leases/write-leases.ts";

export class Session {
  private readonly deps: SessionDeps;
  private connection: Connection | undefined;
  private feed: Channel | undefined;
  private isEnding = false;
  /** Told when there is a connection; fails when none is to come. */
  private readonly connecting = new Condition();
  private lastError = new RunnelError("Unreachable", "connect", "Not connected yet.");
  readonly nodes: NodeRange;
  /** Callers of `withRequestTimeout` that wait. */
  private waiting = 0;
  private readonly lease: Lease;
  readonly writeLeases: WriteLeases;
  readonly elsewhere: HeldElsewhere;
  private running: Promise<void> | undefined;
  private watching: Disposable | undefined;
  private wakeKeeper: (() => void) | undefined;
  /** Right that the server said last; before that, the drive's. */
  mayOnlyRead: boolean;
  /** Features that the server offered last. */
  features: readonly string[] = [];
  private readonly keepalive: Keepalive;
  private isReplacing = false;
  /** Takes the place of the connection that was given up for it. */
  private replacement: Dialed | undefined;
  /** Ends what is being waited for on the way to a connection. */
  private ending = new AbortController();
  /** While nothing may cross the line. */
  private suspension: { error: RunnelError; over: PromiseWithResolvers<void> } | undefined;
  /** Waits for the server that someone waited out. */
  roundTrips = 0;
  /** Why the server does not let this device in, or cannot serve the volume now, if that was its last word. */
  refusal: string | undefined;
  /** Bytes of recipes, and of contents, within control messages, for the statistics. */
  recipeBytes = { sent: 0, received: 0 };
  contentBytes = { sent: 0, received: 0 };
  private readonly traffic = new Traffic();

  constructor(deps: SessionDeps) {
    this.deps = deps;
    this.mayOnlyRead = deps.isReadOnly ?? false;
    this.nodes = new NodeRange(this, deps.reservedNodes);
    this.keepalive = new Keepalive(
      deps.clock,
      () => this.connection,
      () => void this.replaceIfStuck(),
    );
    const leases = new Leases({
      ...deps,
      keepalive: this.keepalive,
      features: () => this.features,
      connection: () => (this.isConnected ? this.connection : undefined),
      feed: () => (this.isConnected ? this.feed : undefined),
      isUsed: () => this.waiting > 0 || deps.wasUsed(),
      namesOf: deps.namesOf,
      ask: (nodes) => this.ask("stat", { nodes, names: [] }),
    });
    [this.lease, this.writeLeases, this.elsewhere] = [leases.lease, leases.writeLeases, leases.elsewhere];
  }

  /**
   * Connects for the first time. @throws what a person must know when that fails: Unreachable, NotFound (no such
   * volume), Version. With `mayWait` a server that cannot be reached now is one that is offline.
   */
  async start(mayWait = false): Promise<void> {
    try {
      if (this.suspension === undefined) await this.connect(await dial(this.deps, this.ending.signal));
    } catch (error) {
      if (!mayWait || !isRunnelError(error, "Unreachable", ...NOT_NOW)) throw error;
      this.refusal = isRunnelError(error, ...NOT_NOW) ? error.message : undefined;
      this.lastError = unreachable("connect", error);
    }
    this.watching = this.deps.machine?.watch(() => void this.replaceIfStuck());
    this.running = this.keepConnected();
  }

  get isConnected(): boolean {
    return this.connection?.isOpen === true && this.feed !== undefined;
  }

  /** Connected, and not known to be silent: what counts as online. */
  get isResponsive(): boolean {
    return this.isConnected && !this.isSuspended && !this.keepalive.isSilent;
  }

  get isSuspended(): boolean {
    return this.suspension !== undefined;
  }

  /** Own time: what `timeoutLeftMs` counts in. */
  get nowMs(): number {
    return this.keepalive.time.nowMs;
  }

  /** The time that this process was late in all, while somebody waits (`watch`). */
  get ownTime(): OwnTime {
    return this.keepalive.time;
  }

  /** Rest of the request timeout for what began at `beganMs` of own time, counted from the last byte of the server. */
  timeoutLeftMs(beganMs: number): number {
    const { offlineSinceMs, lastReceivedMs } = this.keepalive;
    const sinceMs = Math.min(offlineSinceMs ?? Infinity, Math.max(beganMs, lastReceivedMs));
    return this.leftMs(sinceMs);
  }

  /** Rest of the request timeout, whatever comes meanwhile. */
  leftMs(beganMs: number): number {
    return this.isSuspended ? 0 : Math.max(0, beganMs + this.keepalive.line.requestTimeoutMs - this.nowMs);
  }

  /** Rest of the silence in which a line that has just broken does not count as offline yet: 0 while it is there. */
  get silenceLeftMs(): number {
    return this.isSuspended ? 0 : this.keepalive.silenceLeftMs;
  }

  /**
   * Waits for a line that has just broken, as for a silence: a lease answers nothing that is not here. @throws
   * Unreachable
   */
  async lineIsThere(): Promise<void> {
    const waitMs = this.silenceLeftMs;
    if (waitMs > 0) await this.responsive(waitMs);
  }

  /** @throws Unreachable unless it counts as online: who reads does not wait for the next silence. */
  mustRespond(): void {
    if (!this.isResponsive) throw this.lastError;
  }

  get why(): string {
    return this.lastError.message;
  }

  get hasLease(): boolean {
    return this.lease.isHeld;
  }

  get silenceMs(): number {
    return this.keepalive.line.silenceMs;
  }

  get ratePerSecond(): number {
    return this.connection?.ratePerSecond ?? 0;
  }

  wireBytes(): WireTraffic {
    return this.traffic.upTo(this.connection);
  }

  /**
   * Verifies that the replica of followed folders is current: at once under the lease, else by one question. @throws
   * Unreachable after a silence without an answer, or at once while offline, or while an earlier question has waited
   * for so long.
   */
  async current(): Promise<void> {
    this.used();
    if (this.hasLease) return;
    this.mustRespond();
    if (this.lease.oldestMs >= this.keepalive.line.silenceMs) throw unanswered("current");
    this.roundTrips++;
    await this.remember(this.lease.ask(this.lastError, true));
  }

  /** Programs use the drive: the lease is kept alive for another term. */
  used(): void {
    this.lease.used();
  }

  /**
   * Subscribes to small changes of these files, which then come with the feed: versions that are here; 0: no more.
   * @returns false when there is no feed.
   */
  subscribe(files: readonly (readonly [number, number])[]): boolean {
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

  /** A request that nobody waits for. */
  async inBackground(name: RequestName, body: object): Promise<unknown> {
    const { connection, attachment } = this.here();
    return connection.call(name, { attachment, ...body });
  }

  /** Asks something that only reads. @throws Unreachable at once while offline, else after a silence. */
  async ask(name: RequestName, body: object): Promise<unknown> {
    this.mustRespond();
    return this.whileAlive(this.call(name, body), name);
  }

  /**
   * Waits for what may have been executed, or may wait for other clients, or keeps the server busy for long. Whoever
   * waits uses the drive, so that the lease is asked for and a living server shows itself. @throws Unreachable after
   * the request timeout without a byte of the server.
   */
  async withRequestTimeout<T>(answer: Promise<T>, what: string): Promise<T> {
    this.waiting++;
    this.used();
    try {
      return await this.remember(this.keepalive.withRequestTimeout(answer, what));
    } finally {
      this.waiting--;
    }
  }

  /** Waits for what only reads, and comes in parts: no lease is asked for. @throws as `withRequestTimeout`. */
  async whileItComes<T>(answer: Promise<T>, what: string): Promise<T> {
    return this.remember(this.keepalive.withRequestTimeout(answer, what));
  }

  /** @throws Unreachable after a silence. */
  async whileAlive<T>(answer: Promise<T>, what: string): Promise<T> {
    return this.remember(this.keepalive.whileAlive(answer, what));
  }

  /**
   * Waits for what nobody's work depends on: it is no round trip of theirs, and the server does not count as offline
   * when it is not answered. @throws Unreachable
   */
  async aside<T>(answer: Promise<T>, what: string): Promise<T> {
    return this.keepalive.aside(answer, what);
  }

  /** Opens a stream. The caller ends it. */
  open(name: RequestName, body: object, isCall: boolean): Channel {
    const { connection, attachment } = this.here();
    this.roundTrips++;
    const request = { attachment, ...body };
    return isCall ? connection.ask(name, request) : connection.open(name, request);
  }

  /** Resolves when the server counts as online; rejects with Unreachable after `timeoutMs` of own time. */
  async responsive(timeoutMs: number): Promise<void> {
    const end = this.keepalive.time.watch();
    const untilMs = this.nowMs + timeoutMs;
    try {
      while (!this.isResponsive) {
        const leftMs = untilMs - this.nowMs;
        if (this.isEnding || this.isSuspended || leftMs <= 0) throw this.lastError;
        if (this.isConnected) {
          // Perhaps nobody else is asking it anything.
          void this.replaceIfStuck();
          await sleep(this.deps.clock, Math.min(leftMs, POLL_MS));
          continue;
        }
        await this.keepalive.connected(this.connecting.wait(), leftMs, () => this.lastError);
      }
    } finally {
      end();
    }
  }

  /** Gives up the lease and the connection. */
  async close(): Promise<void> {
    if (this.isEnding) return this.running;
    this.isEnding = true;
    this.watching?.[Symbol.dispose]();
    this.suspension?.over.resolve();
    await this.leave(new RunnelError("Unreachable", "disconnect", "The drive is being unmounted."));
    await this.running;
  }

  /**
   * Gives up the lease and the connection until `wake`: nothing crosses the line, and whoever asks something is told
   * `why` at once.
   */
  async suspend(why: string): Promise<void> {
    const error = new RunnelError("Unreachable", "connect", why);
    this.lastError = error;
    if (this.suspension !== undefined) this.suspension.error = error;
    else {
      this.suspension = { error, over: Promise.withResolvers<void>() };
      await this.leave(error);
    }
  }

  /** Ends a suspension. */
  wake(): void {
    const { suspension } = this;
    if (suspension === undefined || this.isEnding) return;
    this.suspension = undefined;
    this.ending = new AbortController();
    suspension.over.resolve();
  }

  private async leave(reason: RunnelError): Promise<void> {
    const { connection, feed } = this;
    this.lastError = reason;
    this.ending.abort(reason);
    this.lease.giveUp();
    if (this.isConnected && !this.keepalive.isSilent) {
      feed?.end();
      await Promise.race([feed?.result().catch(() => undefined), sleep(this.deps.clock, GOODBYE_MS)]);
    }
    connection?.close(reason);
    if (this.replacement !== undefined) closeUnused(this.replacement);
    this.replacement = undefined;
    this.connecting.fail(reason);
  }

  private here(): { connection: Connection; attachment: number } {
    const { connection, feed } = this;
    if (connection?.isOpen !== true || feed === undefined || this.isSuspended) throw this.lastError;
    return { connection, attachment: feed.id };
  }

  private async connect(dialed: Dialed): Promise<void> {
    const greeting = greet(this.deps, dialed, (error) => this.lost(greeting.connection, error));
    const { connection } = greeting;
    this.keepalive.line.begin(dialed.roundTripMs);
    try {
      await this.attach(greeting);
    } catch (error) {
      this.traffic.ended(connection);
      connection.close(fromSystemError(error, "attach"));
      throw error;
    }
  }

  /** hello, attach and the listing go in one flight (W130). */
  private async attach({ connection, greeted }: Greeting): Promise<void> {
    const { volume, listsAll, events, clock } = this.deps;
    const [{ keepalive }, { signal }] = [this, this.ending];
    const from = this.deps.resume();
    const sentMs = keepalive.time.nowMs;
    const feed = connection.open("attach", {
      volume,
      instance: this.deps.instance(),
      ...(from === undefined ? {} : { epoch: from.epoch, seq: from.seq, follows: from.follows }),
      wantsNodes: this.nodes.isEmpty,
      ...keepalive.line.reported,
    });
    const all = { attachment: feed.id, folder: ROOT_NODE, isDeep: true, follow: true };
    const listing = listsAll && from === undefined ? connection.ask("find", all) : undefined;
    const end = (): void => connection.close(this.lastError);
    signal.addEventListener("abort", end);
    const attaching = feed.next();
    attaching.catch(() => undefined);
    let answer: unknown;
    try {
      this.features = (await keepalive.atFirst(greeted, silent(new URL(this.deps.url).host, undefined))).features;
      keepalive.line.measured(keepalive.time.nowMs - sentMs);
      answer = await keepalive.atFirst(attaching, unanswered("attach"));
    } finally {
      signal.removeEventListener("abort", end);
    }
    if (answer === undefined) throw new RunnelError("Unreachable", "attach", "The server closed the volume.");
    const { nodes, termMs, ...attached } = checkResult("attach", answer);
    this.nodes.attached(attached.epoch, nodes);
    this.lease.attached(termMs, attached.isResumed);
    this.elsewhere.attached();
    await events.attached?.({ ...attached, listing });
    signal.throwIfAborted();
    this.mayOnlyRead = attached.isReadOnly;
    events.silence?.(keepalive.line.silenceMs);
    this.keepalive.changed();
    this.refusal = undefined;
    [this.connection, this.feed] = [connection, feed];
    const toldToWait = (): void => this.keepalive.toldToWait();
    const { lease, writeLeases, elsewhere } = this;
    followFeed(connection, feed, { clock, events, lease, writeLeases, elsewhere, toldToWait });
    events.link?.(true, "");
    this.lease.schedule(0);
    this.connecting.notify();
  }

  private async remember<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      // The volume went away under it, which ended the feed before: it is as if the link had broken, and what was asked
      // is asked again.
      const isGone = isRunnelError(error, "Unavailable") && !this.isConnected;
      const isUnreachable = isRunnelError(error, "Unreachable");
      if (isGone || (isUnreachable && this.isSuspended)) throw this.lastError;
      if (isUnreachable && !this.isEnding) this.lastError = error;
      throw error;
    }
  }

  private lost(connection: Connection, error: RunnelError): void {
    if (this.connection !== connection) return;
    this.traffic.ended(connection);
    this.keepalive.changed();
    [this.connection, this.feed] = [undefined, undefined];
    this.lastError = this.suspension?.error ?? unreachable("connection", error);
    this.lease.lost(this.lastError);
    this.writeLeases.lost();
    // The lease goes on, but every use of it goes through the agent, which knows that nothing can be changed now.
    this.deps.events.lease?.(0);
    this.deps.events.link?.(false, this.lastError.message);
    this.wakeKeeper?.();
  }

  private async keepConnected(): Promise<void> {
    while (!this.isEnding) {
      if (this.isConnected) {
        await new Promise<void>((resolve) => (this.wakeKeeper = resolve));
        continue;
      }
      if (this.suspension !== undefined) {
        await this.suspension.over.promise;
        continue;
      }
      const redial = this.redial((error) => this.notReached(error));
      let isShutOut = false;
      while (!this.isEnding && !this.isSuspended && !this.isConnected) {
        try {
          const { replacement } = this;
          this.replacement = undefined;
          await this.connect(replacement ?? (await redial.next(isShutOut, this.ending.signal)));
        } catch (error) {
          if (this.isEnding) return;
          if (this.isSuspended) break;
          isShutOut = isRunnelError(error, ...NOT_LET_IN);
          this.notReached(error);
        }
      }
    }
  }

  private redial(failed: (error: unknown) => void): Redial {
    return new Redial(this.deps, this.deps.instance(), this.keepalive.line.roundTripMs, failed);
  }

  /** Dials a replacement where the server is silent, or the machine slept: perhaps only this connection is stuck. */
  private async replaceIfStuck(): Promise<void> {
    const { connection } = this;
    if (this.isReplacing || !this.isConnected || connection === undefined) return;
    this.isReplacing = true;
    try {
      const error = new RunnelError("Unreachable", "connection", "The line is there again, the connection was not.");
      this.replacement = await dialReplacement({
        clock: this.deps.clock,
        keepalive: this.keepalive,
        isInUse: () => this.connection === connection && !this.isEnding && !this.isSuspended,
        ask: async () => {
          await this.lease.ask(error);
          if (this.waiting === 0) this.keepalive.answered();
        },
        dial: (ending) => this.redial(() => undefined).next(false, AbortSignal.any([ending, this.ending.signal])),
      });
      if (this.replacement !== undefined) connection.close(error);
    } finally {
      this.isReplacing = false;
    }
  }

  private notReached(error: unknown): void {
    const isRefused = isRunnelError(error, ...NOT_LET_IN, ...NOT_NOW);
    this.refusal = isRefused ? fromSystemError(error, "").message : undefined;
    this.lastError = unreachable("connect", fromSystemError(error, "connect"));
    this.deps.events.link?.(false, this.lastError.message);
  }
}

const GOODBYE_MS = 1_000;
const POLL_MS = 50;
