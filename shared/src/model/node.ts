// Nodes, versions and changes: the words both ends use for a volume's tree.
import type { FileType } from "../host/disk.ts";
import type { Xattr, XattrChange } from "./xattrs.ts";

/** The root folder's node id, in every volume and for the kernel. */
export const ROOT_NODE = 1;
/** Ids below this are given out by the server or to instances; above are the drive's aliases. */
export const NODE_LIMIT = 2 ** 53;

/**
 * Identifies a content of a node: `seq` is that of the commit that made it; 0 names the empty content of a node never
 * written.
 */
export interface VersionId {
  node: number;
  seq: number;
}

/** State of a node: its kind and its attributes now. Times are nanoseconds since 1970. */
export interface NodeState {
  node: number;
  type: FileType;
  /** 12 bits. */
  mode: number;
  uid: number;
  gid: number;
  sizeBytes: number;
  mtimeNs: bigint;
  ctimeNs: bigint;
  /** Names in the tree; 0 after the last was removed. */
  nlink: number;
  rdev: number;
  /** A symlink's target, else "". */
  target: string;
  /** seq of the content. */
  version: number;
  /** seq of the last change of any kind. */
  seq: number;
  /** seq of the last change of its extended attributes; left out when it has none. */
  xattrSeq?: number;
}

/** A name of a folder with its node. */
export interface Entry {
  name: string;
  state: NodeState;
}

/** A change to attributes; a field left out stays. `sizeBytes` truncates or extends a file (a new version). */
export interface AttributeChange {
  mode?: number;
  uid?: number;
  gid?: number;
  mtimeNs?: bigint;
  sizeBytes?: number;
  /** Change of a single extended attribute. */
  xattr?: XattrChange;
  /** All of them, as another program left them. */
  xattrs?: readonly Xattr[];
}

/** Attributes a new node is made with. */
export interface NewAttributes {
  type: FileType;
  mode: number;
  uid: number;
  gid: number;
  mtimeNs: bigint;
  rdev: number;
  target: string;
}

/** The effect of one commit on the tree, in terms of new states: applying it twice is harmless. One per seq. */
export interface Change {
  seq: number;
  /** Bindings of each touched name now; node 0 = nothing. A rename has two; the destination stands last. */
  bindings: { folder: number; name: string; node: number }[];
  /** New state of each node touched; nlink 0 when it lost its last name. */
  nodes: NodeState[];
  /** The node and version that lost its name to the bound one (rename over, remove): the line's history. */
  replaces: VersionId | undefined;
}
