// An attachment of a connection: the channel that `attach` opened stays open and carries the volume's feed.
import type { Change, Channel, FeedFromClient, NumberSpan, VersionId } from "@runnel/shared";
import { FEED_FROM_CLIENT, LIMITS, RunnelError, check, packChange } from "@runnel/shared";
import type { Right } from "../auth/registry-file.ts";
import type { FeedSender, Holder } from "../feed/holder.ts";
import type { Acquired } from "../feed/write-leases.ts";
import type { Volume } from "../volume/volume.ts";
import { AttachmentTransfers, type LiveTransfer } from "../live/attachment-transfers.ts";
import { LeaseGate } from "./lease-gate.ts";
import { type FailedOperations, OperationOrder } from "./operation-order.ts";
import { PushSubscriptions } from "./push-subscriptions.ts";
import { changeBytes, splitBySize } from "./split-items.ts";

export interface AttachmentDeps {
  /** Failed operations of all attachments of its device. */
  failures: FailedOperations;
  /** Tells whether so much lies unread on its connection that no more of a feed is to be sent. */
  isFarBehind(): boolean;
  warn(message: string, error?: unknown): void;
}

export class Attachment implements FeedSender {
  readonly volume: Volume;
  readonly channel: Channel;
  readonly instance: string;
  readonly order: OperationOrder;
  readonly right: Right;
  holder!: Holder;
  /** The client understands what says that notices have changed (W185). */
  hearsOfNotices = false;
  /** It understands which folders others have write leases on (W192). */
  hearsOfOthers = false;
  #gate: LeaseGate | undefined;
  /** Resolves when the client has been told that it is attached: what it asked for before that waits (W130). */
  answered: Promise<void> = Promise.resolve();
  #transfers: AttachmentTransfers | undefined;
  /** Made when the client first wants a file: most clients are idle, and each costs memory. */
  private wanted: PushSubscriptions | undefined;
  private readonly deps: AttachmentDeps;
  /** Count of the results that the client has said to have, when they were last removed. */
  private forgotten = 0;
  /**
   * Changes and other items that are to be sent, held until the answer has left, while a resuming client is still being
   * brought to the present.
   */
  private held: (Change | unknown[])[] | undefined;
  /** Changes of this turn of the loop, which go in one item. */
  private gathered: { change: Change; isOwn: boolean }[] = [];
  private ended: RunnelError | undefined;
  /** Questions for the lease of a client that knows nothing of write leases: they wait until nobody else has one. */
  private questions: number[] = [];
  private isAcquiring = false;

  constructor(volume: Volume, channel: Channel, instance: string, right: Right, deps: AttachmentDeps) {
    this.deps = deps;
    this.volume = volume;
    this.channel = channel;
    this.instance = instance;
    this.order = new OperationOrder(volume.meta, instance, deps.failures);
    this.right = right;
  }

  get gate(): LeaseGate {
    return (this.#gate ??= new LeaseGate({
      volume: this.volume,
      instance: this.instance,
      holder: () => this.holder,
      hearsOfOthers: () => this.hearsOfOthers,
    }));
  }

  get transfers(): AttachmentTransfers {
    return (this.#transfers ??= new AttachmentTransfers(this.volume.clock));
  }

  /** Contents that move on it now. */
  get moving(): LiveTransfer[] {
    return this.#transfers?.list() ?? [];
  }

  /** No other connection has attached the instance since. */
  get isCurrent(): boolean {
    return this.holder.sender === this;
  }

  /**
   * The client has these results `but` for some. Not waited for, and in steps: one row less is not worth a write each.
   * While many changes wait it is the spans that become less, not the number that grows: what counts is how many.
   */
  forgetUpTo(received: number, but: readonly NumberSpan[] = []): void {
    const count = received - but.reduce((sum, [first, last]) => sum + last - first + 1, 0);
    if (count < this.forgotten + FORGET_STEP) return;
    this.forgotten = count;
    this.volume.meta
      .forgetResults(this.instance, received, but)
      .catch((error: unknown) => this.deps.warn("Results of old operations could not be removed.", error));
  }

  /** Requests wait from now on until this has ended, and fail if it fails. */
  answer(greeting: Promise<void>): Promise<void> {
    this.answered = greeting;
    greeting.catch(() => undefined);
    return greeting;
  }

  /** All feed items are kept back until `release`, which drops the changes that the client has by then. */
  holdBack(): void {
    this.held = [];
  }

  /** Sends what a resuming client missed, ahead of what is held back. */
  missed(changes: readonly Change[]): void {
    this.sendChanges(changes);
  }

  release(sentUpTo: number): void {
    const held = this.held ?? [];
    this.held = undefined;
    let waiting: Change[] = [];
    for (const one of held) {
      if (!Array.isArray(one)) {
        if (one.seq > sentUpTo) waiting.push(one);
        continue;
      }
      this.sendChanges(waiting);
      waiting = [];
      this.channel.send(one);
    }
    this.sendChanges(waiting);
  }

  changes(changes: readonly Change[], isOwn: boolean): void {
    if (isOwn) this.wanted?.made(changes);
    if (this.held !== undefined) {
      this.held.push(...changes);
      return;
    }
    if (this.gathered.length === 0) queueMicrotask(() => this.sendGathered());
    for (const change of changes) this.gathered.push({ change, isOwn });
  }

  private sendGathered(): void {
    const gathered = this.gathered.splice(0);
    for (let from = 0, to = 0; from < gathered.length; from = to) {
      const isOwn = gathered[from]?.isOwn === true;
      while (to < gathered.length && gathered[to]?.isOwn === isOwn) to++;
      this.sendChanges(
        gathered.slice(from, to).map(({ change }) => change),
        isOwn,
      );
    }
  }

  /** Sends an item behind all changes that were published before it. */
  private send(item: unknown[]): void {
    this.sendGathered();
    this.channel.send(item);
  }

  private sendChanges(changes: readonly Change[], isOwn = true): void {
    for (const part of splitBySize(changes, changeBytes)) {
      const versions = (isOwn ? undefined : this.wanted?.of(part)) ?? [];
      const coming = versions.length === 0 ? [] : [versions.map(({ seq }) => seq)];
      this.channel.send(["changes", part.map(packChange), ...coming]);
      this.wanted?.follow(versions);
    }
  }

  private tell(item: unknown[]): void {
    if (this.held !== undefined) this.held.push(item);
    else this.send(item);
  }

  listAgain(seq: number): void {
    this.tell(["listAgain", seq]);
  }

  waiting(n: number, whom: readonly string[], untilWallMs: number): void {
    this.tell(["waiting", n, whom.slice(0, WHOM_MAX), untilWallMs]);
  }

  /** Ends it for good: the volume cannot be served any more. */
  end(error: RunnelError): void {
    this.ended = error;
    this.channel.fail(error);
  }

  /** @throws what it was ended with. */
  mustBeThere(): void {
    if (this.ended !== undefined) throw this.ended;
  }

  lack({ node, seq }: VersionId, ranges: readonly { offset: number; length: number }[]): void {
    this.tell(["lack", [node, seq], ranges.map(({ offset, length }) => [offset, length])]);
  }

  close(reason: string): void {
    this.channel.fail(new RunnelError("Busy", "feed", reason, { detail: { retryAfterMs: 0 } }));
  }

  /** Handles what the client says on the feed until it ends it. `mustBeRead`: throws when it does not read answers. */
  async serve(mustBeRead: () => void): Promise<void> {
    for (;;) {
      const message = await this.channel.next();
      if (message === undefined) return;
      const item = check(FEED_FROM_CLIENT, message, "feed item");
      if (item[0] === "current" || item[0] === "acquire") mustBeRead();
      if (item[0] === "current" && this.questions.length >= LIMITS.leaseQuestions)
        throw new RunnelError("TooLarge", "feed", "The client asks on without waiting for an answer.", {
          detail: { limit: LIMITS.leaseQuestions, rule: "W163" },
        });
      this.handle(item);
    }
  }

  /** Lists files that the client had open lately, the last one last. */
  filesRead(): number[] {
    return this.wanted?.nodes() ?? [];
  }

  hasRead(node: number): boolean {
    return this.wanted?.has(node) === true;
  }

  isFarBehind(): boolean {
    return this.deps.isFarBehind();
  }

  noticed(): void {
    if (this.hearsOfNotices) this.tell(["noticed"]);
  }

  /** A device that colleagues may have let in has lost its right: whoever announced knows the item (W198). */
  shutOut(key: Uint8Array): void {
    this.tell(["shutOut", key]);
  }

  colleagues(areThere: boolean): void {
    this.tell(["colleagues", areThere]);
  }

  recall(folder: number): void {
    this.tell(["recall", folder]);
  }

  others(number: number, folders: readonly number[]): void {
    this.tell(["others", number, folders]);
  }

  isChanging(): boolean {
    return this.order.isBusy;
  }

  private async renew(question: number): Promise<void> {
    const { feed } = this.volume;
    this.questions.push(question);
    if (this.questions.length > 1) return;
    // A client that nobody is in the way of is answered in its turn.
    if (!this.hearsOfOthers && feed.writeLeases.isHeldByOther(this.holder)) await feed.writeLeases.shared(this.holder);
    const { seq } = this.volume;
    for (const each of this.questions.splice(0))
      this.send(feed.renew(this.holder) ? ["current", each, seq] : ["not", each]);
  }

  private async acquire(question: number, folder: number): Promise<void> {
    const answer = await this.acquired(folder).catch((error: unknown) => {
      this.deps.warn("A write lease could not be recorded.", error);
      return NO_LEASE;
    });
    // A lease that was asked back in between is not to look as if it came after that.
    const isHeld = answer.isGranted && this.volume.feed.writeLeases.isHeld(answer.lease);
    if (answer.isGranted && !isHeld) this.send(["refused", question, RETRY_MS]);
    else if (answer.isGranted) this.send(["granted", question, answer.isContinued, answer.folder]);
    else this.send(["refused", question, answer.retryAfterMs]);
  }

  /** It is durable before the client knows of it: a start waits for its end. */
  private async acquired(folder: number): Promise<Acquired> {
    const { feed, meta } = this.volume;
    if (this.right !== "write") return NO_LEASE;
    if (this.isAcquiring) return { isGranted: false, retryAfterMs: RETRY_MS };
    this.isAcquiring = true;
    try {
      const acquired = await feed.writeLeases.acquire(this.holder, folder);
      if (!acquired.isGranted || acquired.isContinued) return acquired;
      try {
        await meta.setWriteLease(feed.writeLeases.record);
      } catch (error) {
        feed.writeLeases.release(acquired.lease.holder, acquired.folder);
        throw error;
      }
      feed.writeLeases.confirm(acquired.lease);
      return acquired;
    } finally {
      this.isAcquiring = false;
    }
  }

  private want(wanted: readonly (readonly [number, number])[]): void {
    this.wanted ??= new PushSubscriptions(this.volume, (item) => this.tell(item), {
      isInTime: () => this.held === undefined && this.holder.due.length <= UNACKNOWLEDGED_MAX,
      isFarBehind: this.deps.isFarBehind,
    });
    this.wanted.say(wanted);
  }

  private handle(item: FeedFromClient): void {
    const { feed } = this.volume;
    if (item[0] === "ack") feed.acknowledge(this.holder, item[1]);
    else if (item[0] === "current") void this.renew(item[1]);
    else if (item[0] === "acquire") void this.acquire(item[1], item[2]);
    else if (item[0] === "yield") feed.writeLeases.release(this.holder, item[1]);
    else if (item[0] === "heard") feed.writeLeases.heard(this.holder, item[1]);
    else if (item[0] === "idle") feed.idle(this.holder);
    else if (item[0] === "want") this.want(item[1]);
    else if (item[0] === "have") this.volume.supplies.have(this.instance, item[1], item[2], item[3]);
    else if (item[0] === "haveNot") this.volume.supplies.haveNot(this.instance, item[1]);
    else for (const folder of item[1]) this.holder.follows.delete(folder);
  }
}

/** None is given to who may only read. */
const NO_LEASE: Acquired = { isGranted: false, retryAfterMs: 60_000 };
const RETRY_MS = 1_000;
const WHOM_MAX = 20;
/** A client with more of them is busy enough without contents. */
const UNACKNOWLEDGED_MAX = 64;
const FORGET_STEP = 256;
