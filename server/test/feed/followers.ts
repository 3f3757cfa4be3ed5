// Followers of a feed on a simulated clock: what each was sent, and commits with how they stand.
import { SimulatedClock } from "@runnel/shared";
import type { Change, NodeState } from "@runnel/shared";
import { type AttachedBefore, Feed } from "../../src/feed/feed.ts";
import type { FeedSender, Holder } from "../../src/feed/holder.ts";

export const TERM_MS = 20_000;

export type FollowerEvent =
  | ["changes", ...number[]]
  | ["listAgain", number]
  | ["waiting", number, readonly string[], number]
  | ["recall", number]
  | ["others", readonly number[]]
  | ["close", string];

export class Follower implements FeedSender {
  readonly said: FollowerEvent[] = [];
  readonly feed: Feed;
  holder: Holder;
  hears = true;
  readonly hearsOfOthers: boolean;

  constructor(
    feed: Feed,
    instance: string,
    seq = 0,
    roundTripMs?: number,
    device = `of ${instance}`,
    hearsOfOthers = false,
  ) {
    this.feed = feed;
    this.hearsOfOthers = hearsOfOthers;
    const identity = { instance, who: `${instance}'s laptop`, device, roundTripMs };
    this.holder = feed.attach(identity, this, seq);
  }

  changes(changes: readonly Change[]): void {
    this.said.push(["changes", ...changes.map(({ seq }) => seq)]);
  }

  listAgain(seq: number): void {
    this.said.push(["listAgain", seq]);
  }

  waiting(n: number, whom: readonly string[], untilWallMs: number): void {
    this.said.push(["waiting", n, whom, untilWallMs]);
  }

  recall(folder: number): void {
    this.said.push(["recall", folder]);
  }

  /** Takes note of what others have at once, or not. */
  others(number: number, folders: readonly number[]): void {
    this.said.push(["others", folders]);
    if (this.hears) queueMicrotask(() => this.feed.writeLeases.heard(this.holder, number));
  }

  lack(): void {}

  close(reason: string): void {
    this.said.push(["close", reason]);
  }

  /** Follows folders, or all, with a lease or without. */
  follows(folders: readonly number[] | "all", hasLease = true): this {
    if (folders === "all") this.holder.followsAll = true;
    else for (const folder of folders) this.feed.follow(this.holder, folder);
    if (hasLease && !this.feed.renew(this.holder)) throw new Error("no lease");
    return this;
  }

  ack(seq: number): void {
    this.feed.acknowledge(this.holder, seq);
  }

  renew(): boolean {
    return this.feed.renew(this.holder);
  }

  get isClosed(): boolean {
    return this.said.some(([what]) => what === "close");
  }

  get seqs(): number[] {
    return this.said.flatMap(([what, ...rest]) => (what === "changes" ? (rest as number[]) : []));
  }
}

function state(node: number, more: Partial<NodeState> = {}): NodeState {
  return {
    node,
    type: "file",
    mode: 0o644,
    uid: 0,
    gid: 0,
    sizeBytes: 0,
    mtimeNs: 0n,
    ctimeNs: 0n,
    nlink: 1,
    rdev: 0,
    target: "",
    version: 1,
    seq: 1,
    ...more,
  };
}

/** A name made in a folder. */
export function changeOf(seq: number, folder: number, node = 1000 + seq): Change {
  return {
    seq,
    bindings: [{ folder, name: `n${seq}`, node }],
    nodes: [state(node), state(folder, { type: "folder", nlink: 2 })],
    replaces: undefined,
  };
}

/** New attributes or content: names no folder. */
export function edited(seq: number, node: number): Change {
  return { seq, bindings: [], nodes: [state(node)], replaces: undefined };
}

/** A name of a file that has others: `nlink` is what it has afterwards. */
export function relinked(seq: number, folder: number, node: number, nlink: number, isMade: boolean): Change {
  return {
    ...changeOf(seq, folder, node),
    bindings: [{ folder, name: "n", node: isMade ? node : 0 }],
    nodes: [state(node, { nlink })],
  };
}

export class Commit {
  isAnswered = false;

  constructor(answer: Promise<void>) {
    void answer.then(() => {
      this.isAnswered = true;
    });
  }
}

export class Scene {
  readonly clock = new SimulatedClock();
  readonly feed: Feed;

  /** Folders that nodes have names in. */
  readonly places = new Map<number, readonly number[]>();

  /** `attached`: before a restart; by name, with the usual term. */
  constructor(attached: readonly (string | AttachedBefore)[] = []) {
    const known = attached.map((each) => (typeof each === "string" ? { instance: each, termMs: TERM_MS } : each));
    this.feed = new Feed(this.clock, TERM_MS, known, async (node) => this.places.get(node) ?? []);
  }

  follower(
    instance: string,
    folders: readonly number[] | "all" = [1],
    hasLease = true,
    roundTripMs?: number,
  ): Follower {
    return new Follower(this.feed, instance, 0, roundTripMs).follows(folders, hasLease);
  }

  async commit(change: Change, by?: Follower, n = 1): Promise<Commit> {
    const commit = new Commit(this.feed.publish([change], by?.holder, n));
    await this.clock.advance(0);
    return commit;
  }

  /** Milliseconds from now until a commit is answered. */
  async answeredAfter(commit: Commit, withinMs = 10 * TERM_MS): Promise<number> {
    const fromMs = this.clock.bootMs();
    await this.clock.runUntil(() => commit.isAnswered, withinMs);
    return commit.isAnswered ? this.clock.bootMs() - fromMs : Infinity;
  }
}
