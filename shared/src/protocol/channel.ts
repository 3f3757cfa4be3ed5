// Channel of a connection: control items in order, a bulk byte stream beside them, an end of each side (ZX: every call
// is a stream). The connection moves the frames; this file keeps what is waiting to be read and written on one channel.
import { RunnelError } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import { decodeMessage } from "./cbor.ts";
import { WAITING_BYTES } from "./held-bytes.ts";

/** Services that a channel needs of its connection. */
export interface ChannelCarrier {
  sendItem(channel: Channel, item: unknown): void;
  sendEnd(channel: Channel, end: { result: unknown } | { error: RunnelError }): void;
  sendCancel(channel: Channel): void;
  sendCredit(channel: Channel, bytes: number): void;
  /** Sends bulk, also of this channel where it has some in `outgoing`, as far as it may be sent. */
  pump(channel: Channel): void;
  ratePerSecond(): number;
  /** Counts so many more bytes as kept until somebody reads them. @throws TooLarge */
  hold(bytes: number): void;
  release(bytes: number): void;
  /** Bulk likewise. @throws TooLarge */
  holdBulk(bytes: number): void;
  releaseBulk(bytes: number): void;
  /** Ends the connection, because malformed bytes came. */
  refuse(error: unknown): void;
}

/** Credit is given back when this much has been read, so that a long stream never stalls for a round trip. */
const CREDIT_STEP_BYTES = LIMITS.channelCreditBytes / 4;

const SMALL_BYTES = 1024;
const GATHERED_BYTES_MAX = LIMITS.bulkFrameBytes;
const NOTHING = new Uint8Array(0);
/** Factor: bytes are copied when the memory that they lie in is more than so many times as large. */
const ALONE_FROM = 2;

interface Waiter<T> {
  resolve(value: T): void;
  reject(error: RunnelError): void;
}

/** A frame's worth of bulk; `gone` is called when the link needs the bytes no more. */
export interface OutgoingBulk {
  bytes: Uint8Array;
  gone(): void;
}

export class Channel {
  readonly id: number;
  private readonly carrier: ChannelCarrier;
  /** The other side may send bulk here. */
  private readonly takesBulk: boolean;

  /** Items as they came: most are larger once they are decoded. */
  private items: Uint8Array[] = [];
  private itemWaiter: Waiter<unknown> | undefined;
  private listener: ((item: unknown) => void) | undefined;
  private bulk: Uint8Array[] = [];
  private bulkBytes = 0;
  /** Memory that the last piece of `bulk` may be a part of. */
  private gathered: Uint8Array = NOTHING;
  private bulkWaiter: { bytes: number; waiter: Waiter<void> } | undefined;
  private readUncredited = 0;

  /** Set when the other side ended. */
  private remoteEnd: { result: unknown } | { error: RunnelError } | undefined;
  private resultWaiters: Waiter<unknown>[] = [];
  private hasEnded = false;
  /** This side's end, or its cancel, is on its way: no bulk is left before it. */
  private hasSaidEnd = false;
  /** Error that this side failed the channel with: frames that still come are dropped unread. */
  private failure: RunnelError | undefined;
  private isRead = true;

  /** Bulk not yet sent; the connection takes from the front. */
  readonly outgoing: { bytes: Uint8Array; sent: number; done: Waiter<void> }[] = [];
  /** Waiters for bulk that the link has been given whole and still needs. */
  private readonly leaving = new Set<Waiter<void>>();
  /** Bytes of bulk the other side still takes. */
  creditBytes: number = LIMITS.channelCreditBytes;
  /** Sends bulk of this channel only while no other channel has any. */
  isBackground = false;
  private endAfterBulk: { result: unknown } | { error: RunnelError } | undefined;

  /** Called when the other side cancels or the connection breaks: whoever works for this channel may stop. */
  readonly abort = new AbortController();

  constructor(id: number, carrier: ChannelCarrier, takesBulk = true) {
    this.id = id;
    this.carrier = carrier;
    this.takesBulk = takesBulk;
  }

  /** Measured bulk rate of its connection towards the other side, bytes per second; 0 while unknown. */
  get ratePerSecond(): number {
    return this.carrier.ratePerSecond();
  }

  /** Queues a control item; items of a connection keep their order. */
  send(item: unknown): void {
    if (!this.hasEnded) this.carrier.sendItem(this, item);
  }

  /** Sends bytes on the bulk stream; they are the caller's again when it resolves. @throws what ended the channel. */
  sendBulk(bytes: Uint8Array): Promise<void> {
    if (this.hasEnded) return Promise.reject(this.closedError());
    if (bytes.length === 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.outgoing.push({ bytes, sent: 0, done: { resolve, reject } });
      this.carrier.pump(this);
    });
  }

  /** Ends this side, after the bulk queued before. */
  end(result?: unknown): void {
    this.finish({ result });
  }

  /** Ends this side with an error. Nothing more is read here: whoever waits gets the error, what comes is dropped. */
  fail(error: RunnelError): void {
    if (this.hasEnded) return;
    this.failure = error;
    this.readNoMore();
    this.rejectWaiters(error);
    this.finish({ error });
  }

  /** Tells the other side that nothing of this channel is wanted any more, and ends it here. */
  cancel(): void {
    if (this.isDone) return;
    this.hasEnded = true;
    this.hasSaidEnd = true;
    this.carrier.sendCancel(this);
    this.broken(new RunnelError("Interrupted", "cancel", "The request was cancelled."));
  }

  /**
   * The next control item, or undefined after the other side's end. One reader at a time. @throws the error it ended
   * with.
   */
  async next(): Promise<unknown> {
    if (this.itemWaiter !== undefined) throw new Error("next() is called while another call waits");
    if (this.failure !== undefined) throw this.failure;
    const item = this.items.shift();
    if (item !== undefined) return this.taken(item);
    if (this.remoteEnd !== undefined) {
      if ("error" in this.remoteEnd) throw this.remoteEnd.error;
      return undefined;
    }
    return new Promise((resolve, reject) => {
      this.itemWaiter = { resolve, reject };
    });
  }

  /**
   * Items go to `take` as they come, instead of through next(): what it does is done before anybody hears what was said
   * later on the connection. It must not throw.
   */
  listen(take: (item: unknown) => void): void {
    for (const item of this.items.splice(0)) take(this.taken(item));
    this.listener = take;
  }

  /**
   * Resolves when so many bytes of the bulk stream are here. One reader at a time. @throws Invalid when the other side
   * ended before.
   */
  async bulkHere(length: number): Promise<void> {
    if (this.bulkWaiter !== undefined) throw new Error("bulkHere() is called while another call waits");
    if (this.failure !== undefined) throw this.failure;
    if (length > LIMITS.channelCreditBytes)
      throw new RunnelError("TooLarge", "read bulk", `A run of ${length} bytes is too large.`);
    if (this.bulkBytes >= length) return;
    if (this.remoteEnd !== undefined) throw "error" in this.remoteEnd ? this.remoteEnd.error : this.shortError();
    // Without what was read and not given back the rest may not fit into the credit: neither side would move.
    if (this.readUncredited > 0 && length + this.readUncredited > LIMITS.channelCreditBytes) this.giveCredit();
    await new Promise<void>((resolve, reject) => {
      this.bulkWaiter = { bytes: length, waiter: { resolve, reject } };
    });
  }

  /**
   * Exactly `length` bytes of the bulk stream; `memory` is asked for room for them once they are here. @throws as
   * bulkHere.
   */
  async readBulk(length: number, memory: (length: number) => Uint8Array = freshBytes): Promise<Uint8Array> {
    await this.bulkHere(length);
    if (this.failure !== undefined) throw this.failure;
    return this.takeBulk(memory(length));
  }

  /** Bytes of bulk that are here and cannot be read before more has come. */
  get awaitedBulkBytes(): number {
    return this.bulkWaiter === undefined ? 0 : this.bulkBytes;
  }

  /** The first of what is being sent is on its way in part. */
  get hasBegunRun(): boolean {
    return (this.outgoing[0]?.sent ?? 0) > 0;
  }

  /** The result the other side ends with; items still waiting stay readable. @throws its error. */
  async result(): Promise<unknown> {
    if (this.remoteEnd !== undefined) {
      if ("error" in this.remoteEnd) throw this.remoteEnd.error;
      return this.remoteEnd.result;
    }
    return new Promise((resolve, reject) => {
      this.resultWaiters.push({ resolve, reject });
    });
  }

  /** Stops reading: frames that still come are dropped, not even unfolded. */
  readNoMore(): void {
    this.isRead = false;
    this.carrier.release(this.items.reduce((sum, { length }) => sum + length + WAITING_BYTES, 0));
    this.carrier.releaseBulk(this.bulkBytes);
    this.items = [];
    this.bulk = [];
    this.bulkBytes = 0;
  }

  get isUnread(): boolean {
    return !this.isRead;
  }

  /** Both sides have ended, and all of this side is on its way. */
  get isDone(): boolean {
    return this.hasSaidEnd && this.remoteEnd !== undefined;
  }

  // --- what the connection calls ---

  /** The opening frame ended this side as well. */
  endedAtOpen(): void {
    this.hasEnded = true;
    this.hasSaidEnd = true;
  }

  receiveItem(payload: Uint8Array): void {
    this.mustNotHaveEnded();
    if (this.failure !== undefined) return;
    if (this.listener !== undefined) {
      this.listener(decodeMessage(payload));
      return;
    }
    if (this.itemWaiter !== undefined) {
      const item = decodeMessage(payload);
      const waiter = this.itemWaiter;
      this.itemWaiter = undefined;
      waiter.resolve(item);
      return;
    }
    if (this.items.length >= LIMITS.channelItems) {
      throw new RunnelError("TooLarge", "receive item", "Too many items wait on a channel.", {
        detail: { limit: LIMITS.channelItems, rule: "W7" },
      });
    }
    this.carrier.hold(payload.length + WAITING_BYTES);
    this.items.push(alone(payload));
  }

  private taken(payload: Uint8Array): unknown {
    this.carrier.release(payload.length + WAITING_BYTES);
    try {
      return decodeMessage(payload);
    } catch (error) {
      this.carrier.refuse(error);
      throw error;
    }
  }

  receiveBulk(bytes: Uint8Array): void {
    this.mustNotHaveEnded();
    if (this.failure !== undefined) return;
    if (!this.takesBulk) {
      throw new RunnelError("Invalid", "receive bulk", "Bulk came where none is read.", { detail: { rule: "W8" } });
    }
    if (this.bulkBytes + this.readUncredited + bytes.length > LIMITS.channelCreditBytes) {
      throw new RunnelError("TooLarge", "receive bulk", "More bulk came than credit was given for.", {
        detail: { rule: "W8" },
      });
    }
    this.carrier.holdBulk(bytes.length);
    this.keep(bytes);
    this.bulkBytes += bytes.length;
    if (this.bulkWaiter !== undefined && this.bulkBytes >= this.bulkWaiter.bytes) {
      const { waiter } = this.bulkWaiter;
      this.bulkWaiter = undefined;
      waiter.resolve();
    }
  }

  /**
   * Small frames are put together: each would keep the message that it came in, and a peer may send its credit byte by
   * byte.
   */
  private keep(bytes: Uint8Array): void {
    const last = this.bulk.at(-1);
    const length = (last?.length ?? 0) + bytes.length;
    if (last === undefined || bytes.length > SMALL_BYTES || length > GATHERED_BYTES_MAX) {
      if (bytes.length > 0) this.bulk.push(alone(bytes));
      return;
    }
    const { gathered } = this;
    let at = last.byteOffset;
    if (last.buffer === gathered.buffer && at + length <= gathered.length) gathered.set(bytes, at + last.length);
    else {
      this.gathered = new Uint8Array(Math.min(2 * length, GATHERED_BYTES_MAX));
      this.gathered.set(last);
      this.gathered.set(bytes, last.length);
      at = 0;
    }
    this.bulk[this.bulk.length - 1] = this.gathered.subarray(at, at + length);
  }

  receiveEnd(end: { result: unknown } | { error: RunnelError }): void {
    this.mustNotHaveEnded();
    this.remoteEnd = end;
    if ("result" in end) {
      this.itemWaiter?.resolve(undefined);
      this.itemWaiter = undefined;
    }
    if ("error" in end) this.rejectWaiters(end.error);
    else if (this.bulkWaiter !== undefined) this.rejectWaiters(this.shortError());
    for (const waiter of this.resultWaiters.splice(0)) {
      if ("error" in end) waiter.reject(end.error);
      else waiter.resolve(end.result);
    }
  }

  receiveCredit(bytes: number): void {
    this.creditBytes += bytes;
    if (this.creditBytes > LIMITS.channelCreditBytes) {
      throw new RunnelError("Invalid", "receive credit", "More credit was given back than bytes were sent.", {
        detail: { rule: "W8" },
      });
    }
    this.carrier.pump(this);
  }

  /** The link broke or the other side cancelled: everything that waits fails with `error`. */
  broken(error: RunnelError): void {
    this.hasEnded = true;
    this.hasSaidEnd = true;
    this.endAfterBulk = undefined;
    if (this.remoteEnd === undefined) this.receiveEnd({ error });
    this.dropOutgoing(error);
    this.abort.abort(error);
  }

  /** Takes the next bulk frame to send, of at most `limit` bytes; undefined when nothing can go. */
  takeOutgoing(limit: number): OutgoingBulk | undefined {
    const first = this.outgoing[0];
    if (first === undefined || this.creditBytes === 0) return undefined;
    const length = Math.min(limit, first.bytes.length - first.sent, this.creditBytes);
    const bytes = first.bytes.subarray(first.sent, first.sent + length);
    first.sent += length;
    this.creditBytes -= length;
    const isLast = first.sent === first.bytes.length;
    if (isLast) {
      this.outgoing.shift();
      this.leaving.add(first.done);
    }
    if (this.outgoing.length === 0 && this.endAfterBulk !== undefined) {
      const end = this.endAfterBulk;
      this.endAfterBulk = undefined;
      // After this frame has gone.
      queueMicrotask(() => this.sayEnd(end));
    }
    const gone = (): void => {
      if (isLast && this.leaving.delete(first.done)) first.done.resolve();
    };
    return { bytes, gone };
  }

  private dropOutgoing(error: RunnelError): void {
    for (const { done } of this.outgoing.splice(0)) done.reject(error);
    for (const done of this.leaving) done.reject(error);
    this.leaving.clear();
    // Others may have waited for a run of this one to end.
    this.carrier.pump(this);
  }

  private finish(end: { result: unknown } | { error: RunnelError }): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    if ("error" in end) this.dropOutgoing(end.error);
    if (this.outgoing.length > 0) this.endAfterBulk = end;
    else this.sayEnd(end);
  }

  private sayEnd(end: { result: unknown } | { error: RunnelError }): void {
    if (this.hasSaidEnd) return;
    this.hasSaidEnd = true;
    this.carrier.sendEnd(this, end);
  }

  private mustNotHaveEnded(): void {
    if (this.remoteEnd === undefined) return;
    throw new RunnelError("Invalid", "receive", "Something came after the end of a channel.", {
      detail: { rule: "W6" },
    });
  }

  private rejectWaiters(error: RunnelError): void {
    const { itemWaiter, bulkWaiter } = this;
    this.itemWaiter = undefined;
    this.bulkWaiter = undefined;
    itemWaiter?.reject(error);
    bulkWaiter?.waiter.reject(error);
  }

  private giveCredit(): void {
    this.carrier.sendCredit(this, this.readUncredited);
    this.readUncredited = 0;
  }

  private takeBulk(out: Uint8Array): Uint8Array {
    const { length } = out;
    let at = 0;
    while (at < length) {
      const first = this.bulk[0];
      if (first === undefined) throw this.shortError();
      const part = Math.min(first.length, length - at);
      out.set(first.subarray(0, part), at);
      at += part;
      if (part === first.length) this.bulk.shift();
      else this.bulk[0] = first.subarray(part);
    }
    this.bulkBytes -= length;
    this.carrier.releaseBulk(length);
    this.readUncredited += length;
    if (this.readUncredited >= CREDIT_STEP_BYTES && this.remoteEnd === undefined) this.giveCredit();
    return out;
  }

  private shortError(): RunnelError {
    return new RunnelError("Invalid", "read bulk", "The bulk stream ended too early.", { detail: { rule: "W8" } });
  }

  private closedError(): RunnelError {
    if (this.remoteEnd !== undefined && "error" in this.remoteEnd) return this.remoteEnd.error;
    return new RunnelError("Interrupted", "send", "The channel has ended.");
  }
}

/** Copies small bytes, so that they do not keep the memory of all that came with them. */
function alone(bytes: Uint8Array): Uint8Array {
  return bytes.buffer.byteLength > ALONE_FROM * bytes.length ? new Uint8Array(bytes) : bytes;
}

function freshBytes(length: number): Uint8Array {
  return new Uint8Array(length);
}
