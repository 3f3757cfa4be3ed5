// A follower of a volume: an instance with its lease, what it follows and what it has acknowledged. A holder outlives
// its connection, as its lease does: the client may still answer programs under it ([W14], [W17]).
import type { Change, NodeState, VersionId } from "@runnel/shared";
import type { NodeOwner } from "../meta/meta-store.ts";
import { promptMs } from "./slow-devices.ts";

export interface FeedSender {
  /** `isOwn`: they are what its instance asked for. */
  changes(changes: readonly Change[], isOwn: boolean): void;
  /** The follower must list everything again. */
  listAgain(seq: number): void;
  waiting(n: number, whom: readonly string[], untilWallMs: number): void;
  /** Bytes of a version that the follower committed are asked for once more. */
  lack(version: VersionId, ranges: readonly { offset: number; length: number }[]): void;
  close(reason: string): void;
  /** Tells whether so much that was sent lies unread that no more is to be sent. */
  isFarBehind?(): boolean;
  /** The notices of the volume are others now. */
  noticed?(): void;
  /** It understands which folders others have write leases on (W192). */
  readonly hearsOfOthers?: boolean;
  /** The write lease on a folder is asked back. */
  recall?(folder: number): void;
  /** Folders that others have write leases on, all of them; to be heard by the number. */
  others?(number: number, folders: readonly number[]): void;
  /** Tells whether changes of the follower are under way. */
  isChanging?(): boolean;
  /** Tells whether the follower had the file open lately, and wants its small changes. */
  hasRead?(node: number): boolean;
}

export interface Identity {
  instance: string;
  /** A person's word for it, shown to whoever waits. */
  who: string;
  /** The same in short: the device's name, where it has one. */
  name?: string;
  /** The device that it belongs to; "" where devices are not told apart. */
  device: string;
  /** Owner of the node ids that it is given; undefined where devices are not told apart. */
  nodeOwner?: NodeOwner | undefined;
  /** Round trip of its line, as the client has measured it; absent when it does not matter. */
  roundTripMs?: number | undefined;
}

let lastId = 0;

export class Holder {
  /** Later ones have greater ones. */
  readonly id = ++lastId;
  readonly instance: string;
  readonly who: string;
  readonly name: string;
  readonly device: string;
  readonly nodeOwner: NodeOwner | undefined;
  /** Term of its leases. */
  readonly termMs: number;
  /** Time within which acknowledging is as prompt as its line allows. */
  readonly promptMs: number;
  sender: FeedSender | undefined;
  /** Wall clock in milliseconds: when it attached; 0 for one from before a restart. */
  sinceMs = 0;
  followsAll = false;
  readonly follows = new Set<number>();
  /** Boot clock; 0 = no lease. */
  leaseUntilMs = 0;
  /** The last lease that ran out while a change waited for it. */
  ranOutMs = 0;
  /** Until then it asks at every open: it once held a lease and did not acknowledge. */
  probationUntilMs = 0;
  ackedSeq = 0;
  /**
   * Seq up to which its replica may be behind what is known of it here: it attached again under a lease from before
   * (0), or was told to list again at this seq. Until it says something (0), or acknowledges that, it may answer under
   * its lease from what it no longer follows: every commit waits for it.
   */
  uncertainUntil: number | undefined;
  /** Folders that others have write leases on, as it was told last; by which number, and the last one that it heard. */
  othersFolders: readonly number[] = [];
  othersTold = 0;
  othersHeard = 0;
  /** Items sent and not yet acknowledged, oldest first. */
  readonly due: { seq: number; sentMs: number }[] = [];

  constructor({ instance, who, name = who, device, nodeOwner, roundTripMs = 0 }: Identity, termMs: number) {
    this.instance = instance;
    this.who = who;
    this.name = name;
    this.device = device;
    this.nodeOwner = nodeOwner;
    this.termMs = termMs;
    this.promptMs = promptMs(termMs, roundTripMs);
  }

  /**
   * Returns whether the change is sent to it. While it is away, what it followed is not forgotten: it may still hold
   * entries of it under its lease.
   */
  touches(change: Change): boolean {
    if (this.followsAll) return true;
    if (this.follows.size === 0) return false;
    for (const binding of change.bindings) if (this.follows.has(binding.folder)) return true;
    for (const state of change.nodes)
      if (this.follows.has(state.node) || mayBeListedElsewhere(state, change)) return true;
    return false;
  }

  touchesAny(changes: readonly Change[]): boolean {
    return changes.some((change) => this.touches(change));
  }

  hasLease(nowMs: number): boolean {
    return this.leaseUntilMs > nowMs;
  }

  /** The oldest item has been without an acknowledgement for longer than a term. */
  isOverdue(nowMs: number): boolean {
    const oldest = this.due[0];
    return oldest !== undefined && nowMs - oldest.sentMs > this.termMs;
  }

  /**
   * It held a lease when that item became overdue: it was there, renewed, and did not acknowledge. One that slept was
   * not.
   */
  isToBlame(nowMs: number): boolean {
    const oldest = this.due[0];
    return oldest !== undefined && this.isOverdue(nowMs) && this.hasLease(oldest.sentMs + this.termMs);
  }

  acknowledge(seq: number): void {
    if (seq > this.ackedSeq) this.ackedSeq = seq;
    while (this.due[0] !== undefined && this.due[0].seq <= seq) this.due.shift();
  }
}

/**
 * A change of attributes or content names no folder, and a file may have names that the change does not mention:
 * whoever follows anything may have it listed. Not so the times of a folder whose names changed: they are told to those
 * who follow the folder itself.
 */
function mayBeListedElsewhere(state: NodeState, change: Change): boolean {
  if (change.bindings.length === 0) return true;
  if (state.type === "folder") return false;
  return state.nlink > change.bindings.filter((binding) => binding.node === state.node).length;
}
