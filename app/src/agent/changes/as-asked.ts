// Operations on the tree as the server is asked for them: what they take a name of is said by what programs saw, and
// nodes are named as the server knows them.
import { LIMITS } from "@runnel/shared";
import type { TreeOperation } from "@runnel/shared/tree";
import { withNodes } from "../journal/operation-nodes.ts";
import { isContentUnsent } from "./own-change.ts";
import type { OwnChanges } from "./own-changes.ts";
import type { PendingTree } from "./pending-tree.ts";

/**
 * Says what a change takes a name of, as programs see it now: of which file, or of nobody, also by then, where a rename
 * is to a name that is free here.
 */
export function asSeen(
  operation: TreeOperation,
  { pending, changes }: { pending: PendingTree; changes: OwnChanges },
): TreeOperation {
  if (operation.op !== "remove" && operation.op !== "rename") return operation;
  if (operation.op === "rename" ? operation.how !== "replace" : operation.isFolder) return operation;
  const [folder, name] =
    operation.op === "rename" ? [operation.toFolder, operation.toName] : [operation.folder, operation.name];
  const known = pending.lookup(folder, name);
  if (operation.op === "rename" && known.is === "absent") return { ...operation, how: "keep" };
  if (known.is !== "bound" || known.state.type !== "file") return operation;
  const { node, version, nlink } = known.state;
  // The content was to stay under another name: it is not to lose its last one.
  if (nlink > 1) return { ...operation, expects: { node, version: 0, own: [] } };
  const unsent = changes.savesOf(node).filter(isContentUnsent);
  const own = unsent.slice(-LIMITS.operationsAfter).map(({ n }) => n);
  return { ...operation, expects: { node, version: unsent[0]?.record.baseVersion ?? version, own } };
}

/**
 * Names nodes as the server knows them: what an operation on its way makes, which `making` says the number of, is its
 * result, −n ([W63]). What is expected is said only where others may have changed something unseen.
 */
export function asAsked(
  operation: TreeOperation,
  isCertain: boolean,
  making: (node: number) => number | undefined,
  real: (node: number) => number,
): TreeOperation {
  const told = isCertain && "expects" in operation ? { ...operation, expects: undefined } : operation;
  const idOf = (node: number): number => {
    const n = making(node);
    return n === undefined ? real(node) : -n;
  };
  return withNodes(told, idOf, real);
}
