// MetaStore: names, nodes, versions, recipes, results of operations, and what lies on disk. An index over the commit
// log: it may be behind the log, never ahead. Engines: sqlite (in a worker) and memory. The rules of the tree are the
// planner's (planner.ts), which every engine runs over its own tables.
import type {
  AttributeChange,
  Change,
  DiskStat,
  Entry,
  NewAttributes,
  NodeState,
  Notice,
  NumberSpan,
  Recipe,
  RecordPlace,
  VersionId,
  Xattr,
} from "@runnel/shared";
import type { OperationResult, TreeOperation } from "@runnel/shared/tree";

export type { OperationResult };

/**
 * Identity of an operation: an instance's n-th. It is executed once; `digest` tells a repetition from a reuse of the
 * number.
 */
export interface OperationId {
  instance: string;
  n: number;
  digest: Uint8Array;
  /** When, by the client's clock: the ctime of what the operation touches. Without it the server's. */
  timeNs?: bigint;
  /** Marks one of several steps that the operation comes to, other than the one with its result. */
  isStep?: true;
}

/**
 * Source of bytes of a version that is not yet applied; runs are in order of offset. Rule F: see docs/FORMAT.md, commit
 * records.
 */
export type Run =
  /** Bytes of the commit's own log record, from `at` of its data. */
  | { from: "log"; at: number; length: number }
  /** Bytes of the temp file that the commit staged, at the same offset as in the version. */
  | { from: "temp"; length: number }
  | { from: "version"; version: VersionId; offset: number; length: number };

export interface WriteContent {
  /** Recipe of the content; undefined when there is none yet (a file that a program on the server wrote). */
  recipe: Recipe | undefined;
  sizeBytes: number;
  runs: Run[];
  /** Name of the staged file below temp/ in the store, "" when none. */
  temp: string;
}

/** Request to change the tree. */
export type Operation =
  | TreeOperation
  /**
   * A new content. `base` is the version the edit started from; when it is not current the conflict rule applies:
   * online, the last close wins and the result says `conflict`. A node that lost its name meanwhile: the content goes
   * to a new node kept beside (conflict).
   */
  | { op: "write"; node: number; base: number; content: WriteContent; attributes: Omit<AttributeChange, "sizeBytes"> };

/**
 * Change that other programs made to the served folder, as the folder engine saw it. Its disk rows are stored in the
 * same transaction: of `disk` handle and stat count, the rest follows from the operation. What a removed or replaced
 * folder held is reported first.
 */
export type ExternalOperation =
  | {
      op: "externalMake";
      folder: number;
      name: string;
      attributes: NewAttributes;
      /** None: left out. */
      xattrs?: readonly Xattr[];
      sizeBytes: number;
      disk: DiskRow;
    }
  | { op: "externalLink"; node: number; folder: number; name: string; disk: DiskRow }
  | {
      op: "externalRename";
      node: number;
      folder: number;
      name: string;
      toFolder: number;
      toName: string;
      disk: DiskRow;
    }
  | { op: "externalRemove"; node: number; folder: number; name: string }
  | { op: "externalAttributes"; node: number; change: Omit<AttributeChange, "sizeBytes">; disk: DiskRow }
  | { op: "externalWrite"; node: number; sizeBytes: number; change: Omit<AttributeChange, "sizeBytes">; disk: DiskRow }
  /**
   * A recipe computed in the background for a version that had none; no change of the tree, seq stays. One that has a
   * recipe keeps it.
   */
  | { op: "setRecipe"; version: VersionId; recipe: Recipe };

/** State of a node's extended attributes on disk. */
export interface DiskXattrs {
  /** Digest of those on disk (xattrDigest of the folder engine). */
  digest: string;
  /** Names of those that the file system refused: the meta store has them. */
  refused: string[];
}

/**
 * A name on disk as last applied or taken in: the folder is compared with it. (folder, name) is unique; a file with
 * several names has several rows with one node.
 */
export interface DiskRow {
  node: number;
  folder: number;
  name: string;
  /** Kernel file handle: the identity on disk. */
  handle: Uint8Array;
  stat: DiskStat;
  /** The version whose bytes the file holds (0 for what is no file). */
  version: number;
  /** Extended attributes of the file; absent when it has none. */
  xattrs?: DiskXattrs;
}

/** Place of an operation in the tree, by names: for its log record, which outlives the ids. */
export interface OperationPaths {
  /** Path of the node afterwards ("" when nameless); of a removed name, its path before. */
  path: string;
  /** rename: where it was; link: an older name of the node; else "". */
  from: string;
  /** write: where other nodes were that its content copies from. */
  sources: { node: number; path: string }[];
  /** write: further names of the node, as far as there is room. */
  names: string[];
  /** Handles of the nodes concerned, of files that were in the served folder then. */
  files: { node: number; handle: Uint8Array }[];
}

export type Planned =
  /**
   * `change` undefined: nothing changed (repetition of an executed operation, setRecipe, an external operation
   * superseded by a pending commit). `paths`: of an operation decided now that changed something. `operation`: what was
   * done in place of the one that was asked.
   */
  | {
      ok: true;
      result: OperationResult;
      change: Change | undefined;
      isRepeated: boolean;
      paths?: OperationPaths;
      operation?: Operation;
    }
  | { ok: false; error: { kind: string; message: string; detail: object } };

export interface PlanRequest {
  id: OperationId | undefined;
  operation: Operation | ExternalOperation;
  /** Owner of the ids that it may make something with; left out where devices are not told apart. */
  owner?: NodeOwner;
  /** The wall clock at commit, for ctime. */
  wallNs: bigint;
  /** Indexes of requests before it in the batch: it is refused as the first of them that is. */
  after?: readonly number[];
  /** Set when rolling the log forward: apply exactly this, do not decide again. */
  replayed?: { seq: number; change: Change | undefined; result: OperationResult };
}

/** Place of a version's bytes. */
export type VersionPlace =
  | { at: "disk" } // the live file of the node (its DiskRow has this version)
  | { at: "pending"; segment: number; offset: number; length: number } // the log record at this place
  | { at: "trash"; file: string; stat: DiskStat }
  | { at: "lost" } // known destroyed
  | { at: "empty" };

export interface VersionRow {
  version: VersionId;
  sizeBytes: number;
  hasRecipe: boolean;
  place: VersionPlace;
}

export interface VolumeFacts {
  formatVersion: number;
  /** 32 hex digits. */
  epoch: string;
  /** Last seq committed. */
  seq: number;
  /** All changes up to this seq are in the plain folder. */
  appliedSeq: number;
  /** The log place up to which records are in this index: replay starts after it. */
  logSegment: number;
  logOffset: number;
}

/** Extent of what the plain folder has beyond `appliedSeq`: all up to `seq` but what waits. */
export interface Passed {
  seq: number;
  /** Ascending. */
  waiting: readonly number[];
}

/** Whom a range of node ids was given to. */
export interface NodeOwner {
  device: string;
  /** The digits that the client calls itself by: nobody else knows them, and they outlive a new login. */
  instance: string;
}

export interface AttachedInstance {
  instance: string;
  /** 0: not known. */
  termMs: number;
}

/** Notices of a volume (shared/src/model/notice.ts). */
export interface NoticeStore {
  /**
   * Keeps notices, durably before it resolves: the newest LIMITS.notices of each kind. One takes the place of an older
   * one with its key; versions lost of one node are counted together, a `path` that is "" now stays what it was.
   */
  note(notices: readonly Notice[]): Promise<void>;
  /** Oldest first. */
  notices(): Promise<Notice[]>;
  forgetNotices(notices: readonly Notice[]): Promise<void>;
}

/**
 * All methods are asynchronous; none blocks the event loop. Reads see committed state only and never wait for an open
 * batch. Other writes wait until the open batch ends, so whoever has one open must not await another write.
 */
export interface MetaStore extends NoticeStore {
  facts(): Promise<VolumeFacts>;

  /**
   * Decides a batch of operations in order, each seeing those before it, and applies them in an open transaction.
   * Nothing is visible to reads until `commit`; `rollback` undoes all. One batch is open at a time; the next `plan`
   * waits. A refused operation changes nothing, the others go on, but for those `after` it.
   * @throws Corrupt (or Io, NoSpace): no batch is open then.
   */
  plan(batch: readonly PlanRequest[]): Promise<Planned[]>;
  /**
   * `places`: log place of each planned operation with a content (its record), for VersionPlace "pending"; `log` the
   * new end. After a throw nothing of the batch is in: the index is behind the log, and has to be rolled forward before
   * the next batch.
   */
  commit(places: ReadonlyMap<number, RecordPlace>, log: { segment: number; offset: number }): Promise<void>;
  rollback(): Promise<void>;
  /** Makes all committed so far durable (fsync): log segments before it may go. @throws Busy: try again later. */
  checkpoint(): Promise<void>;

  node(node: number): Promise<NodeState | undefined>;
  nodes(nodes: readonly number[]): Promise<(NodeState | undefined)[]>;
  lookup(folder: number, name: string): Promise<NodeState | undefined>;
  /** Entries of a folder in name order (UTF-8 bytes), after a name. */
  list(folder: number, after: string, limit: number): Promise<Entry[]>;
  /** A node's extended attributes, by name. */
  xattrs(node: number): Promise<Xattr[]>;
  /** Every name of a node. */
  namesOf(node: number): Promise<{ folder: number; name: string }[]>;
  /** Name that a node had last, of one that has none. */
  lastName(node: number): Promise<{ folder: number; name: string } | undefined>;
  /** Changes after a seq, oldest first. @throws Gone when they are no longer kept. */
  changesAfter(seq: number, limit: number): Promise<Change[]>;
  /** Changes up to and including this seq need not be kept. */
  forgetChanges(upToSeq: number): Promise<void>;
  /**
   * Forgets nodes that lost their names by changes which are forgotten, and of which no bytes are left anywhere; looks
   * at so many, those that came after a seq. Their ids are never given out again. Resolves to the seq to go on after,
   * undefined when there are no more.
   */
  forgetNameless(after: number, limit: number): Promise<number | undefined>;

  recipe(version: VersionId): Promise<Recipe | undefined>;
  version(version: VersionId): Promise<VersionRow | undefined>;
  versionsOf(node: number): Promise<VersionRow[]>;
  /** A version that is no longer known is passed over; so too in recordApplied. */
  setPlace(version: VersionId, place: VersionPlace): Promise<void>;
  /** Row and recipe. @throws Invalid for the current version of a node with a name. */
  forgetVersion(version: VersionId): Promise<void>;
  /**
   * Named files that have no recipe for their current version yet, and whose bytes are not lost; by node, those of
   * greater ones than `after`.
   */
  withoutRecipe(limit: number, after?: number): Promise<VersionId[]>;

  /** A fresh range of node ids, never given before in this epoch, and its `owner`; durable before it resolves. */
  allocateNodes(count: number, owner?: NodeOwner): Promise<{ first: number; count: number }>;
  /** The device is no more: what was given to it has no owner. */
  forgetNodeOwner(device: string): Promise<void>;
  /** Stored result of an operation, if it was executed. */
  result(instance: string, n: number): Promise<{ digest: Uint8Array; result: OperationResult } | undefined>;
  /** The client has these results: all n up to and including. */
  forgetResults(instance: string, upToN: number, but: readonly NumberSpan[]): Promise<void>;
  /** Keeps so many results, the newest, and all those of attached instances. */
  forgetOldResults(kept: number): Promise<void>;
  /**
   * Instances that hold an attachment, and how long a lease of theirs lasts (asked at restart), kept durably before it
   * resolves; 0: it holds none.
   */
  setAttached(instance: string, termMs: number): Promise<void>;
  /** Keeps durably, before it resolves, who has write leases on what, as the feed writes it down; "": nobody. */
  setWriteLease(record: string): Promise<void>;
  writeLease(): Promise<string>;
  /** Lists attached instances, sorted by instance. */
  attached(): Promise<AttachedInstance[]>;

  /** The disk rows of a folder, by name. */
  diskRows(folder: number): Promise<DiskRow[]>;
  diskRow(folder: number, name: string): Promise<DiskRow | undefined>;
  diskRowsOfNode(node: number): Promise<DiskRow[]>;
  /** Answers `diskRow` of each name, and `diskRowsOfNode` of each node, in one call. */
  diskRowsOf(
    names: readonly { folder: number; name: string }[],
    nodes: readonly number[],
  ): Promise<{ ofNames: (DiskRow | undefined)[]; ofNodes: DiskRow[][] }>;
  /** The first of them by folder and name. */
  diskRowByHandle(handle: Uint8Array): Promise<DiskRow | undefined>;
  countDiskRows(): Promise<number>;
  /**
   * Records what applying changed: rows put, names removed, versions moved; the new appliedSeq, and what is applied
   * beyond it (unchanged when absent). All in one transaction.
   */
  recordApplied(change: {
    put: DiskRow[];
    removed: { folder: number; name: string }[];
    places: { version: VersionId; place: VersionPlace }[];
    appliedSeq: number;
    passed?: Passed;
  }): Promise<void>;
  /** Returns what `recordApplied` was last given. */
  passed(): Promise<Passed>;

  /** Chunk index: a hint where a digest may be found. Filled in the background, wrong rows are harmless. */
  putChunks(version: VersionId, recipe: Recipe): Promise<void>;
  findChunks(digests: Uint8Array): Promise<({ version: VersionId; offset: number; length: number } | undefined)[]>;
  clearChunks(): Promise<void>;

  close(): Promise<void>;
}
