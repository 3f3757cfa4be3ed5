// Planning of the operations on names that clients ask for: make, link, rename, remove. Pure decisions: reads tables,
// changes none.
import { LIMITS, checkName, isTextOfName } from "@runnel/shared/model";
import type { NewAttributes, NodeState } from "@runnel/shared";
import type { Operation } from "../meta-store.ts";
import type { MetaTables } from "../meta-tables.ts";
import { boundAt, checkDepth, checkFree, checkMove, folderAt, isWithin, nodeAt, notFound, refusal } from "./checks.ts";
import { Draft, unchanged } from "./draft.ts";
import type { Decision } from "./draft.ts";

type Op<Name extends Operation["op"]> = Extract<Operation, { op: Name }>;

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

export function decideMake(tables: MetaTables, operation: Op<"make">, wallNs: bigint): Decision {
  const { folder, name, node, attributes } = operation;
  folderAt(tables, folder);
  checkName(name);
  if (attributes.type === "symlink") checkTarget(attributes.target);
  if (node >= tables.facts().nextNode || tables.node(node) !== undefined) {
    throw refusal("Invalid", `Node id ${node} is in use or was never given out.`, { rule: "node id" });
  }
  const bound = tables.binding(folder, name);
  if (bound !== undefined && attributes.type === "folder" && nodeAt(tables, bound).type === "folder") {
    return unchanged(tables, bound);
  }
  checkFree(tables, folder, name);
  checkDepth(tables, folder);
  const draft = new Draft(tables, wallNs);
  draft.bind(folder, name, node);
  draft.add(newState(node, attributes, 0, 0));
  draft.editNames(folder, attributes.type === "folder" ? 1 : 0);
  return draft.decide(node);
}

export function decideLink(tables: MetaTables, operation: Op<"link">, wallNs: bigint): Decision {
  const { node, folder, name } = operation;
  const source = tables.node(node);
  if (source === undefined || source.nlink === 0) throw notFound(tables, `Node ${node} has no name.`);
  if (source.type === "folder") throw refusal("Denied", "A folder has one name only.");
  folderAt(tables, folder);
  checkName(name);
  checkFree(tables, folder, name);
  checkDepth(tables, folder);
  const draft = new Draft(tables, wallNs);
  draft.bind(folder, name, node);
  draft.edit(node, { nlink: source.nlink + 1 });
  draft.editNames(folder, 0);
  return draft.decide(node);
}

/** rename(2): what may stand at the destination. */
function checkOver(tables: MetaTables, source: NodeState, replaced: NodeState): void {
  if (source.type !== "folder" && replaced.type === "folder") {
    throw refusal("IsFolder", "The destination is a folder.", { node: replaced.node });
  }
  if (source.type === "folder" && replaced.type !== "folder") {
    throw refusal("NotFolder", "The destination is not a folder.", { node: replaced.node });
  }
  if (replaced.type === "folder" && tables.hasNames(replaced.node)) {
    throw refusal("NotEmpty", "The destination is a folder that is not empty.", { node: replaced.node });
  }
}

/** A folder cannot move into itself or below. */
function checkNoCycle(tables: MetaTables, moved: NodeState, toFolder: number): void {
  if (moved.type === "folder" && isWithin(tables, toFolder, moved.node)) {
    throw refusal("Invalid", "A folder cannot be moved into itself.", { rule: "cycle" });
  }
}

/** Drafts a rename that has been checked; `over` is what the destination was bound to. */
export function draftRename(
  tables: MetaTables,
  place: { folder: number; name: string; toFolder: number; toName: string },
  source: NodeState,
  over: NodeState | undefined,
  wallNs: bigint,
): Decision {
  const draft = new Draft(tables, wallNs);
  draft.bind(place.folder, place.name, 0);
  draft.bind(place.toFolder, place.toName, source.node);
  draft.edit(source.node, {});
  if (over !== undefined) draft.takeName(over.node);
  draft.editNames(place.folder, -subfolders(source));
  draft.editNames(place.toFolder, subfolders(source) - subfolders(over));
  return draft.decide(source.node);
}

function draftExchange(
  tables: MetaTables,
  operation: Op<"rename">,
  source: NodeState,
  other: NodeState,
  wallNs: bigint,
): Decision {
  const draft = new Draft(tables, wallNs);
  draft.bind(operation.folder, operation.name, other.node);
  draft.bind(operation.toFolder, operation.toName, source.node);
  draft.edit(source.node, {});
  draft.edit(other.node, {});
  draft.editNames(operation.folder, subfolders(other) - subfolders(source));
  draft.editNames(operation.toFolder, subfolders(source) - subfolders(other));
  return draft.decide(source.node);
}

export function decideRename(tables: MetaTables, operation: Op<"rename">, wallNs: bigint): Decision {
  const { folder, name, node, toFolder, toName, how } = operation;
  folderAt(tables, folder);
  folderAt(tables, toFolder);
  checkName(toName);
  const source = boundAt(tables, folder, name, node);
  if (folder !== toFolder) {
    checkNoCycle(tables, source, toFolder);
    checkMove(tables, source, folder, toFolder);
  }
  const bound = tables.binding(toFolder, toName);
  if (how === "keep") checkFree(tables, toFolder, toName);
  if (how === "exchange" && bound === undefined) throw notFound(tables, "There is nothing to exchange with.");
  // rename(2): two names of one node stay as they are.
  if (bound === node) return unchanged(tables, node);
  const over = bound === undefined ? undefined : nodeAt(tables, bound);
  if (how === "exchange" && over !== undefined) {
    if (folder !== toFolder) {
      checkNoCycle(tables, over, folder);
      checkMove(tables, over, toFolder, folder);
    }
    return draftExchange(tables, operation, source, over, wallNs);
  }
  if (over !== undefined) checkOver(tables, source, over);
  return draftRename(tables, operation, source, over, wallNs);
}

/** Drafts a removal that has been checked. */
export function draftRemove(
  tables: MetaTables,
  place: { folder: number; name: string },
  removed: NodeState,
  wallNs: bigint,
): Decision {
  const draft = new Draft(tables, wallNs);
  draft.bind(place.folder, place.name, 0);
  draft.takeName(removed.node);
  draft.editNames(place.folder, -subfolders(removed));
  return draft.decide(removed.node);
}

export function decideRemove(tables: MetaTables, operation: Op<"remove">, wallNs: bigint): Decision {
  const { folder, name, node, isFolder } = operation;
  folderAt(tables, folder);
  const removed = boundAt(tables, folder, name, node);
  if (isFolder && removed.type !== "folder") throw refusal("NotFolder", `Node ${node} is not a folder.`, { node });
  if (!isFolder && removed.type === "folder") throw refusal("IsFolder", `Node ${node} is a folder.`, { node });
  if (isFolder && tables.hasNames(node)) throw refusal("NotEmpty", `Folder ${node} is not empty.`, { node });
  return draftRemove(tables, operation, removed, wallNs);
}
