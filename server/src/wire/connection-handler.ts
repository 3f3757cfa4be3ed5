// What a client may ask on its connection: hello first, then attach, then operations on an attachment. Every request is checked here, once.
import type { Channel, Clock, Executor, Link, RequestName, RequestOf } from "@runnel/shared";
import {
  BULK_OF_CLIENT,
  Connection,
  LIMITS,
  REQUESTS,
  ROOT_NODE,
  RunnelError,
  check,
  isRunnelError,
  packState,
} from "@runnel/shared";
import type { Device } from "../auth/access-file.ts";
import { type Access, revoked } from "../auth/access.ts";
import type { FailedLogins } from "../auth/failed-logins.ts";
import type { Volume } from "../volume/volume.ts";
import { Attachment } from "./attachment.ts";
import { serveChange, serveRemoveAll } from "./change.ts";
import { serveFetch, serveGetHash } from "./fetch.ts";
import { serveFind } from "./find.ts";
import { serveFindGet } from "./find-get.ts";
import { DevicePlaces, type DeviceShare, type Sending } from "./device-share.ts";
import { AnswerTurns } from "./answer-turns.ts";
import { Introduction } from "./introduction.ts";
import { replayFeed } from "./resume.ts";
import { mustBeAllowed } from "./rights.ts";
import { serveStatus } from "./status.ts";
import { serveWrite } from "./write.ts";

export interface HandlerParts {
  link: Link;
  clock: Clock;
  executor: Executor;
  /** undefined: there is none of the name. @throws Unavailable, Busy: why it cannot be attached now. */
  volume(name: string): Volume | undefined;
  access: Access | undefined;
  failedLogins: FailedLogins;
  /** "Runnel 0.1.0" */
  software: string;
  warn(message: string, error?: unknown): void;
  /** Said of a client that was cut off; left out: as a warning. */
  cutOff?(message: string): void;
  /** It is known now whose connection it is. */
  known?(): void;
  /** Of the connection's device; left out: it is alone. */
  shareOf?(device: Device): DeviceShare;
  /** All connections of its device, this one too, and those that ended with something still under way; left out: it is alone. */
  ofDevice?(): ReadonlySet<ConnectionHandler>;
  ended(): void;
  /** Nothing that it asked for is under way any more. */
  gone?(): void;
}

/** Node ids given out at once. */
const NODES_AT_ONCE = 4096;
/** A listing pauses while more than this waits to be sent, and so does what is answered whole. */
const DRAIN_BYTES = 256 * 1024;
const DRAIN_POLL_MS = 5;
/** The latter also while more than this waits to be sent on all connections of the device. */
const DEVICE_DRAIN_BYTES = 4 * 1024 * 1024;
/** Requests with one answer, which may be as long as a control message, and which waits for nobody. */
const ANSWERED_WHOLE: ReadonlySet<RequestName> = new Set(["getHash", "stat", "xattrs", "space", "status"]);

export class ConnectionHandler {
  private readonly parts: HandlerParts;
  private readonly connection: Connection;
  private readonly attachments = new Map<number, Attachment>();
  /** Of attachments that ended since their volume could not be served any more: why. */
  private readonly endedVolumes = new Map<number, RunnelError>();
  private readonly introduction: Introduction;
  private readonly answers: AnswerTurns;
  /** Of no device that is known by name. */
  private readonly ownPlaces = new DevicePlaces();
  private draining: Promise<void> | undefined;
  /** Requests. */
  private underWay = 0;

  constructor(parts: HandlerParts) {
    this.parts = parts;
    this.introduction = new Introduction({
      ...parts,
      admitted: () => {
        parts.known?.();
        this.connection.admit();
      },
      overdue: (error) => this.close(error),
    });
    const reading = {
      isClosed: () => !this.connection.isOpen,
      isRead: () => this.isRead,
      whenRead: () => this.until(() => this.isRead),
    };
    this.answers = new AnswerTurns(reading, () => this.places.answers);
    this.connection = new Connection({
      link: parts.link,
      isClient: false,
      isStranger: true,
      clock: parts.clock,
      executor: parts.executor,
      turns: {
        mayGo: (bytes) => this.share?.turns.mayGo(bytes) ?? true,
        turn: async (bytes) => this.share?.turns.turn(bytes),
      },
      mayHold: (bytes) => this.isWithin(bytes, LIMITS.heldBytes, LIMITS.deviceHeldBytes, (each) => each.heldBytes),
      mayHoldBulk: (bytes) =>
        this.isWithin(bytes, LIMITS.heldBulkBytes, LIMITS.deviceHeldBulkBytes, (each) => each.heldBulkBytes),
      takesBulk: (operation) => BULK_OF_CLIENT.has(operation),
      opened: (channel, operation, request) => this.whileUnderWay(channel, this.opened(channel, operation, request)),
      closed: (error) => this.closed(error),
    });
  }

  close(error: RunnelError): void {
    this.connection.close(error);
  }

  /** Whose it is; undefined before that is known, and where nobody asks. */
  get deviceId(): string | undefined {
    return this.introduction.device?.id;
  }

  /** It is one of that device's, and has the volume attached. */
  uses(device: string, volume: string): boolean {
    if (this.deviceId !== device) return false;
    return [...this.attachments.values()].some((attachment) => attachment.volume.name === volume);
  }

  /** Its device has lost its access. */
  revoke(): void {
    this.close(revoked());
  }

  private closed(error: RunnelError): void {
    this.introduction.end();
    const { warn, cutOff = warn } = this.parts;
    if (isRunnelError(error, "Invalid", "TooLarge")) cutOff(`A client was cut off: ${error.message}`);
    for (const id of this.attachments.keys()) this.left(id);
    this.parts.ended();
    if (this.underWay === 0) this.parts.gone?.();
  }

  private async whileUnderWay(channel: Channel, work: Promise<void>): Promise<void> {
    this.underWay++;
    try {
      await work;
    } finally {
      channel.readNoMore();
      if (--this.underWay === 0 && !this.connection.isOpen) this.parts.gone?.();
    }
  }

  private async opened(channel: Channel, operation: string, message: unknown): Promise<void> {
    this.mustBeRead();
    if (!Object.hasOwn(REQUESTS, operation))
      throw new RunnelError("Unsupported", operation.slice(0, 50), "This server does not know the operation.");
    const name = operation as RequestName;
    const request = check(REQUESTS[name], message, name);
    if (name === "hello") {
      this.introduction.hello(channel, request as RequestOf<"hello">);
      return;
    }
    if (name === "join") return this.introduction.join(channel, request as RequestOf<"join">);
    this.introduction.mustBeKnown(name);
    if (name === "attach") await this.attach(channel, request as RequestOf<"attach">);
    else await this.serve(name, channel, request);
  }

  /** The channel stays open and carries the feed, until one side ends it. */
  private async attach(channel: Channel, request: RequestOf<"attach">): Promise<void> {
    const right = this.introduction.rightOn(request.volume);
    // Which volumes there are, and how they are, is nobody's concern who has no right on them.
    const volume = right === undefined ? undefined : this.parts.volume(request.volume);
    if (volume === undefined || right === undefined) throw this.introduction.noVolume(request.volume);
    if (this.attachments.size >= LIMITS.attachments) {
      throw new RunnelError("Busy", "attach", "This connection has too many attachments.", {
        detail: { limit: LIMITS.attachments },
      });
    }
    const instance = this.introduction.instanceOf(request.instance);
    const attachment = new Attachment(volume, channel, instance, right, this.parts.warn);
    const isSameEpoch = request.epoch === volume.epoch;
    attachment.holdBack();
    attachment.holder = volume.feed.attach(
      {
        instance,
        who: this.introduction.who,
        device: this.deviceId ?? "",
        roundTripMs: request.roundTripMs,
      },
      attachment,
      isSameEpoch ? (request.seq ?? 0) : 0,
    );
    for (const each of this.device) if (each !== this) each.makeWay(attachment);
    this.attachments.set(channel.id, attachment);
    channel.abort.signal.addEventListener("abort", () => this.left(channel.id));
    try {
      await attachment.answer(this.remember(attachment, request, isSameEpoch));
      volume.supplies.attached(instance);
      await attachment.serve();
      // The client ended the feed.
      await this.detach(channel.id);
      channel.end();
    } finally {
      this.left(channel.id);
    }
  }

  private async remember(attachment: Attachment, request: RequestOf<"attach">, isSameEpoch: boolean): Promise<void> {
    const { volume, instance, holder } = attachment;
    // Asked for in the turn in which the feed learned of it: whoever forgets the instance as gone did so before both, or does it after both.
    await volume.meta.setAttached(instance, holder.termMs);
    // What a client missed may be much.
    await this.answers.take(() => this.greet(attachment, request, isSameEpoch));
  }

  private async greet(attachment: Attachment, request: RequestOf<"attach">, isSameEpoch: boolean): Promise<void> {
    const { volume, channel, right } = attachment;
    const root = await volume.meta.node(ROOT_NODE);
    if (root === undefined) throw new RunnelError("Unavailable", "attach", "The volume has no root.");
    const nodes = request.wantsNodes && right === "write" ? await volume.meta.allocateNodes(NODES_AT_ONCE) : undefined;
    const replay =
      isSameEpoch && request.follows !== undefined
        ? await replayFeed(volume, attachment, request.seq ?? 0, request.follows)
        : undefined;
    channel.send({
      epoch: volume.epoch,
      seq: volume.seq,
      root: packState(root),
      nodes: nodes === undefined ? null : [nodes.first, nodes.count],
      isResumed: replay !== undefined,
      isReadOnly: right === "read",
      termMs: attachment.holder.termMs,
    });
    if (replay !== undefined) attachment.missed(replay.due);
    attachment.release(replay?.upTo ?? 0);
  }

  /** Its client has attached again on another connection: this one is given up there, and has nothing more to keep from the device. */
  private makeWay({ volume, instance }: Attachment): void {
    const isSame = (own: Attachment): boolean => own.volume === volume && own.instance === instance;
    if (![...this.attachments.values()].some(isSame)) return;
    this.close(new RunnelError("Busy", "attach", "The same client attached again."));
  }

  private get device(): ReadonlySet<ConnectionHandler> {
    return this.parts.ofDevice?.() ?? new Set([this]);
  }

  /** The link or the channel is gone; the lease goes on until it ends. */
  private left(id: number): void {
    const attachment = this.attachments.get(id);
    this.attachments.delete(id);
    if (attachment?.isCurrent === true) attachment.volume.feed.detach(attachment.holder, false);
  }

  /** The client leaves: it gives up its lease, and no restart waits for it. */
  private async detach(id: number): Promise<void> {
    const attachment = this.attachments.get(id);
    this.attachments.delete(id);
    if (attachment?.isCurrent !== true) return;
    const { volume, instance, holder } = attachment;
    volume.feed.detach(holder, true);
    await volume.meta.setAttached(instance, 0);
  }

  private attachment(id: number): Attachment {
    const attachment = this.attachments.get(id);
    const ended = this.endedVolumes.get(id);
    if (ended !== undefined) throw ended;
    if (attachment === undefined)
      throw new RunnelError("Invalid", "request", "The request names no attachment of this connection.", {
        detail: { rule: "W12" },
      });
    return attachment;
  }

  /** The volume cannot be served any more: its attachments end, and whatever is asked of them is answered so [W110]. */
  volumeEnded(volume: Volume, error: RunnelError): void {
    for (const [id, attachment] of this.attachments) {
      if (attachment.volume !== volume) continue;
      this.endedVolumes.set(id, error);
      attachment.end(error);
    }
  }

  private async serve(name: RequestName, channel: Channel, message: { attachment?: number } | object): Promise<void> {
    const attachment = this.attachment((message as { attachment: number }).attachment);
    // Always waited for, so that requests keep their order.
    await attachment.answered;
    const serve = (): Promise<void> => this.serveThere(attachment, name, channel, message);
    try {
      await (ANSWERED_WHOLE.has(name) ? this.answers.take(serve) : serve());
    } catch (error) {
      // What failed on the way down failed for that.
      attachment.mustBeThere();
      throw error;
    }
  }

  private async serveThere(
    attachment: Attachment,
    name: RequestName,
    channel: Channel,
    message: object,
  ): Promise<void> {
    const { volume } = attachment;
    mustBeAllowed(name, attachment.right);
    switch (name) {
      case "find":
        return serveFind({
          volume,
          holder: attachment.holder,
          request: message as RequestOf<"find">,
          channel,
          sending: this.sending,
        });
      case "findGet":
        return serveFindGet(volume, message as RequestOf<"findGet">, channel, this.sending);
      case "fetch":
        return serveFetch(volume, message as RequestOf<"fetch">, channel, this.sending);
      case "getHash":
        return serveGetHash(volume, message as RequestOf<"getHash">, channel);
      case "stat":
        return this.stat(volume, message as RequestOf<"stat">, channel);
      case "write":
        return serveWrite(attachment, message as RequestOf<"write">, channel, this.places.runs);
      case "removeAll":
        channel.end(await serveRemoveAll(attachment, message as RequestOf<"removeAll">));
        return;
      case "xattrs":
        return this.xattrs(volume, (message as RequestOf<"xattrs">).node, channel);
      case "space":
        channel.end(await volume.content.space());
        return;
      case "status":
        return serveStatus(volume, channel);
      case "whenUp":
        return this.whenUp(volume, (message as RequestOf<"whenUp">).seq, channel);
      case "newNodes": {
        const range = await volume.meta.allocateNodes(NODES_AT_ONCE);
        channel.end([range.first, range.count]);
        return;
      }
      case "detach":
        await this.detach((message as RequestOf<"detach">).attachment);
        channel.end();
        attachment.channel.end();
        return;
      default:
        channel.end(await serveChange(attachment, name, message));
    }
  }

  private async whenUp(volume: Volume, seq: number, channel: Channel): Promise<void> {
    if (seq > volume.seq)
      throw new RunnelError("Invalid", "whenUp", `There is no change ${seq} yet.`, { detail: { asOf: volume.seq } });
    const { signal } = channel.abort;
    const aborted = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => aborted.resolve(), { once: true });
    if (!signal.aborted) await Promise.race([volume.content.whenApplied(seq), aborted.promise]);
    channel.end();
  }

  private async xattrs(volume: Volume, node: number, channel: Channel): Promise<void> {
    const state = await volume.meta.node(node);
    if (state === undefined)
      throw new RunnelError("NotFound", "xattrs", "This file or folder is gone.", { detail: { asOf: volume.seq } });
    channel.end({ seq: state.xattrSeq ?? 0, xattrs: await volume.meta.xattrs(node) });
  }

  private async stat(volume: Volume, request: RequestOf<"stat">, channel: Channel): Promise<void> {
    const asOf = volume.seq;
    const nodes = await volume.meta.nodes(request.nodes);
    const names = await Promise.all(request.names.map(([folder, name]) => volume.meta.lookup(folder, name)));
    const pack = (states: typeof nodes): (unknown[] | null)[] =>
      states.map((state) => (state === undefined ? null : packState(state)));
    channel.end({ asOf, nodes: pack(nodes), names: pack(names) });
  }

  /** Answers to a client that asks on without reading them are not kept for ever. */
  private mustBeRead(): void {
    const { unreadBytes, deviceUnreadBytes } = LIMITS;
    if (this.isWithin(this.unreadBytes, unreadBytes, deviceUnreadBytes, (each) => each.unreadBytes)) return;
    const detail = { limit: LIMITS.unreadBytes, rule: "W163" };
    const error = new RunnelError("TooLarge", "answer", "The client asks on and does not read the answers.", {
      detail,
    });
    this.close(error);
    throw error;
  }

  private get heldBytes(): number {
    return this.connection.heldBytes;
  }

  private get heldBulkBytes(): number {
    return this.connection.heldBulkBytes;
  }

  /** Bulk is sent as it is acknowledged. */
  private get unreadBytes(): number {
    return this.waitingBytes - this.connection.unacknowledgedBytes;
  }

  /** To be sent. */
  private get waitingBytes(): number {
    return this.connection.isOpen ? this.connection.link.bufferedBytes : 0;
  }

  /** A connection has its share of what its device has; one that uses little of it is let be whatever the others do. */
  private isWithin(
    bytes: number,
    most: number,
    mostOfDevice: number,
    ofEach: (handler: ConnectionHandler) => number,
  ): boolean {
    if (bytes > most) return false;
    const { device } = this;
    // Those that have ended with something under way may be any number.
    if (bytes * LIMITS.deviceConnections <= mostOfDevice && device.size <= LIMITS.deviceConnections) return true;
    let all = 0;
    for (const each of device) all += ofEach(each);
    return all <= mostOfDevice;
  }

  private get share(): DeviceShare | undefined {
    const { device } = this.introduction;
    return device === undefined ? undefined : this.parts.shareOf?.(device);
  }

  private get places(): DevicePlaces {
    return this.share?.places ?? this.ownPlaces;
  }

  private get sending(): Sending {
    const { places, answers } = this;
    return {
      connection: this,
      places,
      drained: () => this.drained(),
      inTurn: (answer) => answers.take(answer),
    };
  }

  private get isDrained(): boolean {
    return !this.connection.isOpen || this.connection.link.bufferedBytes <= DRAIN_BYTES;
  }

  private async drained(): Promise<void> {
    if (this.isDrained) return;
    this.draining ??= this.until(() => this.isDrained).finally(() => (this.draining = undefined));
    await this.draining;
  }

  /** What was answered before has been sent, as far as memory goes. */
  private get isRead(): boolean {
    if (!this.connection.isOpen) return true;
    return this.isWithin(this.waitingBytes, DRAIN_BYTES, DEVICE_DRAIN_BYTES, (each) => each.waitingBytes);
  }

  private async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      await new Promise<void>((resolve) => {
        this.parts.clock.after(DRAIN_POLL_MS, resolve);
      });
    }
  }
}
