// The log over segment files. Writes are done one after another, each carrying all appends that came meanwhile; syncs
// run beside them, one at a time, each covering what was written before it began.
import { RunnelError, fromSystemError } from "../errors.ts";
import type { DiskRoot } from "../host/disk.ts";
import type { Log, LogRecord, RecordPlace } from "./log.ts";
import { type Segment, SegmentFiles } from "./segment-files.ts";
import {
  type LogFormat,
  RECORD_BYTES_MAX,
  RECORD_HEAD_BYTES,
  SEGMENT_HEADER_BYTES,
  encodeRecord,
  segmentName,
} from "./segment-format.ts";
import { createSegment, pathIn, removeSegment } from "./segment-lifecycle.ts";
import { damaged, readSegment } from "./segment-scan.ts";
import { WrittenTail } from "./written-tail.ts";

/** Appends that wait are written together up to this size. */
const BATCH_BYTES = 8 * 2 ** 20;

interface Appending {
  payloads: readonly Uint8Array[];
  resolve: (written: { places: RecordPlace[]; writtenTo: number }) => void;
  reject: (error: RunnelError) => void;
}

interface Batch {
  appendings: Appending[];
  bytes: number;
}

export interface LogStore {
  root: DiskRoot;
  folder: string;
  format: LogFormat;
}

export class SegmentedLog implements Log {
  readonly #store: LogStore;
  readonly #files: SegmentFiles;
  #current: Segment;
  /** Offset in the current segment up to which it is on stable storage. */
  #syncedTo: number;
  /** Bytes written and synced in this life of the log, over all segments. */
  #written = 0;
  #durable = 0;
  #endsWithMark: boolean;
  readonly #tail = new WrittenTail();
  #batch: Batch | undefined;
  /** Writes, rotations and the close run one after another. */
  #queue: Promise<unknown> = Promise.resolve();
  #syncing: Promise<void> | undefined;
  #dropping: Promise<unknown> = Promise.resolve();
  /** Segments that can no longer be read and whose files are still there, oldest first. */
  readonly #removable: number[] = [];
  #failure: RunnelError | undefined;
  #closing: Promise<void> | undefined;

  /** The current segment is the last of `files`, synced to its end. */
  constructor(store: LogStore, files: SegmentFiles, current: Segment, endsWithMark: boolean) {
    this.#store = store;
    this.#files = files;
    this.#current = current;
    this.#syncedTo = current.sizeBytes;
    this.#endsWithMark = endsWithMark;
  }

  get current(): { segment: number; sizeBytes: number } {
    return { segment: this.#current.header.segment, sizeBytes: this.#current.sizeBytes };
  }

  async append(payloads: readonly Uint8Array[]): Promise<RecordPlace[]> {
    const { places, writtenTo } = await this.#enqueue("append", payloads);
    await this.#syncUpTo(writtenTo);
    return places;
  }

  async write(payloads: readonly Uint8Array[]): Promise<RecordPlace[]> {
    return (await this.#enqueue("write", payloads)).places;
  }

  async sync(): Promise<void> {
    this.#assertUsable("sync");
    await this.#inTurn(() => Promise.resolve());
    await this.#syncUpTo(this.#written);
  }

  async read(place: RecordPlace, offset: number, length: number): Promise<Uint8Array> {
    this.#assertOpen("read");
    if (offset < 0 || length < 0 || offset + length > place.length)
      throw new RangeError("A read must lie within its record.");
    const written = this.#tail.read(place.segment, place.offset + offset, length);
    return (
      written ??
      this.#files.use(place.segment, async ({ file }) => {
        const bytes = await file.read(place.offset + offset, length);
        if (bytes.length !== length) throw damaged(place.segment, place.offset, "the file has become shorter");
        return bytes;
      })
    );
  }

  async replay(visit: (record: LogRecord) => void | Promise<void>): Promise<void> {
    this.#assertOpen("replay");
    const { segment: last, sizeBytes } = this.current;
    for (const number of this.#files.numbers.filter((segment) => segment <= last)) {
      await this.#files.use(number, ({ header, file, sizeBytes: whole }) =>
        readSegment(file, header, number === last ? sizeBytes : whole, ({ offset, head, payload }) => {
          const place = { segment: number, offset: offset + RECORD_HEAD_BYTES, length: head.length };
          return visit({ place, payload, version: header.version });
        }),
      );
    }
  }

  async rotate(): Promise<number> {
    this.#assertUsable("rotate");
    // Records appended from now on go to the new segment.
    this.#batch = undefined;
    return this.#inTurn(async () => {
      this.#assertUnfailed("rotate");
      await this.#syncUpTo(this.#written);
      const { segment, sizeBytes } = this.current;
      try {
        this.#current = await createSegment(this.#store, segment + 1, sizeBytes);
      } catch (error) {
        // Left behind, the new segment would contradict what this one becomes.
        await removeSegment(this.#store, segment + 1).catch((leftBehind) => this.#fail(leftBehind));
        throw fromSystemError(error, "rotate log");
      }
      this.#files.add(this.#current);
      this.#syncedTo = SEGMENT_HEADER_BYTES;
      this.#endsWithMark = false;
      return segment + 1;
    });
  }

  async dropBefore(segment: number): Promise<void> {
    this.#assertOpen("drop");
    if (segment > this.#current.header.segment) throw new RangeError("The current segment of a log cannot be dropped.");
    const dropped = this.#files.numbers.filter((number) => number < segment);
    const closed = Promise.all(dropped.map((number) => this.#files.drop(number)));
    this.#removable.push(...dropped);
    this.#tail.dropBefore(segment);
    const remove = async (): Promise<void> => {
      await closed;
      // [F12]: one at a time, so that no crash leaves a gap.
      for (let next = this.#removable[0]; next !== undefined; next = this.#removable[0]) {
        await removeSegment(this.#store, next);
        this.#removable.shift();
      }
    };
    const removed = this.#dropping.then(remove);
    this.#dropping = removed.catch(() => {});
    await removed;
  }

  close(): Promise<void> {
    this.#batch = undefined;
    this.#closing ??= this.#inTurn(async () => {
      try {
        if (this.#failure === undefined) {
          await this.#syncUpTo(this.#written);
          // It only makes more damage noticeable: if there is no room for it, so be it.
          await this.#writeMark().catch(() => {});
        }
      } finally {
        await this.#dropping;
        await this.#files.dropAll();
      }
    });
    return this.#closing;
  }

  #enqueue(operation: string, payloads: readonly Uint8Array[]): Promise<{ places: RecordPlace[]; writtenTo: number }> {
    return new Promise((resolve, reject) => {
      this.#assertUsable(operation);
      const bytes = encodedBytes(payloads);
      let batch = this.#batch;
      if (batch === undefined || batch.bytes + bytes > BATCH_BYTES) {
        const opened: Batch = { appendings: [], bytes: 0 };
        batch = this.#batch = opened;
        void this.#inTurn(() => this.#writeBatch(opened));
      }
      batch.appendings.push({ payloads, resolve, reject });
      batch.bytes += bytes;
    });
  }

  /** Never throws: every appending hears for itself. */
  async #writeBatch(batch: Batch): Promise<void> {
    if (this.#batch === batch) this.#batch = undefined;
    const { file, header, sizeBytes: start } = this.#current;
    const written: (() => void)[] = [];
    const bytes = new Uint8Array(batch.bytes);
    let end = start;
    for (const { payloads, resolve } of batch.appendings) {
      const places: RecordPlace[] = [];
      for (const payload of payloads) {
        encodeRecord(bytes, end - start, end, header.salt, this.#syncedTo, payload);
        places.push({ segment: header.segment, offset: end + RECORD_HEAD_BYTES, length: payload.length });
        end += RECORD_HEAD_BYTES + payload.length;
      }
      const writtenTo = this.#written + end - start;
      written.push(() => resolve({ places, writtenTo }));
    }
    try {
      this.#assertUnfailed("write");
      await file.write(start, bytes);
    } catch (error) {
      if (this.#failure === undefined) await this.#cutBack(start);
      for (const { reject } of batch.appendings) reject(fromSystemError(error, "write to log"));
      return;
    }
    this.#current.sizeBytes = end;
    this.#tail.add(header.segment, start, bytes);
    this.#written += end - start;
    if (end > start) this.#endsWithMark = false;
    for (const tell of written) tell();
  }

  /** [F10]: a refused record must not come back after a power cut, so the cut is synced. */
  async #cutBack(end: number): Promise<void> {
    try {
      await this.#current.file.truncate(end);
      await this.#current.file.sync();
    } catch (error) {
      this.#fail(error);
    }
  }

  async #syncUpTo(written: number): Promise<void> {
    while (this.#durable < written) {
      this.#assertUnfailed("sync");
      this.#syncing ??= this.#syncOnce();
      await this.#syncing;
    }
  }

  async #syncOnce(): Promise<void> {
    const [written, end] = [this.#written, this.#current.sizeBytes];
    try {
      await this.#current.file.sync(true);
      this.#durable = written;
      this.#syncedTo = end;
    } catch (error) {
      throw this.#fail(error);
    } finally {
      this.#syncing = undefined;
    }
  }

  /** [F8]. */
  async #writeMark(): Promise<void> {
    const { file, header, sizeBytes: end } = this.#current;
    if (this.#endsWithMark || end === SEGMENT_HEADER_BYTES) return;
    const bytes = new Uint8Array(RECORD_HEAD_BYTES);
    encodeRecord(bytes, 0, end, header.salt, end, new Uint8Array(0));
    await file.write(end, bytes);
    await file.sync(true);
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(act);
    this.#queue = done.catch(() => {});
    return done;
  }

  #fail(cause: unknown): RunnelError {
    const where = pathIn(this.#store.folder, segmentName(this.#current.header.segment));
    const sentence = `The log cannot tell what of ${where} is on disk, and has stopped: it must be opened anew.`;
    this.#failure ??= new RunnelError("Io", "sync log", sentence, { cause });
    return this.#failure;
  }

  #assertUsable(operation: string): void {
    this.#assertOpen(operation);
    this.#assertUnfailed(operation);
  }

  #assertOpen(operation: string): void {
    if (this.#closing !== undefined)
      throw new RunnelError("Interrupted", `${operation} log`, "The log has been closed.");
  }

  #assertUnfailed(operation: string): void {
    if (this.#failure === undefined) return;
    throw new RunnelError("Io", `${operation} log`, this.#failure.message, { cause: this.#failure.cause });
  }
}

function encodedBytes(payloads: readonly Uint8Array[]): number {
  let sum = 0;
  for (const { length } of payloads) {
    if (length === 0) throw new RangeError("A log record cannot be empty.");
    if (length > RECORD_BYTES_MAX) {
      const sentence = `A log record of ${length} bytes is too large: at most ${RECORD_BYTES_MAX} are possible.`;
      throw new RunnelError("TooLarge", "append to log", sentence, { detail: { limit: RECORD_BYTES_MAX } });
    }
    sum += RECORD_HEAD_BYTES + length;
  }
  return sum;
}
