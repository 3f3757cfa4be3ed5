// One follower of a volume: an instance with its lease, what it follows and what it has acknowledged. A holder outlives its connection, as
// its lease does: the client may still answer programs under it (WIRE: Feed, lease, close-to-open).
import type { Change } from "@runnel/shared";

export interface FeedSender {
  changes(changes: readonly Change[]): void;
  up(seq: number): void;
  /** The follower must list everything again. */
  listAgain(seq: number): void;
  waiting(n: number, whom: readonly string[], untilWallMs: number): void;
  close(reason: string): void;
}

export class Holder {
  readonly instance: string;
  /** A person's word for it, shown to whoever waits. */
  readonly who: string;
  sender: FeedSender | undefined;
  followsAll = false;
  readonly follows = new Set<number>();
  /** Boot clock; 0 = no lease. */
  leaseUntilMs = 0;
  /** Until then it asks at every open: it once held a lease and did not acknowledge. */
  probationUntilMs = 0;
  ackedSeq = 0;
  /** Items sent and not yet acknowledged, oldest first. */
  readonly due: { seq: number; sentMs: number }[] = [];

  constructor(instance: string, who: string) {
    this.instance = instance;
    this.who = who;
  }

  /** While it is away, what it followed is not forgotten: it may still hold entries of it under its lease. */
  touches(change: Change): boolean {
    if (this.followsAll) return true;
    for (const binding of change.bindings) if (this.follows.has(binding.folder)) return true;
    // A change of attributes or content names no folder: whoever follows anything may have the node listed.
    if (change.bindings.length === 0) return this.follows.size > 0;
    for (const node of change.nodes) if (this.follows.has(node.node)) return true;
    return false;
  }

  hasLease(nowMs: number): boolean {
    return this.leaseUntilMs > nowMs;
  }

  /** Sent when the oldest item became overdue: longer than a term without an acknowledgement. */
  isOverdue(nowMs: number, termMs: number): boolean {
    const oldest = this.due[0];
    return oldest !== undefined && nowMs - oldest.sentMs > termMs;
  }

  acknowledge(seq: number): void {
    if (seq > this.ackedSeq) this.ackedSeq = seq;
    while (this.due[0] !== undefined && this.due[0].seq <= seq) this.due.shift();
  }
}
