// Planning of what other programs did to the served folder. The disk is compared with what was applied (the disk
// rows), never with the tree: where the tree has a commit that is not yet up for the same name or content, the
// operation is superseded, which is no change; applying the commit meets what lies there and settles it. Pure
// decisions: reads tables, changes none.
import { ROOT_NODE, checkName } from "@runnel/shared/model";
import type { NodeState } from "@runnel/shared";
import type { ExternalOperation } from "../meta-store.ts";
import type { MetaTables } from "../meta-tables.ts";
import {
  type Decision,
  Draft,
  checkDepth,
  checkMove,
  draftLink,
  draftRemove,
  draftRename,
  folderAt,
  isWithin,
  newState,
  nodeAt,
  notFound,
  pickAttributes,
  refusal,
  unchanged,
} from "@runnel/shared/tree";

type Op<Name extends ExternalOperation["op"]> = Extract<ExternalOperation, { op: Name }>;

/** A folder that a program used; undefined when the tree has lost it. */
function openFolder(tables: MetaTables, folder: number): NodeState | undefined {
  const state = tables.node(folder);
  if (state === undefined) throw notFound(tables, `Folder ${folder} is not known.`);
  return state.nlink === 0 ? undefined : folderAt(tables, folder);
}

/** Neither the tree nor what was applied binds the name. */
function isFree(tables: MetaTables, folder: number, name: string): boolean {
  return tables.binding(folder, name) === undefined && tables.diskRow(folder, name) === undefined;
}

/** The node at a name when tree and disk agree that it is this one. */
function agreed(tables: MetaTables, folder: number, name: string, node: number): NodeState | undefined {
  const isAgreed = tables.binding(folder, name) === node && tables.diskRow(folder, name)?.node === node;
  return isAgreed ? nodeAt(tables, node) : undefined;
}

/**
 * Tells whether the node may lose this name: not when its committed content is not applied (the program removed an
 * older one), nor when a folder got names that are not applied. @throws NotEmpty when names in it are on disk: they
 * have to be reported as removed first.
 */
function mayTake(tables: MetaTables, state: NodeState, folder: number, name: string): boolean {
  if (state.type !== "folder") return tables.diskRow(folder, name)?.version === state.version;
  if (tables.hasDiskRows(state.node))
    throw refusal("NotEmpty", `Folder ${state.node} has names on disk.`, { node: state.node });
  return !tables.hasNames(state.node);
}

export function decideExternalMake(tables: MetaTables, operation: Op<"externalMake">, wallNs: bigint): Decision {
  const { folder, name, attributes } = operation;
  checkName(name);
  if (openFolder(tables, folder) === undefined || !isFree(tables, folder, name)) {
    return unchanged(tables, tables.binding(folder, name) ?? 0);
  }
  checkDepth(tables, folder);
  const draft = new Draft(tables, wallNs);
  const node = tables.facts().nextNode;
  const version = attributes.type === "file" && operation.sizeBytes > 0 ? draft.seq : 0;
  draft.bind(folder, name, node);
  draft.add(newState(node, attributes, operation.sizeBytes, version));
  if (operation.xattrs !== undefined) draft.editXattrs(node, operation.xattrs.length > 0);
  draft.editNames(folder, attributes.type === "folder" ? 1 : 0);
  return draft.decide(node);
}

export function decideExternalLink(tables: MetaTables, operation: Op<"externalLink">, wallNs: bigint): Decision {
  const { node, folder, name } = operation;
  checkName(name);
  const source = tables.node(node);
  if (source === undefined) throw notFound(tables, `Node ${node} is not known.`);
  if (source.type === "folder") throw refusal("Denied", "A folder has one name only.");
  if (source.nlink === 0 || openFolder(tables, folder) === undefined || !isFree(tables, folder, name)) {
    return unchanged(tables, node);
  }
  checkDepth(tables, folder);
  return draftLink(tables, operation, source, wallNs);
}

export function decideExternalRename(tables: MetaTables, operation: Op<"externalRename">, wallNs: bigint): Decision {
  const { folder, name, node, toFolder, toName } = operation;
  checkName(toName);
  const source = agreed(tables, folder, name, node);
  const target = openFolder(tables, toFolder);
  const bound = tables.binding(toFolder, toName);
  if (source === undefined || target === undefined || bound === node) return unchanged(tables, node);
  if (bound !== tables.diskRow(toFolder, toName)?.node) return unchanged(tables, node);
  // The disk has no cycle, so the tree has moved on.
  if (source.type === "folder" && isWithin(tables, toFolder, node)) return unchanged(tables, node);
  if (folder !== toFolder) checkMove(tables, source, folder, toFolder);
  const over = bound === undefined ? undefined : nodeAt(tables, bound);
  if (over !== undefined && !mayTake(tables, over, toFolder, toName)) return unchanged(tables, node);
  return draftRename(tables, operation, source, over, wallNs);
}

export function decideExternalRemove(tables: MetaTables, operation: Op<"externalRemove">, wallNs: bigint): Decision {
  const { folder, name, node } = operation;
  const removed = agreed(tables, folder, name, node);
  if (removed === undefined || !mayTake(tables, removed, folder, name)) return unchanged(tables, node);
  return draftRemove(tables, operation, removed, wallNs);
}

/** A named node that is on disk. */
function presentNode(tables: MetaTables, node: number): NodeState | undefined {
  const state = tables.node(node);
  if (state === undefined) throw notFound(tables, `Node ${node} is not known.`);
  const isPresent = node === ROOT_NODE || tables.diskRowsOfNode(node).length > 0;
  return isPresent && state.nlink > 0 ? state : undefined;
}

export function decideExternalAttributes(
  tables: MetaTables,
  operation: Op<"externalAttributes">,
  wallNs: bigint,
): Decision {
  const { node, change } = operation;
  const state = presentNode(tables, node);
  if (state === undefined) return unchanged(tables, node);
  // The time is that of the content on disk, which a commit has superseded.
  const isOfOlder = state.type === "file" && tables.diskRowsOfNode(node)[0]?.version !== state.version;
  if (change.mtimeNs !== undefined && isOfOlder) return unchanged(tables, node);
  const draft = new Draft(tables, wallNs);
  draft.edit(node, pickAttributes(change));
  if (change.xattrs !== undefined) draft.editXattrs(node, change.xattrs.length > 0);
  return draft.decide(node);
}

export function decideExternalWrite(tables: MetaTables, operation: Op<"externalWrite">, wallNs: bigint): Decision {
  const { node, change, sizeBytes } = operation;
  const state = presentNode(tables, node);
  if (state === undefined) return unchanged(tables, node);
  if (state.type !== "file") throw refusal("Invalid", `Node ${node} is a ${state.type}.`, { rule: "file" });
  if (tables.diskRowsOfNode(node)[0]?.version !== state.version) return unchanged(tables, node);
  const draft = new Draft(tables, wallNs);
  draft.edit(node, { mtimeNs: wallNs, ...pickAttributes(change), sizeBytes, version: draft.seq });
  if (change.xattrs !== undefined) draft.editXattrs(node, change.xattrs.length > 0);
  return draft.decide(node);
}
