// Journal: operations not yet acknowledged, with their unsent bytes in `data/` (there before the record that names
// them). An append-only log (shared/src/log); the only precious file of the agent. It survives a crash, and the loss of
// cache and replica.
import type { ByteRange } from "@runnel/native/drive";
import type { RunnelError } from "@runnel/shared";
import type { TreeOperation } from "@runnel/shared/tree";

/** The conflict copy that a content becomes: chosen once, so that each attempt is the same [F101]. */
export interface ConflictCopy {
  /** Path of the file whose content it was to be. */
  of: string;
  /** Number of the operation that makes the copy, under that name of that folder. */
  n: number;
  folder: number;
  name: string;
  /** Attributes that it is made with: a later save of the copy has its own, and the operation stays the same one. */
  made: { mode: number; uid: number; gid: number; mtimeNs: bigint };
  /** The version that was edited, and the epoch in which it has that name. */
  base: { node: number; seq: number; epoch: string };
}

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
  /** Time of the content's last change, by the clock here. */
  ctimeNs: bigint;
  /** Files below data/, lowest first, with the ranges they hold. */
  layers: { file: string; extents: ByteRange[] }[];
  /** The agent's cache content id that held the base, a hint. */
  baseContent: number;
  /** Attributes of the file when it was written: a conflict copy has them. */
  attributes?: { mode: number; uid: number; gid: number };
  /** Number under which the drive answered it before this record was there. */
  early?: number;
  /** Number of the commit, of the same instance, whose content this one holds, and that is sent before it [F193]. */
  follows?: number;
  /** The conflict copy that it becomes: `node` is then the copy, and `baseVersion` 0. */
  copy?: ConflictCopy;
}

/** A change of names or attributes that the server has not acknowledged. */
export interface JournalOperation {
  /** Number of the operation within the instance. */
  n: number;
  instance: string;
  epoch: string;
  /** When a program made it, by the clock here. */
  timeNs: bigint;
  operation: TreeOperation;
  /** Path of what it changes, for a person. */
  path: string;
  /** Number under which the drive answered it before this record was there. */
  early?: number;
}

/** Node ids of an epoch that this client may give to what it makes without a line. */
export interface ReservedNodes {
  epoch: string;
  /** The next one to give; lower ones may have been given. */
  from: number;
  end: number;
}

export interface Journal {
  /** Random 128 bits, born with the journal; another one after `renew`. */
  readonly instance: string;
  /** Length of the log's torn tail, which opening cut: it was never acknowledged. */
  readonly tornBytes: number;
  /** Absolute path of data/: overlays are created there by the drive. */
  readonly dataFolder: string;
  /** Count of numbers that can be given now. */
  readonly numbersLeft: number;
  /**
   * The next operation number; never given twice for an instance, across crashes (blocks of numbers are reserved in the
   * log).
   * @throws Busy when thousands were taken faster than the log could reserve more.
   */
  nextNumber(): number;
  /** Node ids in reserve, as they were last recorded. */
  readonly reservedNodes: ReservedNodes | undefined;
  /** Records them in the place of former ones; resolves when that is on stable storage. @throws NoSpace, Io */
  reserveNodes(nodes: ReservedNodes): Promise<void>;
  /** A new instance: after the server refused a number, or a new epoch. */
  renew(): Promise<void>;
  /**
   * Records a commit; resolves when the record is with the operating system: it survives a killed process, and is on
   * stable storage a second later. `isDurable`: resolves when data and record, and all that was put before, are on
   * stable storage. On failure it is not recorded. `replaces`: commits whose contents this one holds, or is; they are
   * done with it, in one step [F100].
   * @throws NotFound for a missing data file (durable only), NoSpace, Io.
   */
  put(commit: JournalCommit, isDurable: boolean, replaces?: readonly JournalCommit[]): Promise<void>;
  /** Records a change of names or attributes, as `put` a commit that is not durable yet. @throws NoSpace, Io */
  putOperation(operation: JournalOperation): Promise<void>;
  /**
   * Records, as `put`, that an id which this client gave in an epoch stands for a node that was there already: what
   * waits may name it. @throws NoSpace, Io
   */
  bind(epoch: string, node: number, other: number): Promise<void>;
  /** Lists the nodes that ids of this client stand for in an epoch, as far as something waited that names them. */
  bound(epoch: string): ReadonlyMap<number, number>;
  /** Resolves when all that was put before is on stable storage. @throws Io, NoSpace */
  sync(): Promise<void>;
  /**
   * The server has it (or a person gave it up): its data files go once the record of this is on stable storage.
   * Harmless when repeated.
   */
  done(instance: string, n: number): Promise<void>;
  /**
   * Numbers of `instance` that are done and, after a power cut, might not be: the server must still know what became of
   * them.
   */
  ending(): Iterable<number>;
  /** Says whether a commit names a data file: those that none does are gone, or go soon. */
  names(file: string): boolean;
  /** Asks before it removes a data file: one that is read stays, and is to be discarded once it is not. */
  onRemoving(isRead: (file: string) => boolean): void;
  /** Removes data files that nobody will record any more; those that a commit names stay. */
  discard(files: readonly string[]): Promise<void>;
  /** Commits that are not done, oldest first: after opening, what a former process left. */
  pending(): JournalCommit[];
  /** Changes of names and attributes that are not done, oldest first. */
  operations(): JournalOperation[];
  /**
   * Commits of a former process whose bytes a power cut may have taken (within a second of the put), or whose files are
   * gone: not to be committed as they are. Their records and files stay until `done`.
   */
  unverified(): JournalCommit[];
  /**
   * Digests its bytes. @returns false when they are not those that came to stable storage: it is unverified from here
   * on.
   */
  verify(commit: JournalCommit): Promise<boolean>;
  /** Why the last attempt to bring things to stable storage in the background failed; undefined when it succeeded. */
  problem(): RunnelError | undefined;
  /**
   * Removes files in data/ that no record names, and are not among these, which a record will name. Called at start,
   * before the drive.
   */
  sweep(kept?: ReadonlySet<string>): Promise<void>;
  /** Brings all to stable storage first. Harmless when repeated; every other method then throws Interrupted. */
  close(): Promise<void>;
}

interface Layered {
  layers: readonly { extents: readonly { length: number }[] }[];
  sizeBytes: number;
}

/** Returns how many bytes of a content were written here. */
export function dirtyBytes({ layers, sizeBytes }: Layered): number {
  let bytes = 0;
  for (const { extents } of layers) for (const { length } of extents) bytes += length;
  return Math.min(bytes, sizeBytes);
}
