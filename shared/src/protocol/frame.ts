// Frames: one WebSocket message each. Byte 0: kind (bit 7: payload compressed); then the channel as a varint; then the
// payload. Pure: bytes in, frames out.
import { RunnelError } from "../errors.ts";
import { LIMITS } from "../limits.ts";

/** Rule W1. Numbers are append-only. */
export const FRAME = {
  /** Opens a channel: CBOR [operation, request]. */
  open: 1,
  /** A control item of a channel: CBOR. */
  item: 2,
  /** Bytes of a channel's bulk stream. */
  bulk: 3,
  /** The sender's end of a channel: CBOR [0, result] or [1, kind, operation, message, detail]. */
  end: 4,
  /** The receiver wants no more of this channel; empty. */
  cancel: 5,
  /** More bulk bytes may be sent on this channel: varint. */
  credit: 6,
  /** Channel 0: varint, all bulk bytes received on this connection so far (paces the sender). */
  ack: 7,
  /** Opens a channel and ends the sender's side of it: a request without more items. CBOR [operation, request]. */
  call: 8,
} as const;

export type FrameKind = (typeof FRAME)[keyof typeof FRAME];

export interface Frame {
  kind: FrameKind;
  channel: number;
  /** Bytes: raw length (varint) + one zstd frame. Only for open, call, item, end. */
  isCompressed: boolean;
  payload: Uint8Array;
}

const COMPRESSED = 0x80;
const KIND_MAX = FRAME.call;
/** A varint of up to 53 bits takes at most 8 bytes. */
const VARINT_BYTES_MAX = 8;

export function encodeFrame(frame: Frame): Uint8Array {
  const head = encodeFrameHead(frame);
  const bytes = new Uint8Array(head.length + frame.payload.length);
  bytes.set(head);
  bytes.set(frame.payload, head.length);
  return bytes;
}

/** Encodes the head that stands before the payload. */
export function encodeFrameHead({ kind, channel, isCompressed }: Omit<Frame, "payload">): Uint8Array {
  const number = encodeVarint(channel);
  const head = new Uint8Array(1 + number.length);
  head[0] = kind | (isCompressed ? COMPRESSED : 0);
  head.set(number, 1);
  return head;
}

/** @throws RunnelError Invalid, naming the rule. The payload is a view of `bytes`. */
export function decodeFrame(bytes: Uint8Array): Frame {
  const head = bytes[0];
  if (head === undefined) throw malformed("is empty");
  const kind = head & ~COMPRESSED;
  if (kind < FRAME.open || kind > KIND_MAX) throw malformed(`has the unknown kind ${kind}`);
  const isCompressed = (head & COMPRESSED) !== 0;
  if (isCompressed && !mayBeCompressed(kind as FrameKind)) {
    throw malformed(`of kind ${kind} must not be compressed`);
  }
  const channel = decodeVarint(bytes, 1);
  const payload = bytes.subarray(channel.end);
  if (kind === FRAME.bulk && payload.length > LIMITS.bulkFrameBytes) throw malformed("carries too many bulk bytes");
  return { kind: kind as FrameKind, channel: channel.value, isCompressed, payload };
}

export function mayBeCompressed(kind: FrameKind): boolean {
  return kind === FRAME.open || kind === FRAME.call || kind === FRAME.item || kind === FRAME.end;
}

/** LEB128, unsigned, below 2^53. */
export function encodeVarint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  bytes.push(rest);
  return Uint8Array.from(bytes);
}

/** @throws RunnelError Invalid when it does not end within the bytes or is not below 2^53. */
export function decodeVarint(bytes: Uint8Array, at: number): { value: number; end: number } {
  let value = 0;
  let scale = 1;
  for (let index = at; index < bytes.length && index < at + VARINT_BYTES_MAX; index++) {
    const byte = bytes[index] ?? 0;
    value += (byte & 0x7f) * scale;
    if (value > Number.MAX_SAFE_INTEGER) break;
    if (byte < 0x80) return { value, end: index + 1 };
    scale *= 0x80;
  }
  throw malformed("has a bad number");
}

function malformed(what: string): RunnelError {
  return new RunnelError("Invalid", "decode frame", `A frame ${what}.`, { detail: { rule: "W1" } });
}
