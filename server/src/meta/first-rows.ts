// Content of a new meta store: the root folder and nothing else.
import { ROOT_NODE } from "@runnel/shared/model";
import type { NodeState } from "@runnel/shared";
import type { Facts } from "./meta-tables.ts";

/** Version of the rows and their meaning. Newer is refused, older is migrated. */
export const META_FORMAT = 1;

export interface Creation {
  /** 32 hex digits. */
  epoch: string;
  /**
   * The first id given to a node. A volume made anew begins elsewhere than its last epoch did: a kernel may still hold
   * ids of that one, which then mean nothing rather than another file.
   */
  firstNode?: number;
}

export function firstFacts({ epoch, firstNode }: Creation): Facts {
  return {
    formatVersion: META_FORMAT,
    epoch,
    seq: 0,
    appliedSeq: 0,
    logSegment: 0,
    logOffset: 0,
    nextNode: firstNode ?? ROOT_NODE + 1,
    forgottenSeq: 0,
  };
}

/** Times are 0 until the folder is first looked at or changed: a store has no clock. */
export function firstRoot(): NodeState {
  return {
    node: ROOT_NODE,
    type: "folder",
    mode: 0o755,
    uid: 0,
    gid: 0,
    sizeBytes: 0,
    mtimeNs: 0n,
    ctimeNs: 0n,
    nlink: 2,
    rdev: 0,
    target: "",
    version: 0,
    seq: 0,
  };
}
