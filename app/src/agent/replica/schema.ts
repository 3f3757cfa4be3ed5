// Tables of the replica (docs/FORMAT.md) and their rows as the model's types.
import { RunnelError } from "@runnel/shared";
import type { FileType, NodeState } from "@runnel/shared";
import type { DatabaseFormat, Value } from "./database.ts";

/**
 * `nodes` and `folders` are keyed by their rowid, which is SQLite's smallest form; `names` is its own index. Node 0 is
 * a tombstone.
 */
export const REPLICA_FORMAT: DatabaseFormat = {
  what: "replica",
  version: 1,
  schema: `
    CREATE TABLE facts (
      id INTEGER PRIMARY KEY CHECK (id = 1), epoch TEXT NOT NULL, root INTEGER NOT NULL, seq INTEGER NOT NULL,
      isWhole INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE nodes (
      node INTEGER PRIMARY KEY, type INTEGER NOT NULL, mode INTEGER NOT NULL, uid INTEGER NOT NULL, gid INTEGER NOT NULL,
      size INTEGER NOT NULL, mtime INTEGER NOT NULL, ctime INTEGER NOT NULL, nlink INTEGER NOT NULL, rdev INTEGER NOT NULL,
      target TEXT NOT NULL, version INTEGER NOT NULL, seq INTEGER NOT NULL, xattrSeq INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE names (
      folder INTEGER NOT NULL, name TEXT NOT NULL, node INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (folder, name)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX namesByNode ON names (node);
    CREATE TABLE folders (folder INTEGER PRIMARY KEY, asOf INTEGER NOT NULL) STRICT;
  `,
};

const LOW_HALF = 0xffff_ffffn;

/** Numbers of file types in rows; append-only. */
const TYPES: readonly FileType[] = ["file", "folder", "symlink", "fifo", "socket", "block", "char"];

/** 64-bit times are read as two halves: whole rows as BigInt would cost a third of a large listing's time. */
export const FILE = TYPES.indexOf("file");
export const FOLDER = TYPES.indexOf("folder");

export const NODE_COLUMNS = `nodes.node, nodes.type, nodes.mode, nodes.uid, nodes.gid, nodes.size,
  nodes.mtime >> 32 AS mtimeHigh, nodes.mtime & 4294967295 AS mtimeLow,
  nodes.ctime >> 32 AS ctimeHigh, nodes.ctime & 4294967295 AS ctimeLow,
  nodes.nlink, nodes.rdev, nodes.target, nodes.version, nodes.seq, nodes.xattrSeq`;

export interface NodeRow {
  node: number;
  type: number;
  mode: number;
  uid: number;
  gid: number;
  size: number;
  mtimeHigh: number;
  mtimeLow: number;
  ctimeHigh: number;
  ctimeLow: number;
  nlink: number;
  rdev: number;
  target: string;
  version: number;
  seq: number;
  xattrSeq: number;
}

export function stateOf(row: NodeRow): NodeState {
  const type = TYPES[row.type];
  if (type === undefined) throw new RunnelError("Corrupt", "read replica", `A node has the type ${row.type}.`);
  return {
    node: row.node,
    type,
    mode: row.mode,
    uid: row.uid,
    gid: row.gid,
    sizeBytes: row.size,
    mtimeNs: (BigInt(row.mtimeHigh) << 32n) | BigInt(row.mtimeLow),
    ctimeNs: (BigInt(row.ctimeHigh) << 32n) | BigInt(row.ctimeLow),
    nlink: row.nlink,
    rdev: row.rdev,
    target: row.target,
    version: row.version,
    seq: row.seq,
    ...(row.xattrSeq === 0 ? {} : { xattrSeq: row.xattrSeq }),
  };
}

/** The row that a state is read from, once it has been written. */
export function rowOf({ sizeBytes, mtimeNs, ctimeNs, type, xattrSeq = 0, ...state }: NodeState): NodeRow {
  return {
    ...state,
    type: TYPES.indexOf(type),
    size: sizeBytes,
    mtimeHigh: Number(mtimeNs >> 32n),
    mtimeLow: Number(mtimeNs & LOW_HALF),
    ctimeHigh: Number(ctimeNs >> 32n),
    ctimeLow: Number(ctimeNs & LOW_HALF),
    xattrSeq,
  };
}

/** Values in the order of the table's columns. */
export function nodeValues(state: NodeState): Value[] {
  return [
    state.node,
    TYPES.indexOf(state.type),
    state.mode,
    state.uid,
    state.gid,
    state.sizeBytes,
    state.mtimeNs,
    state.ctimeNs,
    state.nlink,
    state.rdev,
    state.target,
    state.version,
    state.seq,
    state.xattrSeq ?? 0,
  ];
}
