// Journal: operations not yet acknowledged, with their unsent bytes in `data/` (there before the record that names them). An append-only log
// (shared/src/log); the only precious file of the agent. It survives a crash, and the loss of cache and replica.
import type { ByteRange } from "@runnel/native/drive";

/** A commit of a file's content that the server has not acknowledged. */
export interface JournalCommit {
  /** Number of the operation within the instance. */
  n: number;
  instance: string;
  epoch: string;
  node: number;
  /** Path when it was written: how it is replayed in another epoch. */
  path: string;
  baseVersion: number;
  /** OID of the base, for a replay in another epoch; empty when there is none. */
  baseOid: Uint8Array;
  baseBytes: number;
  sizeBytes: number;
  mtimeNs: bigint;
  /** Files below data/, lowest first, with the ranges they hold. */
  layers: { file: string; extents: ByteRange[] }[];
  /** The agent's cache content id that held the base, a hint. */
  baseContent: number;
}

export interface Journal {
  /** Random 128 bits, born with the journal; another one after `renew`. */
  readonly instance: string;
  /** Absolute path of data/: overlays are created there by the drive. */
  readonly dataFolder: string;
  /** The next operation number; never given twice for an instance, across crashes (blocks of numbers are reserved in the log). */
  nextNumber(): number;
  /** A new instance: after the server refused a number, or a new epoch. */
  renew(): Promise<void>;
  /** Records a commit; resolves when the record is with the operating system (`isDurable`: data and record on stable storage). */
  put(commit: JournalCommit, isDurable: boolean): Promise<void>;
  /** The server has it (or a person gave it up): its data files may go. */
  done(instance: string, n: number): Promise<void>;
  /** What a former life left, oldest first. */
  pending(): JournalCommit[];
  /** Removes files in data/ that no record names and no open file uses. Called at start, before the drive. */
  sweep(): Promise<void>;
  close(): Promise<void>;
}
