// Planning of the operations on names that clients ask for: make, link, rename, remove. Pure decisions: reads the tree,
// changes nothing.
import { LIMITS } from "../../limits.ts";
import { isTextOfName } from "../name-text.ts";
import { checkName } from "../names.ts";
import type { NewAttributes, NodeState } from "../node.ts";
import { boundAt, checkDepth, checkFree, checkMove, folderAt, isWithin, nodeAt, notFound, refusal } from "./checks.ts";
import { Draft, unchanged } from "./draft.ts";
import type { Decision, TreeOperationOf, TreeRows } from "./tree-rows.ts";

/** 1 for a folder, which counts in its parent's nlink. */
export function subfolders(state: NodeState | undefined): number {
  return state?.type === "folder" ? 1 : 0;
}

/** The state of a node that comes into being with one name. */
export function newState(
  node: number,
  given: NewAttributes,
  fileBytes: number,
  version: number,
): Omit<NodeState, "seq" | "ctimeNs"> {
  const { type, mode, uid, gid, mtimeNs, rdev } = given;
  const target = type === "symlink" ? given.target : "";
  const sizeBytes = type === "file" ? fileBytes : Buffer.byteLength(target);
  return { node, type, mode, uid, gid, mtimeNs, rdev, target, sizeBytes, version, nlink: type === "folder" ? 2 : 1 };
}

function checkTarget(target: string): void {
  if (target === "" || target.includes("\0") || !target.isWellFormed() || !isTextOfName(target)) {
    throw refusal("BadName", "A symlink's target is not possible.", { rule: "target" });
  }
  if (Buffer.byteLength(target) > LIMITS.symlinkBytes) {
    throw refusal("BadName", "A symlink's target is too long.", { rule: "target", limit: LIMITS.symlinkBytes });
  }
}

export function decideMake(tree: TreeRows, operation: TreeOperationOf<"make">, wallNs: bigint): Decision {
  const { folder, name, node, attributes } = operation;
  folderAt(tree, folder);
  checkName(name);
  if (attributes.type === "symlink") checkTarget(attributes.target);
  if (node >= tree.facts().nextNode || tree.node(node) !== undefined) {
    throw refusal("Invalid", `Node id ${node} is in use or was never given out.`, { rule: "node id" });
  }
  const bound = tree.binding(folder, name);
  if (bound !== undefined && attributes.type === "folder" && nodeAt(tree, bound).type === "folder") {
    return unchanged(tree, bound);
  }
  checkFree(tree, folder, name);
  checkDepth(tree, folder);
  const draft = new Draft(tree, wallNs);
  draft.bind(folder, name, node);
  draft.add(newState(node, attributes, 0, 0));
  draft.editNames(folder, attributes.type === "folder" ? 1 : 0);
  return draft.decide(node);
}

export function decideLink(tree: TreeRows, operation: TreeOperationOf<"link">, wallNs: bigint): Decision {
  const { node, folder, name } = operation;
  const source = tree.node(node);
  if (source === undefined || source.nlink === 0) throw notFound(tree, `Node ${node} has no name.`);
  if (source.type === "folder") throw refusal("Denied", "A folder has one name only.");
  folderAt(tree, folder);
  checkName(name);
  checkFree(tree, folder, name);
  checkDepth(tree, folder);
  return draftLink(tree, operation, source, wallNs);
}

/** Drafts a link that has been checked. */
export function draftLink(
  tree: TreeRows,
  { folder, name }: { folder: number; name: string },
  source: NodeState,
  wallNs: bigint,
): Decision {
  const draft = new Draft(tree, wallNs);
  draft.bind(folder, name, source.node);
  draft.edit(source.node, { nlink: source.nlink + 1 });
  draft.editNames(folder, 0);
  return draft.decide(source.node);
}

/** rename(2): what may stand at the destination. */
function checkOver(tree: TreeRows, source: NodeState, replaced: NodeState): void {
  if (source.type !== "folder" && replaced.type === "folder") {
    throw refusal("IsFolder", "The destination is a folder.", { node: replaced.node });
  }
  if (source.type === "folder" && replaced.type !== "folder") {
    throw refusal("NotFolder", "The destination is not a folder.", { node: replaced.node });
  }
  if (replaced.type === "folder" && tree.hasNames(replaced.node)) {
    throw refusal("NotEmpty", "The destination is a folder that is not empty.", { node: replaced.node });
  }
}

/** A folder cannot move into itself or below. */
function checkNoCycle(tree: TreeRows, moved: NodeState, toFolder: number): void {
  if (moved.type === "folder" && isWithin(tree, toFolder, moved.node)) {
    throw refusal("Invalid", "A folder cannot be moved into itself.", { rule: "cycle" });
  }
}

/** Drafts a rename that has been checked; `over` is what the destination was bound to. */
export function draftRename(
  tree: TreeRows,
  place: { folder: number; name: string; toFolder: number; toName: string },
  source: NodeState,
  over: NodeState | undefined,
  wallNs: bigint,
): Decision {
  const draft = new Draft(tree, wallNs);
  draft.bind(place.folder, place.name, 0);
  draft.bind(place.toFolder, place.toName, source.node);
  draft.edit(source.node, {});
  if (over !== undefined) draft.takeName(over.node);
  draft.editNames(place.folder, -subfolders(source));
  draft.editNames(place.toFolder, subfolders(source) - subfolders(over));
  return draft.decide(source.node);
}

function draftExchange(
  tree: TreeRows,
  operation: TreeOperationOf<"rename">,
  source: NodeState,
  other: NodeState,
  wallNs: bigint,
): Decision {
  const draft = new Draft(tree, wallNs);
  draft.bind(operation.folder, operation.name, other.node);
  draft.bind(operation.toFolder, operation.toName, source.node);
  draft.edit(source.node, {});
  draft.edit(other.node, {});
  draft.editNames(operation.folder, subfolders(other) - subfolders(source));
  draft.editNames(operation.toFolder, subfolders(source) - subfolders(other));
  return draft.decide(source.node);
}

export function decideRename(tree: TreeRows, operation: TreeOperationOf<"rename">, wallNs: bigint): Decision {
  const { folder, name, node, toFolder, toName, how } = operation;
  folderAt(tree, folder);
  folderAt(tree, toFolder);
  checkName(toName);
  const source = boundAt(tree, folder, name, node);
  if (folder !== toFolder) {
    checkNoCycle(tree, source, toFolder);
    checkMove(tree, source, folder, toFolder);
  }
  const bound = tree.binding(toFolder, toName);
  if (how === "keep") checkFree(tree, toFolder, toName);
  if (how === "exchange" && bound === undefined) throw notFound(tree, "There is nothing to exchange with.");
  // rename(2): two names of one node stay as they are.
  if (bound === node) return unchanged(tree, node);
  const over = bound === undefined ? undefined : nodeAt(tree, bound);
  if (how === "exchange" && over !== undefined) {
    if (folder !== toFolder) {
      checkNoCycle(tree, over, folder);
      checkMove(tree, over, toFolder, folder);
    }
    return draftExchange(tree, operation, source, over, wallNs);
  }
  if (over !== undefined) checkOver(tree, source, over);
  return draftRename(tree, operation, source, over, wallNs);
}

/** Drafts a removal that has been checked. */
export function draftRemove(
  tree: TreeRows,
  place: { folder: number; name: string },
  removed: NodeState,
  wallNs: bigint,
): Decision {
  const draft = new Draft(tree, wallNs);
  draft.bind(place.folder, place.name, 0);
  draft.takeName(removed.node);
  draft.editNames(place.folder, -subfolders(removed));
  return draft.decide(removed.node);
}

export function decideRemove(tree: TreeRows, operation: TreeOperationOf<"remove">, wallNs: bigint): Decision {
  const { folder, name, node, isFolder } = operation;
  folderAt(tree, folder);
  const removed = boundAt(tree, folder, name, node);
  if (isFolder && removed.type !== "folder") throw refusal("NotFolder", `Node ${node} is not a folder.`, { node });
  if (!isFolder && removed.type === "folder") throw refusal("IsFolder", `Node ${node} is a folder.`, { node });
  if (isFolder && tree.hasNames(node)) throw refusal("NotEmpty", `Folder ${node} is not empty.`, { node });
  return draftRemove(tree, operation, removed, wallNs);
}
