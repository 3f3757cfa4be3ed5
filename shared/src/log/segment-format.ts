// The bytes of a log segment (docs/FORMAT.md, "The log"). Pure: bytes to headers and back.
import { crc32 } from "node:zlib";
import { RunnelError } from "../errors.ts";

/** Which log it is, and the version of what its records mean. */
export interface LogFormat {
  /** Four ASCII characters. */
  magic: string;
  /** From 1. */
  version: number;
}

export interface SegmentHeader {
  version: number;
  segment: number;
  /** Length of the segment before this one; 0 when there was none. */
  previousBytes: number;
  /** Goes into every record's check, so that bytes that only look like records of this segment are none. */
  salt: number;
}

export interface RecordHead {
  /** Of the payload; 0 is a closing mark. */
  length: number;
  /** All bytes of the segment before this offset were on stable storage when the record was written. */
  syncedTo: number;
  payloadCheck: number;
}

export const SEGMENT_HEADER_BYTES = 32;
export const RECORD_HEAD_BYTES = 16;
/** Larger than a record of a file with the most descriptors a recipe may have. */
export const RECORD_BYTES_MAX = 256 * 2 ** 20;

/** In place of a distance that 32 bits cannot hold: no byte is known to be synced. */
const DISTANCE_UNKNOWN = 0xffff_ffff;
const NAME = /^(\d{10})\.log$/;

export function segmentName(segment: number): string {
  return `${String(segment).padStart(10, "0")}.log`;
}

/** [F1]. undefined: not a segment's name. */
export function segmentOfName(name: string): number | undefined {
  const digits = NAME.exec(name)?.[1];
  return digits === undefined || Number(digits) === 0 ? undefined : Number(digits);
}

/** [F2]: magic, version u32, segment u64, previous length u64, salt u32, CRC-32 of all before; little-endian. */
export function encodeSegmentHeader(magic: string, header: SegmentHeader): Uint8Array {
  const bytes = new Uint8Array(SEGMENT_HEADER_BYTES);
  const view = new DataView(bytes.buffer);
  bytes.set(Buffer.from(magic, "latin1"));
  view.setUint32(4, header.version, true);
  view.setBigUint64(8, BigInt(header.segment), true);
  view.setBigUint64(16, BigInt(header.previousBytes), true);
  view.setUint32(24, header.salt, true);
  view.setUint32(28, crc32(bytes.subarray(0, 28)), true);
  return bytes;
}

/**
 * [F2] and [F3]; undefined when it is damaged. Magic and version stand first in every version of the format, so a newer one is
 * told by name whatever else changed. @throws RunnelError Version.
 */
export function decodeSegmentHeader(bytes: Uint8Array, format: LogFormat): SegmentHeader | undefined {
  if (bytes.length < SEGMENT_HEADER_BYTES) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (Buffer.from(bytes.subarray(0, 4)).toString("latin1") !== format.magic) return undefined;
  const version = view.getUint32(4, true);
  if (version > format.version) {
    const sentence = `This log was written by a newer Runnel (format ${version}; this one reads up to ${format.version}): update Runnel.`;
    throw new RunnelError("Version", "open log", sentence, { detail: { need: version } });
  }
  if (view.getUint32(28, true) !== crc32(bytes.subarray(0, 28)) || version === 0) return undefined;
  return {
    version,
    segment: Number(view.getBigUint64(8, true)),
    previousBytes: Number(view.getBigUint64(16, true)),
    salt: view.getUint32(24, true),
  };
}

/** [F4]: length u32, distance back to the synced offset u32, check of the payload u32, check of the head u32; then the payload. */
export function encodeRecord(into: Uint8Array, at: number, offset: number, salt: number, syncedTo: number, payload: Uint8Array): void {
  const view = new DataView(into.buffer, into.byteOffset + at, RECORD_HEAD_BYTES);
  view.setUint32(0, payload.length, true);
  view.setUint32(4, Math.min(offset - syncedTo, DISTANCE_UNKNOWN), true);
  view.setUint32(8, crc32(payload, salt), true);
  view.setUint32(12, headCheck(view, offset, salt), true);
  into.set(payload, at + RECORD_HEAD_BYTES);
}

/** undefined: no record begins here. `at` is where in `bytes` the segment's `offset` lies. */
export function decodeRecordHead(bytes: Uint8Array, at: number, offset: number, salt: number): RecordHead | undefined {
  if (at + RECORD_HEAD_BYTES > bytes.length) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, RECORD_HEAD_BYTES);
  const [length, distance, check] = [view.getUint32(0, true), view.getUint32(4, true), view.getUint32(12, true)];
  // Cheap first: the search after damage tries every byte.
  if (check === 0 || length > RECORD_BYTES_MAX) return undefined;
  if (distance > offset - SEGMENT_HEADER_BYTES && distance !== DISTANCE_UNKNOWN) return undefined;
  if (check !== headCheck(view, offset, salt)) return undefined;
  const syncedTo = distance === DISTANCE_UNKNOWN ? SEGMENT_HEADER_BYTES : offset - distance;
  return { length, syncedTo, payloadCheck: view.getUint32(8, true) };
}

export function isPayloadWhole(head: RecordHead, payload: Uint8Array, salt: number): boolean {
  return payload.length === head.length && crc32(payload, salt) === head.payloadCheck;
}

/** [F5]: CRC-32 of the first 12 bytes, begun with that of the offset (u64), begun with the salt; 0 is written as 1. */
function headCheck(head: DataView, offset: number, salt: number): number {
  const place = new DataView(new ArrayBuffer(8));
  place.setBigUint64(0, BigInt(offset), true);
  const check = crc32(new Uint8Array(head.buffer, head.byteOffset, 12), crc32(place, salt));
  return check === 0 ? 1 : check;
}
