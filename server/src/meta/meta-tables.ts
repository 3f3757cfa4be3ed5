// MetaTables: the rows of a meta store as the planner sees them, inside one transaction. Synchronous: the engine
// decides on which thread it runs. Rows handed out are never changed in place, a change is a put. Nothing here knows a
// rule of the tree; those are the planner's.
import type { Change, NodeState, Notice, NumberSpan, Recipe, VersionId, Xattr } from "@runnel/shared";
import type { LastName, TreeRows } from "@runnel/shared/tree";
import type {
  AttachedInstance,
  DiskRow,
  NodeOwner,
  OperationResult,
  Passed,
  VersionRow,
  VolumeFacts,
} from "./meta-store.ts";

export type { LastName };

/** The volume's facts with what only this folder needs. */
export interface Facts extends VolumeFacts {
  /** The first node id never given out. */
  nextNode: number;
  /** Changes up to this seq are no longer kept. */
  forgottenSeq: number;
}

export interface StoredResult {
  digest: Uint8Array;
  result: OperationResult;
}

export interface OwnedNodes {
  first: number;
  count: number;
  owner: NodeOwner;
}

/** Every method may throw RunnelError Corrupt: a row fails its checksum. */
export interface MetaTables extends TreeRows {
  facts(): Facts;
  putFacts(facts: Facts): void;

  putNode(state: NodeState): void;
  /** Nodes without a name whose last change came after `after`, up to `upTo`; by its seq, so many at most. */
  nameless(after: number, upTo: number, limit: number): { node: number; seq: number }[];
  /** With all that is known of it. */
  removeNode(node: number): void;
  /** None removes the row. */
  putXattrs(node: number, xattrs: readonly Xattr[]): void;
  putLastName(node: number, last: LastName): void;

  putBinding(folder: number, name: string, node: number): void;
  removeBinding(folder: number, name: string): void;

  version(version: VersionId): VersionRow | undefined;
  /** Oldest first. */
  versionsOf(node: number): VersionRow[];
  /** Versions that have no bytes, or have lost them; oldest first. */
  withoutBytes(node: number): VersionId[];
  putVersion(row: VersionRow): void;
  /** With its recipe. */
  removeVersion(version: VersionId): void;
  /** Current versions of named files that have no recipe and are not lost, by node. */
  withoutRecipe(limit: number, after: number): VersionId[];
  recipe(version: VersionId): Recipe | undefined;
  putRecipe(version: VersionId, recipe: Recipe): void;

  changesAfter(seq: number, limit: number): Change[];
  putChange(change: Change): void;
  removeChangesUpTo(seq: number): void;

  result(instance: string, n: number): StoredResult | undefined;
  putResult(instance: string, n: number, stored: StoredResult): void;
  removeResultsUpTo(instance: string, n: number, but: readonly NumberSpan[]): void;
  countResults(instance: string): number;
  /** Keeps so many, the newest, and those of attached instances. */
  removeOldResults(kept: number): void;

  /** The range of an owner that the id lies in. */
  rangeWith(node: number): OwnedNodes | undefined;
  /** Ranges that belong to a device, the smallest and of these the oldest first. */
  rangesOf(device: string): OwnedNodes[];
  countRanges(device: string): number;
  /** Replaces the one that begins with the same id. */
  putRange(range: OwnedNodes): void;
  removeRange(first: number): void;

  attached(): AttachedInstance[];
  putAttached(attached: AttachedInstance): void;
  removeAttached(instance: string): void;
  /** Instance with the write lease; "": none. */
  writeLease(): string;
  putWriteLease(instance: string): void;

  diskRow(folder: number, name: string): DiskRow | undefined;
  /** Lists rows, sorted by name. */
  diskRows(folder: number): DiskRow[];
  hasDiskRows(folder: number): boolean;
  /** Lists rows, sorted by folder, then name. */
  diskRowsOfNode(node: number): DiskRow[];
  /** The first by folder and name: a file with several names has one handle. */
  diskRowByHandle(handle: Uint8Array): DiskRow | undefined;
  countDiskRows(): number;
  putDiskRow(row: DiskRow): void;
  removeDiskRow(folder: number, name: string): void;

  /** At first nothing has passed. */
  passed(): Passed;
  putPassed(passed: Passed): void;

  /** Oldest first. */
  notices(): Notice[];
  /** Puts the notice as the newest; it replaces the one with its kind and key. */
  putNotice(notice: Notice): void;
  removeNotice(notice: Notice): void;
}

/**
 * The chunk index: a hint, kept apart from the tables so that it can be deleted at any time. Its methods never throw
 * for a damaged index.
 */
export interface ChunkTable {
  put(version: VersionId, recipe: Recipe): void;
  /** `digests`: SHA-256 one after another. */
  find(digests: Uint8Array): ({ version: VersionId; offset: number; length: number } | undefined)[];
  clear(): void;
}

/** The transaction around the tables' puts. */
export interface Transactions {
  /** `isDurable`: its commit is on stable storage when `commit` returns, and with it all before it. */
  begin(isDurable: boolean): void;
  /** Between planning and commit: reads must see the state before `begin`. */
  park(): void;
  resume(): void;
  commit(): void;
  /** From parked or not. */
  rollback(): void;
  /** All committed so far is on stable storage when this returns. */
  checkpoint(): void;
  close(): void;
}
