// The append-only log that both sides are built on (server: commit log; agent: journal). Records carry a checksum and a
// length; a torn tail is cut at open, damage before it is reported. Everything else on either side is an index over
// such a log.

/** Place of a record's payload, so that bulk bytes inside it can be read in place later. */
export interface RecordPlace {
  segment: number;
  /** Offset of the payload's first byte within the segment file. */
  offset: number;
  length: number;
}

export interface LogRecord {
  place: RecordPlace;
  payload: Uint8Array;
  /** Version of the format that the record was written in. */
  version: number;
}

export interface OpenedLog {
  log: Log;
  /** Bytes of a torn tail that were cut. */
  tornBytes: number;
}

export interface Log {
  /**
   * Appends records in one write and resolves when they are on stable storage. Appends made while a sync runs share the
   * next one (group commit). When the write fails (NoSpace, Io) none of the call's records is in the log, and the log
   * goes on. When the sync fails (Io) it is unknown whether they are, and the log ends: every later append, write, sync
   * and rotate fails with Io until it is opened anew.
   * @throws RunnelError Interrupted after close; TooLarge for a record that the format cannot hold.
   */
  append(payloads: readonly Uint8Array[]): Promise<RecordPlace[]>;
  /**
   * Appends like `append`, but resolves when the bytes are with the operating system: they survive a killed process,
   * not a power cut.
   */
  write(payloads: readonly Uint8Array[]): Promise<RecordPlace[]>;
  /** Resolves when all that was written so far is on stable storage. */
  sync(): Promise<void>;
  /** Reads a part of a payload. @throws RunnelError Gone when the segment has been dropped. */
  read(place: RecordPlace, offset: number, length: number): Promise<Uint8Array>;
  /**
   * All records from the oldest kept segment on, in order. @throws RunnelError Corrupt naming segment and offset for
   * damage before the tail.
   */
  replay(visit: (record: LogRecord) => void | Promise<void>): Promise<void>;
  /**
   * Starts a new segment and returns its number; older ones can be dropped once nothing needs them. On failure the log
   * goes on as it was.
   */
  rotate(): Promise<number>;
  /** Removes all segments below this one, oldest first; after a failure the next call goes on with it. */
  dropBefore(segment: number): Promise<void>;
  /** The segment being appended to, and its bytes. */
  readonly current: { segment: number; sizeBytes: number };
  /** Finishes what was asked before, syncs, and marks the log as closed, so that any damage to it will be noticed. */
  close(): Promise<void>;
}
