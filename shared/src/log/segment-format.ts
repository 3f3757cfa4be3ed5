// The bytes of a log segment (docs/FORMAT.md, "The log"). Pure: bytes to headers and back.
import { crc32 } from "node:zlib";
import { RunnelError } from "../errors.ts";

/** Identity of a log, and the version of what its records mean. */
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
  /** Length of the payload; 0 is a closing mark. */
  length: number;
  /** All bytes of the segment before this offset were on stable storage when the record was written. */
  syncedTo: number;
  payloadCheck: number;
}

export const SEGMENT_HEADER_BYTES = 32;
export const RECORD_HEAD_BYTES = 16;
/** Larger than a record of a file with the most descriptors a recipe may have. */
export const RECORD_BYTES_MAX = 256 * 2 ** 20;

/** Stands in place of a distance that 32 bits cannot hold: no byte is known to be synced. */
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
 * [F2] and [F3]; undefined when it is damaged. Magic and version stand first in every version of the format, so a newer
 * one is told by name whatever else changed. @throws RunnelError Version.
 */
export function decodeSegmentHeader(bytes: Uint8Array, format: LogFormat): SegmentHeader | undefined {
  if (bytes.length < SEGMENT_HEADER_BYTES) return undefined;
  const view = viewOf(bytes);
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

/**
 * [F4]: length u32, distance back to the synced offset u32, check of the payload u32, check of the head u32; then the
 * payload.
 */
export function encodeRecord(
  into: Uint8Array,
  at: number,
  offset: number,
  salt: number,
  syncedTo: number,
  payload: Uint8Array,
): void {
  const view = viewOf(into);
  view.setUint32(at, payload.length, true);
  view.setUint32(at + 4, Math.min(offset - syncedTo, DISTANCE_UNKNOWN), true);
  view.setUint32(at + 8, crc32(payload, salt), true);
  view.setUint32(at + 12, headCheck(view, at, offset, salt), true);
  into.set(payload, at + RECORD_HEAD_BYTES);
}

/**
 * Decodes the head of the record at `at`, which is where in `bytes` the segment's `offset` lies. @returns undefined
 * when no record begins here.
 */
export function decodeRecordHead(bytes: DataView, at: number, offset: number, salt: number): RecordHead | undefined {
  if (at + RECORD_HEAD_BYTES > bytes.byteLength) return undefined;
  // Cheap first: the search after damage tries every byte.
  const length = bytes.getUint32(at, true);
  if (length > RECORD_BYTES_MAX) return undefined;
  const distance = bytes.getUint32(at + 4, true);
  if (distance > offset - SEGMENT_HEADER_BYTES && distance !== DISTANCE_UNKNOWN) return undefined;
  const check = bytes.getUint32(at + 12, true);
  if (check === 0 || check !== headCheck(bytes, at, offset, salt)) return undefined;
  const syncedTo = distance === DISTANCE_UNKNOWN ? SEGMENT_HEADER_BYTES : offset - distance;
  return { length, syncedTo, payloadCheck: bytes.getUint32(at + 8, true) };
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function isPayloadWhole(head: RecordHead, payload: Uint8Array, salt: number): boolean {
  return payload.length === head.length && crc32(payload, salt) === head.payloadCheck;
}

/** [F5]: CRC-32 of the offset (u64) and the head's first 12 bytes, begun with the salt; 0 is written as 1. */
function headCheck(bytes: DataView, at: number, offset: number, salt: number): number {
  CHECKED.setUint32(0, offset % 2 ** 32, true);
  CHECKED.setUint32(4, Math.floor(offset / 2 ** 32), true);
  for (let word = 0; word < 12; word += 4) CHECKED.setUint32(8 + word, bytes.getUint32(at + word, true), true);
  const check = crc32(CHECKED_BYTES, salt);
  return check === 0 ? 1 : check;
}

/** Bytes that a head check covers; filled anew each time, because the search after damage may ask millions of times. */
const CHECKED = new DataView(new ArrayBuffer(20));
/** The same as bytes: in a hot loop Node 24.21's crc32 was seen to refuse a DataView as being none. */
const CHECKED_BYTES = new Uint8Array(CHECKED.buffer);
