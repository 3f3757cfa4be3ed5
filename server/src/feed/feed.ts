// Feed and leases of one volume: every change goes to those who follow it, in seq order; a commit is answered when every follower with a
// lease has acknowledged it or its lease has run out. Knows nothing of connections (a FeedSender carries the items) and nothing of disks.
import type { Change, Clock, Timer } from "@runnel/shared";
import { LIMITS, RunnelError, TIMING } from "@runnel/shared";
import type { FeedSender } from "./holder.ts";
import { Holder } from "./holder.ts";

interface Wait {
  seq: number;
  missing: Set<Holder>;
  resolve(): void;
  timer: Timer | undefined;
}

export class Feed {
  private readonly clock: Clock;
  readonly termMs: number;
  private readonly holders = new Map<string, Holder>();
  private waits: Wait[] = [];
  /** Leases are neither given nor used while the folder's state is uncertain. */
  private isWithdrawn = false;

  /** `attached`: instances known from before a restart; each may hold a lease for one more term (the restart rule). */
  constructor(clock: Clock, termMs: number, attached: readonly string[]) {
    this.clock = clock;
    this.termMs = termMs;
    for (const instance of attached) {
      const holder = new Holder(instance, "a client from before the restart");
      holder.followsAll = true;
      holder.leaseUntilMs = clock.bootMs() + termMs;
      this.holders.set(instance, holder);
    }
  }

  /** An instance's connection. `seq`: what it has applied, when it resumes. */
  attach(instance: string, who: string, sender: FeedSender, seq: number): Holder {
    const before = this.holders.get(instance);
    before?.sender?.close("The same client attached again.");
    const holder = new Holder(instance, who);
    if (before !== undefined) {
      holder.leaseUntilMs = before.leaseUntilMs;
      holder.probationUntilMs = before.probationUntilMs;
      for (const wait of this.waits) if (wait.missing.delete(before)) wait.missing.add(holder);
    }
    holder.ackedSeq = seq;
    holder.sender = sender;
    this.holders.set(instance, holder);
    return holder;
  }

  /** The connection is gone; the lease goes on until it ends, unless it was given up. */
  detach(holder: Holder, givesUpLease: boolean): void {
    holder.sender = undefined;
    if (givesUpLease) {
      holder.leaseUntilMs = 0;
      if (this.holders.get(holder.instance) === holder) this.holders.delete(holder.instance);
      this.release(holder);
    }
  }

  follow(holder: Holder, folder: number): void {
    if (holder.followsAll || holder.follows.has(folder)) return;
    if (holder.follows.size >= LIMITS.followedFolders) {
      throw new RunnelError("TooLarge", "follow folder", "Too many folders are followed.", { detail: { limit: LIMITS.followedFolders } });
    }
    holder.follows.add(folder);
  }

  /** Sends a change to its followers. The promise resolves when those with a lease, `committer` excepted, have it or lost their lease. */
  publish(change: Change, committer: Holder | undefined, n: number): Promise<void> {
    const nowMs = this.clock.bootMs();
    const missing = new Set<Holder>();
    for (const holder of this.holders.values()) {
      if (!holder.touches(change)) continue;
      if (holder !== committer && holder.hasLease(nowMs)) missing.add(holder);
      if (holder.sender === undefined) continue;
      holder.due.push({ seq: change.seq, sentMs: nowMs });
      holder.sender.changes([change]);
      if (holder.due.length > LIMITS.feedBacklogItems) this.overflow(holder, change.seq);
    }
    if (missing.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const wait: Wait = { seq: change.seq, missing, resolve, timer: undefined };
      this.waits.push(wait);
      this.arm(wait, nowMs);
      // Said only when it takes longer than a quick answer would.
      this.clock.after(WAITING_SAID_AFTER_MS, () => this.sayWaiting(wait, committer, n));
    });
  }

  acknowledge(holder: Holder, seq: number): void {
    holder.acknowledge(seq);
    for (const wait of this.waits) if (wait.seq <= holder.ackedSeq) wait.missing.delete(holder);
    this.settle();
  }

  /**
   * A client asks for its lease; counted by it from sending. True: it has one from now for a term. False: none now (ask at every open).
   */
  renew(holder: Holder): boolean {
    const nowMs = this.clock.bootMs();
    if (holder.isOverdue(nowMs, this.termMs)) {
      if (holder.hasLease((holder.due[0]?.sentMs ?? 0) + this.termMs) || holder.hasLease(nowMs)) this.punish(holder, nowMs);
      return false;
    }
    if (this.isWithdrawn || nowMs < holder.probationUntilMs) return false;
    holder.leaseUntilMs = nowMs + this.termMs;
    return true;
  }

  idle(holder: Holder): void {
    holder.leaseUntilMs = 0;
    this.release(holder);
  }

  up(seq: number): void {
    for (const holder of this.holders.values()) holder.sender?.up(seq);
  }

  /** What followers hold may be wrong (events were missed): no lease is given until `restore`; those given run out by themselves. */
  withdraw(): void {
    this.isWithdrawn = true;
  }

  restore(): void {
    this.isWithdrawn = false;
  }

  get attachments(): number {
    let count = 0;
    for (const holder of this.holders.values()) if (holder.sender !== undefined) count++;
    return count;
  }

  /** Instances that no longer matter: not connected, no lease left. Returns those forgotten. */
  forgetGone(): string[] {
    const nowMs = this.clock.bootMs();
    const gone: string[] = [];
    for (const [instance, holder] of this.holders) {
      if (holder.sender !== undefined || holder.hasLease(nowMs) || nowMs < holder.probationUntilMs) continue;
      this.holders.delete(instance);
      gone.push(instance);
    }
    return gone;
  }

  close(): void {
    for (const wait of this.waits) wait.timer?.cancel();
    for (const holder of this.holders.values()) holder.sender?.close("The server is stopping.");
    this.waits = [];
  }

  /** A holder that pings but does not acknowledge must not stall writers for ever. */
  private punish(holder: Holder, nowMs: number): void {
    holder.probationUntilMs = nowMs + TIMING.probationTerms * this.termMs;
    holder.leaseUntilMs = 0;
    holder.sender?.close("Changes were not acknowledged for a whole lease term.");
    holder.sender = undefined;
    this.release(holder);
  }

  private overflow(holder: Holder, seq: number): void {
    holder.follows.clear();
    holder.followsAll = false;
    holder.due.length = 0;
    holder.sender?.listAgain(seq);
  }

  private release(holder: Holder): void {
    for (const wait of this.waits) wait.missing.delete(holder);
    this.settle();
  }

  private settle(): void {
    const nowMs = this.clock.bootMs();
    this.waits = this.waits.filter((wait) => {
      for (const holder of wait.missing) if (!holder.hasLease(nowMs)) wait.missing.delete(holder);
      if (wait.missing.size > 0) return true;
      wait.timer?.cancel();
      wait.resolve();
      return false;
    });
  }

  private arm(wait: Wait, nowMs: number): void {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const holder of wait.missing) nextMs = Math.min(nextMs, holder.leaseUntilMs);
    wait.timer = this.clock.after(Math.max(0, nextMs - nowMs) + 1, () => {
      const laterMs = this.clock.bootMs();
      for (const holder of wait.missing) {
        if (holder.hasLease(laterMs)) continue;
        // Its lease ran out with this item unacknowledged: it was connected and silent, or away.
        if (holder.sender !== undefined && holder.isOverdue(laterMs, this.termMs)) this.punish(holder, laterMs);
      }
      this.settle();
      if (this.waits.includes(wait)) this.arm(wait, laterMs);
    });
  }

  private sayWaiting(wait: Wait, committer: Holder | undefined, n: number): void {
    if (committer?.sender === undefined || !this.waits.includes(wait)) return;
    let untilMs = 0;
    for (const holder of wait.missing) untilMs = Math.max(untilMs, holder.leaseUntilMs);
    const untilWallMs = Number(this.clock.wallNs() / 1_000_000n) + Math.max(0, Math.round(untilMs - this.clock.bootMs()));
    committer.sender.waiting(n, [...wait.missing].map((holder) => holder.who), untilWallMs);
  }
}

const WAITING_SAID_AFTER_MS = 200;
