// Reading a segment from one end to the other, and telling a torn tail from damage (docs/FORMAT.md, [F6] and [F7]).
import { RunnelError } from "../errors.ts";
import type { DiskFile } from "../host/disk.ts";
import {
  RECORD_HEAD_BYTES,
  type RecordHead,
  SEGMENT_HEADER_BYTES,
  type SegmentHeader,
  decodeRecordHead,
  isPayloadWhole,
  segmentName,
  viewOf,
} from "./segment-format.ts";

const WINDOW_BYTES = 2 ** 20;

export interface ScannedRecord {
  /** Offset of the record's head. */
  offset: number;
  head: RecordHead;
  /** The visitor's own copy. */
  payload: Uint8Array;
}

export interface Scanned {
  /** Offset at which the valid records end. */
  end: number;
  /** Offset up to which the segment was synced when the last of them was written. */
  syncedTo: number;
  /** True when the last of them is a closing mark. */
  isClosed: boolean;
}

/** Bytes of a file below a limit, read ahead. */
class Window {
  readonly #file: DiskFile;
  readonly #limit: number;
  #start = 0;
  #bytes: Uint8Array = new Uint8Array(0);

  constructor(file: DiskFile, limit: number) {
    this.#file = file;
    this.#limit = limit;
  }

  /** `length` bytes from `offset` on; fewer only at the limit. The bytes are valid until the next call. */
  async take(offset: number, length: number): Promise<Uint8Array> {
    const end = Math.min(offset + length, this.#limit);
    if (end <= offset) return new Uint8Array(0);
    if (offset < this.#start || end > this.#start + this.#bytes.length) {
      this.#start = offset;
      this.#bytes = await this.#file.read(offset, Math.min(Math.max(length, WINDOW_BYTES), this.#limit - offset));
    }
    return this.#bytes.subarray(offset - this.#start, end - this.#start);
  }
}

/** Visits records up to `limit`; stops at the first that is not whole. */
export async function scanRecords(
  file: DiskFile,
  salt: number,
  limit: number,
  visit?: (record: ScannedRecord) => void | Promise<void>,
): Promise<Scanned> {
  const window = new Window(file, limit);
  const scanned: Scanned = { end: SEGMENT_HEADER_BYTES, syncedTo: SEGMENT_HEADER_BYTES, isClosed: false };
  for (;;) {
    const offset = scanned.end;
    const head = decodeRecordHead(viewOf(await window.take(offset, RECORD_HEAD_BYTES)), 0, offset, salt);
    if (head === undefined || offset + RECORD_HEAD_BYTES + head.length > limit) return scanned;
    const payload = await window.take(offset + RECORD_HEAD_BYTES, head.length);
    if (!isPayloadWhole(head, payload, salt)) return scanned;
    if (visit !== undefined && head.length > 0) await visit({ offset, head, payload: payload.slice() });
    scanned.end = offset + RECORD_HEAD_BYTES + head.length;
    scanned.syncedTo = head.syncedTo;
    scanned.isClosed = head.length === 0;
  }
}

/**
 * Returns true when the bytes from `end` on were once on stable storage: a later record's head says so. If not, nobody
 * was assured that they are safe, or they are the end of the last group before the log was left without closing it,
 * which looks the same.
 */
export async function wasSynced(file: DiskFile, salt: number, end: number, limit: number): Promise<boolean> {
  const window = new Window(file, limit);
  for (let start = end + 1; start + RECORD_HEAD_BYTES <= limit; start += WINDOW_BYTES - RECORD_HEAD_BYTES + 1) {
    const bytes = viewOf(await window.take(start, WINDOW_BYTES));
    for (let at = 0; at + RECORD_HEAD_BYTES <= bytes.byteLength; at++) {
      const head = decodeRecordHead(bytes, at, start + at, salt);
      if (head !== undefined && head.syncedTo > end) return true;
    }
  }
  return false;
}

export function damaged(segment: number, offset: number, what = "a record is not what was written"): RunnelError {
  const sentence = `The log is damaged: segment ${segmentName(segment)}, byte ${offset}: ${what}. Nothing after it was read.`;
  return new RunnelError("Corrupt", "read log", sentence);
}

/** All records of a segment whose end is known. @throws RunnelError Corrupt when one of them is not whole. */
export async function readSegment(
  file: DiskFile,
  header: SegmentHeader,
  end: number,
  visit: (record: ScannedRecord) => void | Promise<void>,
): Promise<void> {
  const scanned = await scanRecords(file, header.salt, end, visit);
  if (scanned.end !== end) throw damaged(header.segment, scanned.end);
}
