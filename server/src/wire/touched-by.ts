// Says of each request what it reads or changes of the tree as it is now, by which the write leases are known that are
// in its way ([W181]).
import type { RequestOf, VolumeRequestName } from "@runnel/shared";

/** References to nodes: numbers of nodes, or -n for what operation n makes. */
export interface References {
  nodes: readonly number[];
  deep?: readonly number[];
  /** Names in folders: what they are bound to is meant. */
  names?: readonly (readonly [folder: number, name: string])[];
  /** Names whose nodes are meant with all below them. */
  deepNames?: readonly (readonly [folder: number, name: string])[];
  moves?: readonly [from: number, to: number];
}

type TouchedBy = {
  readonly [Name in VolumeRequestName]: ((request: RequestOf<Name>) => References) | undefined;
};

/** A content of a version never changes, and the rest is not of the tree. */
export const TOUCHED_BY: TouchedBy = {
  // A client that follows what is listed is told which folders others have; those it does not take for current.
  find: ({ folder, isDeep, follow, predicate }) =>
    isDeep && (!follow || predicate !== undefined) ? { nodes: [], deep: [folder] } : { nodes: [folder] },
  stat: ({ nodes, names }) => ({ nodes, names }),
  xattrs: ({ node }) => ({ nodes: [node] }),
  make: ({ folder }) => ({ nodes: [folder] }),
  link: ({ node, folder }) => ({ nodes: [node, folder] }),
  rename: ({ folder, node, toFolder, toName }) => ({
    nodes: [folder, toFolder],
    deep: [node],
    deepNames: [[toFolder, toName]],
    moves: [folder, toFolder],
  }),
  remove: ({ folder, node }) => ({ nodes: [folder, node] }),
  removeAll: ({ folder, node }) => ({ nodes: [folder], deep: [node] }),
  setAttr: ({ node }) => ({ nodes: [node] }),
  write: ({ node }) => ({ nodes: [node] }),
  getHash: undefined,
  fetch: undefined,
  findGet: undefined,
  detach: undefined,
  newNodes: undefined,
  status: undefined,
  space: undefined,
  settle: undefined,
  whenApplied: undefined,
  openers: undefined,
  announce: undefined,
  locate: undefined,
};

/** @returns undefined for a request of nothing that changes. */
export function touchedBy<Name extends VolumeRequestName>(
  name: Name,
  request: RequestOf<Name>,
): References | undefined {
  return TOUCHED_BY[name]?.(request);
}
