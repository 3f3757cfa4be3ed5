// Part of the tree that a request reads or changes, by which it is known whose write leases are in its way.
export interface Touched {
  /** Nodes that it is about. A folder stands for itself and the names in it. */
  nodes: readonly number[];
  /** Folders that it is about with all below them. */
  deep?: readonly number[];
  /** Something is moved from one folder to another. */
  moves?: readonly [from: number, to: number];
}
