// A connection: channels over one link. Control frames go first and keep their order; bulk goes in turns between
// channels, paced so that control never waits long (pacing.ts). The same class serves both ends; clients open odd
// channels, servers even ones.
import type { Clock } from "../host/clock.ts";
import type { Executor } from "../host/executor.ts";
import type { Link } from "../host/link.ts";
import { passedThrough } from "../host/small-heap.ts";
import { CLOSE_CODE_OF_KIND, CLOSE_CODE_OTHER, RunnelError } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import { Channel } from "./channel.ts";
import type { OutgoingBulk } from "./channel.ts";
import { decodeMessage, decodeRequest } from "./cbor.ts";
import { asRunnelError, decodeEnd, encodeBounded, encodeEnd } from "./end-message.ts";
import {
  FRAME,
  decodeFrame,
  decodeVarint,
  encodeFrame,
  encodeFrameHead,
  encodeVarint,
  mayBeCompressed,
} from "./frame.ts";
import type { Frame, FrameKind } from "./frame.ts";
import { HeldBytes } from "./held-bytes.ts";
import { IncomingFrames } from "./incoming-frames.ts";
import { Pacing } from "./pacing.ts";
import { Receipts } from "./receipts.ts";
import { HandshakeFrames } from "./handshake-frames.ts";

/** Operations by which a client becomes known: nothing is unfolded for it before (rules W5, W73). */
const PLAIN_OPERATIONS: ReadonlySet<string> = new Set(["hello", "join"]);
/** Control payloads above this are compressed (rule W5). */
const COMPRESS_ABOVE_BYTES = 1024;
const CONTROL_LEVEL = 3;
/** A request that is being answered takes memory, however short it is (rule W169). */
const REQUEST_BYTES = 8192;
/**
 * A client has begun so many runs at most and not sent their ends: the server keeps of each what is here (rule W51).
 */
const BEGUN_RUNS_MAX = 8;
/** A server that has more bulk to read than this acknowledges no more until it has read (rule W9). */
const READY_BULK_BYTES_MAX = 4 * 1024 * 1024;

export interface ConnectionSettings {
  link: Link;
  isClient: boolean;
  /** The other side is to authenticate itself before it costs anything (rule W73): see `admit`. */
  isUnauthenticated?: boolean;
  clock: Clock;
  executor: Executor;
  /** `bytes`: what would be held of the other side's words (W7). Left out: all. */
  mayHold?(bytes: number): boolean;
  /** Likewise of bulk that was not read. */
  mayHoldBulk?(bytes: number): boolean;
  /** The other side sends bulk in requests of this name; left out: in all (W8). */
  takesBulk?(operation: string): boolean;
  /** Left out: messages are handled as they come. */
  turns?: {
    /** Returns true when a message of so many bytes, unfolded, may be handled now. */
    tryTake(bytes: number): boolean;
    /** Resolves when it may. */
    take(bytes: number): Promise<void>;
  };
  /** The other side opened a channel. What it throws ends the channel with that error. */
  opened(channel: Channel, operation: string, request: unknown): void | Promise<void>;
  /** Called once. */
  closed(error: RunnelError): void;
}

/** Bytes of frames by what they carry, both directions; what the link adds is in its own counts. */
export interface FrameCounts {
  sentBulk: number;
  receivedBulk: number;
  sentControl: number;
  receivedControl: number;
}

export class Connection {
  readonly counts: FrameCounts = { sentBulk: 0, receivedBulk: 0, sentControl: 0, receivedControl: 0 };
  readonly link: Link;
  private readonly settings: ConnectionSettings;
  private readonly channels = new Map<number, Channel>();
  /** When requests of this side were sent of which nothing has been heard. */
  private readonly unanswered = new Map<number, number>();
  private readonly pacing = new Pacing();
  private readonly held: HeldBytes;
  private readonly heldBulk: HeldBytes;
  private readonly receipts: Receipts;
  private nextChannel: number;
  /** Ids are used once, in order: what names a channel below is about one that was, what names one above is wrong. */
  private highestTheirs = 0;
  private failure: RunnelError | undefined;
  /** Channels with bulk to send, in turn; one without credit is put in again with its credit. */
  private turn: Channel[] = [];
  /** Both directions handle control in order although (de)compression is asynchronous. */
  private outgoingControl: Promise<void> | undefined;
  private readonly incoming: IncomingFrames;
  private handshake: HandshakeFrames | undefined;
  /** When something last came from the other side, on the boot clock. */
  lastReceivedMs: number;

  constructor(settings: ConnectionSettings) {
    this.settings = settings;
    this.link = settings.link;
    this.held = new HeldBytes((bytes) => settings.mayHold?.(bytes) ?? true);
    this.heldBulk = new HeldBytes((bytes) => settings.mayHoldBulk?.(bytes) ?? true);
    this.incoming = new IncomingFrames({
      held: this.held,
      turn: async (bytes) => settings.turns?.take(bytes),
      unfold: (payload) => this.unpack(payload),
      isUnwanted: (frame) => this.failure !== undefined || this.isUnread(frame),
      handle: ({ kind, channel }, payload) => this.handle(kind, channel, payload),
      refuse: (error) => this.refuse(error),
    });
    this.receipts = new Receipts({
      clock: settings.clock,
      mayAcknowledge: () => settings.mayHoldBulk === undefined || this.readyBulkBytes <= READY_BULK_BYTES_MAX,
      say: (total) => this.transmit(FRAME.ack, 0, false, encodeVarint(total)),
    });
    this.nextChannel = settings.isClient ? 1 : 2;
    if (settings.isUnauthenticated === true) this.handshake = new HandshakeFrames((frame) => this.take(frame));
    this.lastReceivedMs = settings.clock.bootMs();
    this.link.listen({
      message: (payload) => this.receive(payload),
      closed: (code, reason) => this.ended(new RunnelError("Unreachable", "connection", closeWords(code, reason))),
    });
  }

  get isOpen(): boolean {
    return this.failure === undefined;
  }

  /** Bytes of messages that the other side has sent and nobody has handled yet (W7). */
  get heldBytes(): number {
    return this.held.bytes;
  }

  /** Bytes of bulk that the other side has sent and nobody has read. */
  get heldBulkBytes(): number {
    return this.heldBulk.bytes;
  }

  private get readyBulkBytes(): number {
    let waiting = 0;
    for (const channel of this.channels.values()) waiting += channel.awaitedBulkBytes;
    return this.heldBulk.bytes - waiting;
  }

  get roundTripMs(): number {
    return this.pacing.roundTripMs;
  }

  /** Messages of either direction wait for threads of ours to be compressed or unfolded. */
  get isBehind(): boolean {
    return this.outgoingControl !== undefined || this.incoming.isBehind;
  }

  /** Bulk of this side is on the line: what is asked now waits behind it. */
  get unacknowledgedBytes(): number {
    return this.pacing.unacknowledgedBytes;
  }

  /** Measured bulk rate towards the other side, bytes per second; 0 while unknown. */
  get ratePerSecond(): number {
    return this.pacing.ratePerSecond;
  }

  /** Opens a channel. @throws what closed the connection; Busy when too many are open. */
  open(operation: string, request: unknown): Channel {
    return this.start(FRAME.open, operation, request);
  }

  /** Opens a channel for a request with one answer, items and bulk of the other side only. */
  ask(operation: string, request: unknown): Channel {
    return this.start(FRAME.call, operation, request);
  }

  /** Asks, and waits for the result. */
  async call(operation: string, request: unknown): Promise<unknown> {
    return this.ask(operation, request).result();
  }

  private start(kind: FrameKind, operation: string, request: unknown): Channel {
    if (this.failure !== undefined) throw this.failure;
    if (this.channels.size >= LIMITS.channels) {
      throw new RunnelError("Busy", operation, "Too many requests are under way.", { detail: { retryAfterMs: 100 } });
    }
    const payload = encodeBounded([operation, request], operation);
    const channel = this.newChannel(this.nextChannel, operation);
    this.nextChannel += 2;
    this.channels.set(channel.id, channel);
    if (kind === FRAME.call) channel.endedAtOpen();
    this.unanswered.set(channel.id, this.settings.clock.bootMs());
    this.sendControl(kind, channel.id, payload, !PLAIN_OPERATIONS.has(operation));
    return channel;
  }

  private newChannel(id: number, operation: string): Channel {
    return new Channel(id, this.carrier, this.settings.takesBulk?.(operation) ?? true);
  }

  /** The other side is authenticated. What it has said beyond what made it so is handled, in order. */
  admit(): void {
    const said = this.handshake;
    this.handshake = undefined;
    try {
      said?.release();
    } catch (error) {
      this.refuse(error);
    }
  }

  close(error: RunnelError): void {
    if (this.failure !== undefined) return;
    this.ended(error);
    this.link.close(CLOSE_CODE_OF_KIND[error.kind] ?? CLOSE_CODE_OTHER, error.message.slice(0, 100));
  }

  private readonly carrier = {
    sendItem: (channel: Channel, item: unknown) =>
      this.sendControl(FRAME.item, channel.id, encodeBounded(item, "send item")),
    sendEnd: (channel: Channel, end: { result: unknown } | { error: RunnelError }) => {
      this.sendControl(FRAME.end, channel.id, encodeEnd(end));
      this.forgetIfDone(channel);
    },
    sendCancel: (channel: Channel) => {
      this.sendControl(FRAME.cancel, channel.id, NOTHING);
      this.channels.delete(channel.id);
      this.unanswered.delete(channel.id);
    },
    sendCredit: (channel: Channel, bytes: number) => this.sendControl(FRAME.credit, channel.id, encodeVarint(bytes)),
    pump: (channel: Channel) => {
      if (channel.outgoing.length > 0 && !this.turn.includes(channel)) this.turn.push(channel);
      this.pump();
    },
    ratePerSecond: () => this.pacing.ratePerSecond,
    hold: (bytes: number) => this.held.add(bytes),
    release: (bytes: number) => this.held.less(bytes),
    holdBulk: (bytes: number) => this.heldBulk.add(bytes),
    releaseBulk: (bytes: number) => this.heldBulk.less(bytes),
    refuse: (error: unknown) => this.refuse(error),
  };

  private sendControl(kind: FrameKind, channel: number, payload: Uint8Array, mayPack = mayBeCompressed(kind)): void {
    if (this.failure !== undefined) return;
    if (this.outgoingControl === undefined && (!mayPack || payload.length <= COMPRESS_ABOVE_BYTES)) {
      this.transmit(kind, channel, false, payload);
      return;
    }
    const previous = this.outgoingControl ?? Promise.resolve();
    const mine = previous
      .then(async () => {
        const packed = mayPack ? await this.pack(payload) : undefined;
        this.transmit(kind, channel, packed !== undefined, packed ?? payload);
        if (this.outgoingControl === mine) {
          this.outgoingControl = undefined;
          this.pump();
        }
      })
      .catch((error: unknown) => this.refuse(error));
    this.outgoingControl = mine;
  }

  private async pack(payload: Uint8Array): Promise<Uint8Array | undefined> {
    if (payload.length <= COMPRESS_ABOVE_BYTES) return undefined;
    const packed = await this.settings.executor.compress(payload, CONTROL_LEVEL);
    if (packed === undefined) return undefined;
    return Buffer.concat([encodeVarint(payload.length), packed]);
  }

  private transmit(kind: FrameKind, channel: number, isCompressed: boolean, payload: Uint8Array): void {
    if (this.failure !== undefined) return;
    const bytes = encodeFrame({ kind, channel, isCompressed, payload });
    this.counts.sentControl += bytes.length;
    this.link.send(bytes);
  }

  /** The bytes go to the link as they lie: most of what a program saves passes here. */
  private transmitBulk(channel: number, { bytes, gone }: OutgoingBulk): void {
    const head = encodeFrameHead({ kind: FRAME.bulk, channel, isCompressed: false });
    this.counts.sentBulk += head.length + bytes.length;
    this.link.sendParts(head, bytes, gone);
  }

  /** Sends bulk while window and credit allow, one frame of each channel in turn. */
  private pump(): void {
    if (this.failure !== undefined) return;
    // Control waiting for compression may end a channel or announce this bulk: it goes first.
    while (this.turn.length > 0 && this.pacing.mayStart && this.outgoingControl === undefined) {
      const channel = this.takeTurn();
      if (channel === undefined) return;
      const bulk = channel.takeOutgoing(this.pacing.frameBytes);
      if (bulk === undefined) continue;
      this.pacing.sent(bulk.bytes.length, this.settings.clock.bootMs());
      this.transmitBulk(channel.id, bulk);
      if (channel.outgoing.length > 0) this.turn.push(channel);
    }
  }

  /**
   * Takes the next channel: bulk that was asked for does not wait behind bulk that may be wanted. @returns undefined
   * when all of them wait for runs that are begun.
   */
  private takeTurn(): Channel | undefined {
    const maySend = this.mayBeginRun ? () => true : (channel: Channel) => channel.hasBegunRun;
    let next = this.turn.findIndex((channel) => !channel.isBackground && maySend(channel));
    if (next < 0) next = this.turn.findIndex(maySend);
    return next < 0 ? undefined : this.turn.splice(next, 1)[0];
  }

  private get mayBeginRun(): boolean {
    if (!this.settings.isClient || this.channels.size < BEGUN_RUNS_MAX) return true;
    let begun = 0;
    for (const channel of this.channels.values()) if (channel.hasBegunRun) begun++;
    return begun < BEGUN_RUNS_MAX;
  }

  private receive(message: Uint8Array): void {
    if (this.failure !== undefined) return;
    this.lastReceivedMs = this.settings.clock.bootMs();
    try {
      const frame = decodeFrame(message);
      this.measureAnswer(frame.channel);
      if (frame.kind === FRAME.bulk) this.counts.receivedBulk += message.length;
      else this.counts.receivedControl += message.length;
      if (this.handshake === undefined) this.take(frame);
      else this.handshake.put(frame);
    } catch (error) {
      this.refuse(error);
    }
  }

  private take(frame: Frame): void {
    if (this.failure !== undefined) return;
    if (frame.kind === FRAME.ack) {
      this.receiveAck(frame.channel, frame.payload);
      return;
    }
    if (frame.kind === FRAME.bulk) this.receipts.received(frame.payload.length);
    if (this.isUnread(frame)) return;
    const turns = frame.kind === FRAME.bulk ? undefined : this.settings.turns;
    const bytes = frame.isCompressed ? unfoldedBytes(frame.payload) : frame.payload.length;
    if (!this.incoming.isBehind && !frame.isCompressed && turns?.tryTake(bytes) !== false)
      this.handle(frame.kind, frame.channel, frame.payload);
    else this.incoming.put(frame, bytes);
  }

  private isUnread({ kind, channel: id }: Frame): boolean {
    if (kind !== FRAME.item && kind !== FRAME.bulk) return false;
    return this.channels.get(id)?.isUnread ?? this.hasBeen(id);
  }

  private measureAnswer(channel: number): void {
    const sentMs = this.unanswered.get(channel);
    if (sentMs === undefined) return;
    this.unanswered.delete(channel);
    this.pacing.answeredWithin(this.lastReceivedMs - sentMs, this.lastReceivedMs);
  }

  private async unpack(payload: Uint8Array): Promise<Uint8Array> {
    const { value, end } = decodeVarint(payload, 0);
    try {
      return await this.settings.executor.decompress(payload.subarray(end), value);
    } catch (cause) {
      throw new RunnelError("Invalid", "receive", "A control message is not what it was compressed from.", {
        detail: { rule: "W5" },
        cause,
      });
    }
  }

  private handle(kind: FrameKind, id: number, payload: Uint8Array): void {
    if (kind === FRAME.open || kind === FRAME.call) {
      this.receiveOpen(id, payload, kind === FRAME.call);
      return;
    }
    const channel = this.channels.get(id);
    if (channel === undefined) {
      // A frame may cross the end or the cancel of its channel: then it is old news.
      if (this.hasBeen(id)) return;
      throw new RunnelError("Invalid", "receive", `Channel ${id} was never opened.`, { detail: { rule: "W6" } });
    }
    if (kind === FRAME.item) channel.receiveItem(payload);
    else if (kind === FRAME.bulk) channel.receiveBulk(payload);
    else if (kind === FRAME.credit) channel.receiveCredit(decodeNumber(payload));
    else if (kind === FRAME.end) {
      channel.receiveEnd(decodeEnd(decodeMessage(payload)));
      this.forgetIfDone(channel);
    } else if (kind === FRAME.cancel) {
      channel.broken(new RunnelError("Interrupted", "receive", "The other side cancelled the request."));
      this.channels.delete(id);
    }
  }

  private isTheirs(id: number): boolean {
    return id % 2 === (this.settings.isClient ? 0 : 1);
  }

  private hasBeen(id: number): boolean {
    return id > 0 && (this.isTheirs(id) ? id <= this.highestTheirs : id < this.nextChannel);
  }

  private receiveOpen(id: number, payload: Uint8Array, isCall: boolean): void {
    if (!this.isTheirs(id) || id <= this.highestTheirs) {
      throw new RunnelError("Invalid", "open channel", `Channel ${id} cannot be opened by the other side.`, {
        detail: { rule: "W6" },
      });
    }
    const { message, weight } = decodeRequest(payload);
    if (!Array.isArray(message) || message.length !== 2 || typeof message[0] !== "string") {
      throw new RunnelError("Invalid", "open channel", "An opening message has the wrong form.", {
        detail: { rule: "W6" },
      });
    }
    this.highestTheirs = id;
    const channel = this.newChannel(id, message[0]);
    if (isCall) channel.receiveEnd({ result: undefined });
    if (this.channels.size >= LIMITS.channels) {
      channel.fail(
        new RunnelError("Busy", message[0], "Too many requests are under way.", { detail: { retryAfterMs: 100 } }),
      );
      return;
    }
    this.channels.set(id, channel);
    const held = weight + REQUEST_BYTES;
    this.held.add(held);
    // Decoding it left about as much behind, and it may be long until it is answered.
    passedThrough(held);
    const operation = message[0];
    this.handshake?.begun();
    Promise.resolve()
      .then(() => this.settings.opened(channel, operation, message[1]))
      .catch((error: unknown) => channel.fail(asRunnelError(error, operation)))
      .then(() => {
        this.held.less(held);
        this.handshake?.answered();
      })
      .catch((error: unknown) => this.refuse(error));
  }

  private receiveAck(channel: number, payload: Uint8Array): void {
    if (channel !== 0 || !this.pacing.acknowledged(decodeNumber(payload), this.settings.clock.bootMs())) {
      throw new RunnelError("Invalid", "receive acknowledgement", "What was acknowledged was never sent.", {
        detail: { rule: "W9" },
      });
    }
    this.pump();
  }

  private forgetIfDone(channel: Channel): void {
    if (channel.isDone) this.channels.delete(channel.id);
  }

  private refuse(error: unknown): void {
    this.close(asRunnelError(error, "receive"));
  }

  private ended(error: RunnelError): void {
    if (this.failure !== undefined) return;
    this.failure = error;
    this.receipts.end();
    this.incoming.drop();
    for (const channel of this.channels.values()) channel.broken(error);
    this.channels.clear();
    this.turn = [];
    this.settings.closed(error);
  }
}

const NOTHING = new Uint8Array(0);

/** Returns the unfolded size of a compressed payload. @throws TooLarge */
function unfoldedBytes(payload: Uint8Array): number {
  const { value } = decodeVarint(payload, 0);
  if (value <= LIMITS.controlBytes) return value;
  throw new RunnelError("TooLarge", "receive", "A control message is too large.", {
    detail: { limit: LIMITS.controlBytes, rule: "W5" },
  });
}

/** A payload that is one varint and nothing else. */
function decodeNumber(payload: Uint8Array): number {
  const { value, end } = decodeVarint(payload, 0);
  if (end === payload.length) return value;
  throw new RunnelError("Invalid", "decode frame", "A frame has bytes after its number.", { detail: { rule: "W1" } });
}

function closeWords(code: number, reason: string): string {
  if (reason !== "") return reason;
  return code === 1006 ? "The connection broke." : `The connection was closed (${code}).`;
}
