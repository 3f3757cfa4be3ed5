// Feed and leases of one volume: every change goes to those who follow it, in seq order; a commit is answered when
// every follower with a lease has acknowledged it or its lease has run out. Knows nothing of connections (a FeedSender
// carries the items) and nothing of disks.
import type { Change, Clock, Timer, VersionId } from "@runnel/shared";
import { LIMITS, RunnelError, TIMING, wallMs } from "@runnel/shared";
import type { AttachedInstance } from "../meta/meta-store.ts";
import type { PlacesOf } from "./ancestors.ts";
import type { FeedSender, Identity } from "./holder.ts";
import { Holder } from "./holder.ts";
import { SlowDevices, isLate } from "./slow-devices.ts";
import { WriteLeases } from "./write-leases.ts";

interface Wait {
  /**
   * A single change, or several that are one, in seq order; undefined for changes from before the start, which anybody
   * may have followed.
   */
  changes: readonly Change[] | undefined;
  /** Seq of the last change. */
  seq: number;
  /**
   * Holders that have not acknowledged, and until when that matters: the end of the lease when the change was sent. A
   * renewal after that reaches the client behind the change, so it counts only for one that has applied it: no commit
   * waits longer than a term.
   */
  missing: Map<Holder, number>;
  committer: Holder | undefined;
  /** Boot clock: when the change was sent. */
  sinceMs: number;
  resolve(): void;
  timer: Timer | undefined;
}

/** A change that waits to be answered, and who has not acknowledged it. */
export interface Recall {
  seq: number;
  committer: Holder;
  /** Node that was changed; undefined where that is not known. */
  node: number | undefined;
  /** Milliseconds since it was sent. */
  lastsMs: number;
  /** Holders that are waited for, each for so many milliseconds at most. */
  holders: { holder: Holder; leftMs: number }[];
}

/** An instance that was attached before a restart. */
export interface AttachedBefore extends AttachedInstance {
  /** Folders on which it had write leases. */
  writeLeases?: readonly number[];
}

/** A lease is renewed after half its term, asks a round trip ahead, and counts from the sending (W162). */
const TERM_ROUND_TRIPS = 4;
/** Interval, in followed folders, at which all that a device follows is counted. */
const LOOK_AT_FOLLOWED = 100;

export class Feed {
  // Members that tests and mutants reach are private in TypeScript only.
  private readonly clock: Clock;
  /** Term of leases, at the least. */
  readonly termMs: number;
  readonly #holders = new Map<string, Holder>();
  readonly #slowDevices: SlowDevices;
  readonly writeLeases: WriteLeases;
  /** Called when a write lease ended because its holder could not be reached. */
  writeLeaseRanOut: (holder: Holder) => void = () => undefined;
  private waits: Wait[] = [];
  /** Set while some item is unacknowledged: when the oldest becomes overdue. */
  #overdueTimer: Timer | undefined;
  /** Leases are neither given nor used while the folder's state is uncertain. */
  #isWithdrawn = false;

  /** `attached`: known from before a restart; each may hold a lease for one more term (the restart rule). */
  constructor(clock: Clock, termMs: number, attached: readonly AttachedBefore[], placesOf: PlacesOf = nowhere) {
    this.clock = clock;
    this.termMs = termMs;
    this.#slowDevices = new SlowDevices(termMs);
    this.writeLeases = new WriteLeases({
      clock,
      placesOf,
      holders: () => this.#holders.values(),
      mayGive: () => !this.#isWithdrawn,
      isShared: (holder) => this.#isShared(holder),
      sayWaiting: (asker, holders, untilMs) => {
        const whom = holders.map(({ who }) => who);
        asker.sender?.waiting(0, whom, this.#wallMsAt(untilMs));
      },
      ranOut: (holder) => this.writeLeaseRanOut(holder),
    });
    for (const { instance, termMs: before, writeLeases = [] } of attached) {
      const identity = { instance, who: "a client from before the restart", device: "" };
      const holder = new Holder(identity, Math.max(termMs, before));
      holder.followsAll = true;
      holder.leaseUntilMs = clock.bootMs() + holder.termMs;
      this.#holders.set(instance, holder);
      for (const folder of writeLeases) this.writeLeases.restore(holder, folder);
    }
  }

  /**
   * An instance's connection. `seq`: what it has applied, when it resumes. A lease of before goes on, and so does
   * waiting for it; what it follows is to be said again.
   */
  attach(identity: Identity, sender: FeedSender, seq: number): Holder {
    const { instance } = identity;
    const before = this.#holders.get(instance);
    before?.sender?.close("The same client attached again.");
    const holder = new Holder(identity, Math.max(this.termMs, TERM_ROUND_TRIPS * (identity.roundTripMs ?? 0)));
    if (before !== undefined) {
      before.sender = undefined;
      holder.leaseUntilMs = before.leaseUntilMs;
      holder.probationUntilMs = before.probationUntilMs;
      if (holder.hasLease(this.clock.bootMs())) holder.uncertainUntil = 0;
      for (const { missing } of this.waits) {
        const untilMs = missing.get(before);
        if (untilMs !== undefined) missing.set(holder, untilMs);
        missing.delete(before);
      }
    }
    holder.ackedSeq = seq;
    holder.sender = sender;
    if (before !== undefined) this.writeLeases.taken(before, holder);
    this.writeLeases.tell(holder);
    holder.sinceMs = Number(this.clock.wallNs() / 1_000_000n);
    this.#holders.set(instance, holder);
    this.#applied(holder);
    return holder;
  }

  /** The connection is gone; the lease goes on until it ends, unless it was given up. */
  detach(holder: Holder, givesUpLease: boolean): void {
    holder.sender = undefined;
    // They are acknowledged here no more.
    holder.due.length = 0;
    if (!givesUpLease) return;
    holder.leaseUntilMs = 0;
    this.writeLeases.release(holder);
    this.#release(holder);
    // A holder on probation is remembered: leaving and coming back is no way out of it.
    const isForgotten = this.clock.bootMs() >= holder.probationUntilMs;
    if (isForgotten && this.#holders.get(holder.instance) === holder) this.#holders.delete(holder.instance);
  }

  /** Nothing waits for this device any more: it was cut off. Returns its instances. */
  drop(device: string): string[] {
    const dropped = [...this.#holders.values()].filter((holder) => holder.device === device);
    for (const holder of dropped) this.detach(holder, true);
    return dropped.map(({ instance }) => instance);
  }

  /** The notices of the volume are others now. */
  noticed(): void {
    for (const { sender } of this.#holders.values()) sender?.noticed?.();
  }

  follow(holder: Holder, folder: number): void {
    if (holder.followsAll || holder.follows.has(folder)) return;
    if (holder.follows.size >= LIMITS.followedFolders) {
      throw new RunnelError("TooLarge", "follow folder", "Too many folders are followed.", {
        detail: { limit: LIMITS.followedFolders },
      });
    }
    // Looked at now and then only: they are many.
    if (holder.follows.size % LOOK_AT_FOLLOWED === LOOK_AT_FOLLOWED - 1) this.#mustFollowFew(holder.device);
    holder.follows.add(folder);
  }

  #mustFollowFew(device: string): void {
    if (device === "" || this.#sumOf(device, ({ follows }) => follows.size) < LIMITS.deviceFollowedFolders) return;
    throw new RunnelError("TooLarge", "follow folder", "This device follows too many folders.", {
      detail: { limit: LIMITS.deviceFollowedFolders },
    });
  }

  /**
   * Sends a change, or changes that are one, to who follows some of it. The promise resolves when those with a lease,
   * `committer` excepted, have it or lost their lease.
   */
  publish(changes: readonly Change[], committer: Holder | undefined, n: number): Promise<void> {
    const seq = changes.at(-1)?.seq ?? 0;
    const nowMs = this.clock.bootMs();
    const missing = new Map<Holder, number>();
    this.writeLeases.published(changes, committer);
    for (const holder of this.#holders.values()) {
      const isTold = holder.touchesAny(changes);
      if (!isTold && holder.uncertainUntil === undefined) continue;
      if (holder.instance !== committer?.instance && holder.hasLease(nowMs)) missing.set(holder, holder.leaseUntilMs);
      if (!isTold || holder.sender === undefined) continue;
      for (const change of changes) holder.due.push({ seq: change.seq, sentMs: nowMs });
      const isFarBehind = holder.sender.isFarBehind?.() === true;
      if (!isFarBehind) holder.sender.changes(changes, holder.instance === committer?.instance);
      if (isFarBehind || this.#hasLongBacklog(holder)) this.#overflow(holder, seq);
    }
    this.#watchOverdue(nowMs);
    return this.#wait({ changes, seq, missing }, committer, n);
  }

  /**
   * Resolves when holders with a lease, `committer` excepted, have applied all up to `seq`, or lost their lease. Meant
   * for a change that was committed before the start, and is answered only now (the restart rule).
   */
  appliedUpTo(seq: number, committer: Holder | undefined, n: number): Promise<void> {
    const nowMs = this.clock.bootMs();
    const missing = new Map<Holder, number>();
    for (const holder of this.#holders.values()) {
      if (holder.instance === committer?.instance || holder.ackedSeq >= seq || !holder.hasLease(nowMs)) continue;
      missing.set(holder, holder.leaseUntilMs);
    }
    return this.#wait({ changes: undefined, seq, missing }, committer, n);
  }

  #wait(what: Pick<Wait, "changes" | "seq" | "missing">, committer: Holder | undefined, n: number): Promise<void> {
    if (what.missing.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const wait: Wait = { ...what, committer, sinceMs: this.clock.bootMs(), resolve, timer: undefined };
      this.waits.push(wait);
      this.#arm(wait, this.clock.bootMs());
      // Said only when it takes longer than a quick answer would.
      this.clock.after(WAITING_SAID_AFTER_MS, () => this.#sayWaiting(wait, committer, n));
    });
  }

  acknowledge(holder: Holder, seq: number): void {
    holder.acknowledge(seq);
    if (holder.uncertainUntil !== undefined && seq >= holder.uncertainUntil) holder.uncertainUntil = undefined;
    this.#applied(holder);
  }

  /**
   * A client asks for its lease; counted by it from sending. True: it has one from now for a term. False: none now (ask
   * at every open).
   */
  renew(holder: Holder): boolean {
    const nowMs = this.clock.bootMs();
    if (holder.sender === undefined) return false;
    this.heard(holder);
    this.#countWaiting(holder);
    if (holder.isOverdue(nowMs)) {
      if (holder.isToBlame(nowMs)) this.#punish(holder, nowMs);
      return false;
    }
    if (this.#isWithdrawn || nowMs < holder.probationUntilMs) return false;
    if (!this.#slowDevices.mayHoldLease(holder.device, nowMs) || !this.writeLeases.mayRenew(holder)) return false;
    holder.leaseUntilMs = nowMs + holder.termMs;
    return true;
  }

  idle(holder: Holder): void {
    holder.leaseUntilMs = 0;
    this.writeLeases.release(holder);
    this.#release(holder);
  }

  /** Asks an instance for bytes of a version that it committed, if it is connected. */
  lack(instance: string, version: VersionId, ranges: readonly { offset: number; length: number }[]): void {
    this.#holders.get(instance)?.sender?.lack(version, ranges);
  }

  /**
   * Gives no lease until `restore`, since what followers hold may be wrong (events were missed); those given run out by
   * themselves.
   */
  withdraw(): void {
    this.#isWithdrawn = true;
  }

  restore(): void {
    this.#isWithdrawn = false;
  }

  /** Lists all followers that are connected or have a lease, in the order in which they came. */
  list(): Holder[] {
    const nowMs = this.clock.bootMs();
    return [...this.#holders.values()].filter((holder) => holder.sender !== undefined || holder.hasLease(nowMs));
  }

  /** Lists changes of clients that are not answered yet, since others have not acknowledged them. */
  recalls(): Recall[] {
    const nowMs = this.clock.bootMs();
    return this.waits.flatMap(({ changes, seq, committer, sinceMs, missing }) => {
      if (committer === undefined) return [];
      const holders = [...missing].map(([holder, untilMs]) => ({ holder, leftMs: Math.max(0, untilMs - nowMs) }));
      return [{ seq, committer, node: nodeOf(changes), lastsMs: nowMs - sinceMs, holders }];
    });
  }

  get attachments(): number {
    let count = 0;
    for (const holder of this.#holders.values()) if (holder.sender !== undefined) count++;
    return count;
  }

  /** Instances that no longer matter: not connected, no lease left. Returns those forgotten. */
  forgetExpired(): string[] {
    const nowMs = this.clock.bootMs();
    const gone: string[] = [];
    for (const [instance, holder] of this.#holders) {
      if (holder.sender !== undefined || holder.hasLease(nowMs) || nowMs < holder.probationUntilMs) continue;
      this.#holders.delete(instance);
      gone.push(instance);
    }
    return gone;
  }

  close(): void {
    this.#overdueTimer?.cancel();
    this.writeLeases.close();
    for (const wait of this.waits) wait.timer?.cancel();
    for (const holder of this.#holders.values()) holder.sender?.close("The server is stopping.");
    this.waits = [];
  }

  /**
   * A holder that pings but does not acknowledge must not stall writers for ever. The lease that it was promised last
   * still counts: it may have applied all and only its acknowledgements be late, and then it answers programs under
   * that lease.
   */
  #punish(holder: Holder, nowMs: number): void {
    holder.probationUntilMs = nowMs + TIMING.probationTerms * holder.termMs;
    holder.sender?.close("Changes were not acknowledged for a whole lease term.");
    holder.sender = undefined;
  }

  #sumOf(device: string, ofEach: (holder: Holder) => number): number {
    let sum = 0;
    for (const holder of this.#holders.values()) if (holder.device === device) sum += ofEach(holder);
    return sum;
  }

  /** A holder with little to acknowledge is let be, whatever the others of its device have. */
  #hasLongBacklog({ device, due: { length } }: Holder): boolean {
    if (length > LIMITS.feedBacklogItems) return true;
    if (device === "" || length * LIMITS.deviceAttachments <= LIMITS.deviceFeedBacklogItems) return false;
    return this.#sumOf(device, ({ due }) => due.length) > LIMITS.deviceFeedBacklogItems;
  }

  #overflow(holder: Holder, seq: number): void {
    holder.follows.clear();
    holder.followsAll = false;
    const sentMs = holder.due[0]?.sentMs ?? this.clock.bootMs();
    holder.due.splice(0, holder.due.length, { seq, sentMs });
    holder.uncertainUntil = seq;
    holder.sender?.listAgain(seq);
  }

  /**
   * The client has spoken on its new feed: it knows whether it was resumed, and from there on what it follows here is
   * what it holds.
   */
  private heard(holder: Holder): void {
    if (holder.uncertainUntil !== 0) return;
    holder.uncertainUntil = undefined;
    this.#applied(holder);
  }

  /**
   * Nothing waits for a holder that has applied a change, nor, once that is certain, for one that does not follow what
   * changed.
   */
  #applied(holder: Holder): void {
    this.#countWaiting(holder);
    const isCertain = holder.uncertainUntil === undefined;
    let isLast = false;
    for (const { changes, seq, missing } of this.waits) {
      if (!missing.has(holder)) continue;
      const isUntouched = isCertain && changes !== undefined && !holder.touchesAny(changes);
      if (seq <= holder.ackedSeq || isUntouched) missing.delete(holder);
      if (missing.size === 0) isLast = true;
    }
    if (isLast) this.settle();
  }

  #release(holder: Holder): void {
    this.#countWaiting(holder);
    for (const wait of this.waits) wait.missing.delete(holder);
    this.settle();
  }

  /** Counts what waits for a device that is slower than a line makes it, in all its instances together. */
  #countWaiting(holder: Holder): void {
    const { device, termMs } = holder;
    if (device === "" || !this.#isLate(holder)) return;
    const all = [...this.#holders.values()].filter((each) => each.device === device);
    const oldest = this.waits.find((wait) => all.some((each) => isWaiting(wait, each)));
    const toMs = this.clock.bootMs();
    this.#slowDevices.waited(device, { fromMs: oldest?.sinceMs ?? toMs, toMs, termMs });
  }

  #isLate(holder: Holder): boolean {
    const oldest = this.waits.find((wait) => isWaiting(wait, holder));
    const waitedMs = oldest === undefined ? 0 : this.clock.bootMs() - oldest.sinceMs;
    if (waitedMs <= holder.promptMs) return false;
    return isLate(waitedMs, this.waits.filter((wait) => isWaiting(wait, holder)).length, holder.promptMs);
  }

  private settle(): void {
    const nowMs = this.clock.bootMs();
    this.waits = this.waits.filter((wait) => {
      for (const [holder, untilMs] of wait.missing) {
        if (untilMs > nowMs) continue;
        wait.missing.delete(holder);
        const waited = { fromMs: wait.sinceMs, toMs: nowMs, termMs: holder.termMs };
        if (holder.ranOutMs !== untilMs) this.#slowDevices.ranOut(holder.device, waited);
        holder.ranOutMs = untilMs;
      }
      if (wait.missing.size > 0) return true;
      wait.timer?.cancel();
      wait.resolve();
      return false;
    });
  }

  #arm(wait: Wait, nowMs: number): void {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const untilMs of wait.missing.values()) nextMs = Math.min(nextMs, untilMs);
    wait.timer = this.clock.after(Math.max(0, nextMs - nowMs), () => {
      this.settle();
      if (this.waits.includes(wait)) this.#arm(wait, this.clock.bootMs());
    });
  }

  #watchOverdue(nowMs: number): void {
    if (this.#overdueTimer !== undefined) return;
    let nextMs = Number.POSITIVE_INFINITY;
    for (const holder of this.#holders.values()) {
      // A holder that is overdue already was without a lease then, and gets none until it acknowledges.
      if (holder.sender === undefined || holder.due[0] === undefined || holder.isOverdue(nowMs)) continue;
      nextMs = Math.min(nextMs, holder.due[0].sentMs + holder.termMs);
    }
    if (nextMs === Number.POSITIVE_INFINITY) return;
    this.#overdueTimer = this.clock.after(nextMs - nowMs + 1, () => {
      this.#overdueTimer = undefined;
      const laterMs = this.clock.bootMs();
      for (const holder of this.#holders.values()) {
        if (holder.sender !== undefined && holder.isToBlame(laterMs)) this.#punish(holder, laterMs);
      }
      this.#watchOverdue(laterMs);
    });
  }

  #sayWaiting(wait: Wait, committer: Holder | undefined, n: number): void {
    // It may have connected again meanwhile.
    const sender = committer === undefined ? undefined : this.#holders.get(committer.instance)?.sender;
    if (sender === undefined || !this.waits.includes(wait)) return;
    let untilMs = 0;
    for (const until of wait.missing.values()) untilMs = Math.max(untilMs, until);
    sender.waiting(
      n,
      [...wait.missing.keys()].map((holder) => holder.who),
      this.#wallMsAt(untilMs),
    );
  }

  #wallMsAt(untilMs: number): number {
    return wallMs(this.clock) + Math.max(0, Math.round(untilMs - this.clock.bootMs()));
  }

  /** Somebody else may answer programs from what they hold, or has begun a change. */
  #isShared(holder: Holder): boolean {
    const nowMs = this.clock.bootMs();
    for (const other of this.#holders.values()) {
      if (other.instance === holder.instance) continue;
      if (other.hasLease(nowMs) || other.sender?.isChanging?.() === true) return true;
    }
    return false;
  }
}

/** Tells whether another device waits: nobody does for a change of a program on the server. */
function isWaiting({ missing, committer }: Wait, holder: Holder): boolean {
  return committer !== undefined && committer.device !== holder.device && missing.has(holder);
}

function nodeOf(changes: Wait["changes"]): number | undefined {
  const change = changes?.at(-1);
  return change?.nodes[0]?.node ?? change?.bindings[0]?.node;
}

/** Says of a node that it has no place: where nobody knows the tree. */
const nowhere: PlacesOf = () => Promise.resolve([]);

const WAITING_SAID_AFTER_MS = 200;
