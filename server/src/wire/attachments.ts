// The attachments of one connection, by the channel that carries their feed: how they begin, resume and end.
import type { Channel, FailedTries, RequestOf, SentResultOf } from "@runnel/shared";
import { LIMITS, ROOT_NODE, RunnelError, packState } from "@runnel/shared";
import type { Volume } from "../volume/volume.ts";
import type { AnswerTurns } from "./answer-turns.ts";
import { Attachment } from "./attachment.ts";
import type { Handshake } from "./handshake.ts";
import { NODES_AT_ONCE } from "./requests/index.ts";
import type { FailedOperations } from "./operation-order.ts";
import { replayFeed } from "./resume.ts";

export interface AttachmentsDeps {
  handshake: Handshake;
  answers: AnswerTurns;
  /** @returns undefined when there is none of the name. @throws Unavailable, Busy: why it cannot be attached now. */
  volume(name: string): Volume | undefined;
  /** Is called before a new attachment is answered. */
  attaching(attachment: Attachment): void;
  /** Counts the attachments of all connections of its device. */
  ofDevice(): number;
  /** Counts by device how often it has attached, whatever came of it. */
  attaches: FailedTries;
  /** Tells whether so much lies unread that no more of a feed is to be sent. */
  isFarBehind(): boolean;
  failures(): FailedOperations;
  /** @throws TooLarge when the client does not read what it is answered (W163). */
  mustBeRead(): void;
  warn(message: string, error?: unknown): void;
}

export class Attachments {
  readonly #deps: AttachmentsDeps;
  readonly #attachments = new Map<number, Attachment>();
  /** Why attachments ended whose volume could not be served any more. */
  readonly #endedVolumes = new Map<number, RunnelError>();

  constructor(deps: AttachmentsDeps) {
    this.#deps = deps;
  }

  /** The channel stays open and carries the feed, until one side ends it. `attached` is called when it is answered. */
  async attach(channel: Channel, request: RequestOf<"attach">, attached: () => void): Promise<void> {
    const { handshake, warn } = this.#deps;
    handshake.requireAuthenticated("attach");
    const right = handshake.rightOn(request.volume);
    // The names and states of volumes are no concern of somebody who has no right on them.
    const volume = right === undefined ? undefined : this.#deps.volume(request.volume);
    if (volume === undefined || right === undefined) throw handshake.noVolume(request.volume);
    this.#mustHaveFew();
    this.#mustNotAttachOften();
    const instance = handshake.instanceOf(request.instance);
    const { device } = handshake;
    const attachment = new Attachment(volume, channel, instance, right, {
      failures: this.#deps.failures(),
      isFarBehind: this.#deps.isFarBehind,
      warn,
    });
    attachment.hearsOfNotices = handshake.features.includes("conflicts");
    attachment.hearsOfOthers = handshake.features.includes("write-lease");
    const isSameEpoch = request.epoch === volume.epoch;
    attachment.holdBack();
    const client = {
      instance,
      who: handshake.who,
      name: device?.name ?? handshake.who,
      device: device?.id ?? "",
      nodeOwner: device && { device: device.id, instance: request.instance },
      roundTripMs: request.roundTripMs,
    };
    attachment.holder = volume.feed.attach(client, attachment, isSameEpoch ? (request.seq ?? 0) : 0);
    this.#deps.attaching(attachment);
    this.#attachments.set(channel.id, attachment);
    channel.abort.signal.addEventListener("abort", () => this.#lost(channel.id));
    try {
      await attachment.answer(this.#remember(attachment, request, isSameEpoch));
      attached();
      void volume.conflicts.tellIfAny(attachment);
      volume.supplies.attached(instance);
      await attachment.serve(this.#deps.mustBeRead);
      // The client ended the feed.
      await this.detach(channel.id);
      channel.end();
    } finally {
      this.#lost(channel.id);
    }
  }

  #mustHaveFew(): void {
    const isWithin = this.#attachments.size < LIMITS.attachments;
    if (isWithin && this.#deps.ofDevice() < LIMITS.deviceAttachments) return;
    const who = isWithin ? "device" : "connection";
    throw new RunnelError("Busy", "attach", `This ${who} has too many attachments.`, {
      detail: { limit: isWithin ? LIMITS.deviceAttachments : LIMITS.attachments },
    });
  }

  /**
   * Counts a try [W188]: each is written down and synced, and so is its end. Whoever did nothing else would have the
   * disk. @throws Busy when there were too many.
   */
  #mustNotAttachOften(): void {
    const { handshake, attaches } = this.#deps;
    const { device } = handshake;
    if (device === undefined) return;
    const retryAfterMs = attaches.waitMs(device.id);
    if (retryAfterMs > 0)
      throw new RunnelError("Busy", "attach", "This device attaches too often. Try again in a moment.", {
        detail: { retryAfterMs },
      });
    attaches.failed(device.id);
  }

  /** @throws Invalid for a number that is no attachment of this connection; what ended its volume. */
  named(id: number): Attachment {
    const attachment = this.#attachments.get(id);
    const ended = this.#endedVolumes.get(id);
    if (ended !== undefined) throw ended;
    if (attachment === undefined)
      throw new RunnelError("Invalid", "request", "The request names no attachment of this connection.", {
        detail: { rule: "W12" },
      });
    return attachment;
  }

  /** The client leaves: it gives up its lease, and no restart waits for it. */
  async detach(id: number): Promise<void> {
    const attachment = this.#attachments.get(id);
    this.#attachments.delete(id);
    attachment?.volume.colleagues.left(attachment);
    if (attachment?.isCurrent !== true) return;
    const { volume, instance, holder } = attachment;
    volume.feed.detach(holder, true);
    await volume.meta.setAttached(instance, 0);
  }

  list(): Attachment[] {
    return [...this.#attachments.values()];
  }

  uses(volume: string): boolean {
    return [...this.#attachments.values()].some((attachment) => attachment.volume.name === volume);
  }

  hasInstance(volume: Volume, instance: string): boolean {
    return [...this.#attachments.values()].some((own) => own.volume === volume && own.instance === instance);
  }

  /** The volume cannot be served any more: its attachments end, and whatever is asked of them is answered so [W110]. */
  volumeEnded(volume: Volume, error: RunnelError): void {
    for (const [id, attachment] of this.#attachments) {
      if (attachment.volume !== volume) continue;
      this.#endedVolumes.set(id, error);
      attachment.end(error);
    }
  }

  /** The connection is gone. */
  lost(): void {
    for (const id of this.#attachments.keys()) this.#lost(id);
  }

  /** The link or the channel is gone; the lease goes on until it ends. */
  #lost(id: number): void {
    const attachment = this.#attachments.get(id);
    this.#attachments.delete(id);
    attachment?.volume.colleagues.left(attachment);
    if (attachment?.isCurrent === true) attachment.volume.feed.detach(attachment.holder, false);
  }

  async #remember(attachment: Attachment, request: RequestOf<"attach">, isSameEpoch: boolean): Promise<void> {
    const { volume, instance, holder } = attachment;
    // Asked for in the turn in which the feed learned of it: whoever forgets the instance as gone did so before both,
    // or does it after both.
    await volume.meta.setAttached(instance, holder.termMs);
    // A client may have missed much.
    await this.#deps.answers.take(() => greet(attachment, request, isSameEpoch));
  }
}

async function greet(attachment: Attachment, request: RequestOf<"attach">, isSameEpoch: boolean): Promise<void> {
  const { volume, right } = attachment;
  const root = await volume.meta.node(ROOT_NODE);
  if (root === undefined) throw new RunnelError("Unavailable", "attach", "The volume has no root.");
  const nodes =
    request.wantsNodes && right === "write"
      ? await volume.meta.allocateNodes(NODES_AT_ONCE, attachment.holder.nodeOwner)
      : undefined;
  const replay =
    isSameEpoch && request.follows !== undefined
      ? await replayFeed(volume, attachment, request.seq ?? 0, request.follows)
      : undefined;
  const facts: SentResultOf<"attach"> = {
    epoch: volume.epoch,
    seq: volume.seq,
    root: packState(root),
    nodes: nodes === undefined ? null : [nodes.first, nodes.count],
    isResumed: replay !== undefined,
    isReadOnly: right === "read",
    termMs: attachment.holder.termMs,
  };
  attachment.channel.send(facts);
  if (replay !== undefined) attachment.missed(replay.due);
  attachment.release(replay?.upTo ?? 0);
}
