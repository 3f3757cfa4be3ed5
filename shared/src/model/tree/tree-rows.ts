// The tree as its rules read it: what both ends plan a change over. A server has it in a transaction of its meta store,
// a client in what it knows of the server's tree, with its own changes laid over it.
import type { AttributeChange, Change, Entry, NewAttributes, NodeState } from "../node.ts";
import type { Xattr } from "../xattrs.ts";

/** Place of a node's last name, and who took it: "" for a program on the server. */
export interface LastName {
  folder: number;
  name: string;
  instance: string;
}

/** Rows handed out are never changed in place. */
export interface TreeRows {
  /** `nextNode`: the first node id never given out. */
  facts(): { seq: number; nextNode: number };
  node(node: number): NodeState | undefined;
  /** Lists extended attributes, sorted by name. */
  xattrs(node: number): Xattr[];
  /** Returns the last name of a node with nlink 0. */
  lastName(node: number): LastName | undefined;
  binding(folder: number, name: string): number | undefined;
  hasNames(folder: number): boolean;
  /** Lists names, sorted by folder, then name (UTF-8 bytes). */
  namesOf(node: number): readonly { folder: number; name: string }[];
  /** Lists entries after a name, in name order (UTF-8 bytes). */
  list(folder: number, after: string, limit: number): Entry[];
}

/** A file whose name is taken away, as its program saw it (rule W186). */
export interface Expected {
  node: number;
  version: number;
  /** Numbers of operations of the same instance whose results, where they were executed, count as seen. */
  own: readonly number[];
}

/** Request to change names or attributes. Node ids in `node` for make come from the instance's range. */
export type TreeOperation =
  | { op: "make"; folder: number; name: string; node: number; attributes: NewAttributes }
  | { op: "link"; node: number; folder: number; name: string }
  /** `node`: what `name` is expected to be bound to. how: replace | keep (Exists if bound) | exchange. */
  | {
      op: "rename";
      folder: number;
      name: string;
      node: number;
      toFolder: number;
      toName: string;
      how: "replace" | "keep" | "exchange";
      expects?: Expected | undefined;
    }
  | {
      op: "remove";
      folder: number;
      name: string;
      node: number;
      isFolder: boolean;
      expects?: Expected | undefined;
    }
  | { op: "setAttr"; node: number; change: Omit<AttributeChange, "sizeBytes"> };

export type TreeOperationOf<Name extends TreeOperation["op"]> = Extract<TreeOperation, { op: Name }>;

export interface OperationResult {
  /** The node made, linked, renamed, written. For a make that met an existing folder: that folder's id. */
  node: number;
  /** Seq of the change; without one, of the last before it. */
  seq: number;
  /** The node's version afterwards; for write the one made. */
  version: number;
  /** write: the base was not current; what became of the other content. */
  conflict: boolean;
}

/** Outcome of an operation. Without a change nothing but the result is stored. */
export interface Decision {
  change: Change | undefined;
  result: OperationResult;
}
