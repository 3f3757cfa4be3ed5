// Replica: the server's tree as this client knows it, changed only by listings and the feed. A folder is complete as of
// a seq or unknown; "unknown" is never "absent". SQLite, rebuildable: losing it costs a new listing.
import type { Change, Entry, NodeState } from "@runnel/shared";

export interface ReplicaFacts {
  epoch: string;
  /** All changes up to this seq of followed folders have been applied. */
  seq: number;
  /** The whole volume has been listed and is followed. */
  isWhole: boolean;
}

/** Knowledge of a name. */
export type Known = { is: "bound"; state: NodeState } | { is: "absent"; asOf: number } | { is: "unknown" };

/** A name whose meaning changed; 0 = bound to nothing that is known. */
export interface BindingChange {
  folder: number;
  name: string;
  before: number;
  after: number;
}

/** Synchronous: reads take microseconds, writes go to a database that is not synced. */
export interface Replica {
  facts(): ReplicaFacts | undefined;
  /** Forgets all and begins an epoch. */
  reset(epoch: string, root: NodeState): void;
  setWhole(isWhole: boolean): void;

  node(node: number): NodeState | undefined;
  /** absent only in a complete folder or behind a tombstone newer than the folder's listing. */
  lookup(folder: number, name: string): Known;
  /** All entries of a complete folder in name order, or undefined. */
  listing(folder: number): { asOf: number; entries: Entry[] } | undefined;
  /** Entries of a folder behind a name ("": the first ones), in name order, as far as they are known. */
  entriesAfter(folder: number, name: string, count: number): Entry[];
  /** Says whether more than so many names are known of a folder, those that are bound to nothing with them. */
  hasMoreNames(folder: number, most: number): boolean;
  /** Names in a folder as far as they are known, folders first, by a name, a size or a time of change. */
  sortedNames(folder: number, order: "name" | "size" | "modified"): string[];
  /** Some files of a folder with a size from `least` to `most`, those of nearly `like` first; a hint. */
  filesOfSize(folder: number, size: { least: number; most: number; like: number }): number[];
  namesOf(node: number): { folder: number; name: string }[];
  /** "" for the root, "a/b"; undefined when the node has no known name. */
  pathOf(node: number): string | undefined;
  /** Files and folders below a folder, as far as they are known. */
  countBelow(folder: number): number;
  /** Counts a file, or the files below a folder, with the bytes of their contents, as far as they are known. */
  filesAt(node: number): { files: number; bytes: number };
  counts(): { nodes: number; names: number; completeFolders: number };

  /**
   * Part of a folder's listing as of a seq, the same one for all its parts. Names changed by the feed at a later seq
   * stay as the feed said. With `isLast`, names of the folder that no part listed and that are not newer than `asOf`
   * are gone, and the folder is complete as of `asOf`. Ignored for a folder that is already known as of a later seq, or
   * is gone.
   */
  putListing(folder: number, asOf: number, entries: readonly Entry[], isLast: boolean): void;
  /**
   * States read outside a listing (stat), as of a seq; older than what is known is ignored. `folder`/`name` when it was
   * asked by name.
   */
  putState(asOf: number, state: NodeState | undefined, at?: { folder: number; name: string }): void;
  /**
   * Applies feed items in order, in one transaction. Idempotent. Returns the bindings whose meaning changed, with the
   * old node.
   */
  apply(changes: readonly Change[]): BindingChange[];
  /** The server said that what is followed is current as of `seq`, with nothing more to apply up to it. */
  advance(seq: number): void;
  /**
   * The feed was interrupted: every folder is unknown until listed again; states are kept as the best guess for offline
   * use.
   */
  forgetCompleteness(): void;
  /**
   * Called with a sentence for a person when its file turns out to be damaged: at once for what was found, and dropped,
   * at opening.
   */
  onDamage(report: (sentence: string) => void): void;
  close(): void;
}
