// Checks of the tree that several operations make before they change it. Throws RunnelError for a refusal; reads only.
import { type ErrorDetail, type ErrorKind, RunnelError } from "../../errors.ts";
import { LIMITS } from "../../limits.ts";
import { type NodeState, ROOT_NODE } from "../node.ts";
import type { TreeRows } from "./tree-rows.ts";

/** Far above what can come about: more is a damaged tree. */
const ANCESTORS_MAX = 2 * LIMITS.depth + 2;

export function refusal(kind: ErrorKind, message: string, detail: ErrorDetail = {}): RunnelError {
  return new RunnelError(kind, "plan", message, { detail });
}

export function notFound(tree: TreeRows, message: string): RunnelError {
  return refusal("NotFound", message, { asOf: tree.facts().seq });
}

/** A folder that still is in the tree. */
export function folderAt(tree: TreeRows, folder: number): NodeState {
  const state = tree.node(folder);
  if (state === undefined || state.nlink === 0) throw notFound(tree, `Folder ${folder} is not in the tree.`);
  if (state.type !== "folder") throw refusal("NotFolder", `Node ${folder} is a ${state.type}, not a folder.`);
  return state;
}

/** The folder, its parent, and so on up to the root. */
export function ancestors(tree: TreeRows, folder: number): number[] {
  const chain = [folder];
  for (let at = folder; at !== ROOT_NODE; chain.push(at)) {
    const parent = tree.namesOf(at)[0]?.folder;
    if (parent === undefined || chain.length > ANCESTORS_MAX) {
      throw new RunnelError("Corrupt", "plan", `Folder ${folder} does not lead to the root.`);
    }
    at = parent;
  }
  return chain;
}

/** Between the root and a name in `folder`. */
function depthOf(tree: TreeRows, folder: number): number {
  return ancestors(tree, folder).length - 1;
}

/** A name in `folder` would be at most LIMITS.depth folders below the root. */
export function checkDepth(tree: TreeRows, folder: number): void {
  const depth = depthOf(tree, folder);
  if (depth > LIMITS.depth) throw tooDeep(`The folder is ${depth} deep.`);
}

/** The same for the new name of a node and, when it is a folder, for all that it holds. */
export function checkMove(tree: TreeRows, moved: NodeState, folder: number, toFolder: number): void {
  checkDepth(tree, toFolder);
  let depth = depthOf(tree, toFolder);
  if (moved.type !== "folder" || depth <= depthOf(tree, folder)) return;
  for (let level = [moved]; level.length > 0; depth++) {
    if (depth >= LIMITS.depth && level.some(({ node }) => tree.hasNames(node)))
      throw tooDeep("The folder holds others that would be too deep.");
    level = level.flatMap((above) => foldersIn(tree, above));
  }
}

/** A folder counts those in it as links, so that one without any is not read. */
function foldersIn(tree: TreeRows, { node, nlink }: NodeState): NodeState[] {
  const folders: NodeState[] = [];
  for (let after = ""; folders.length < nlink - OWN_LINKS;) {
    const page = tree.list(node, after, PAGE_ENTRIES);
    folders.push(...page.map(({ state }) => state).filter(({ type }) => type === "folder"));
    if (page.length < PAGE_ENTRIES) break;
    after = page.at(-1)?.name ?? "";
  }
  return folders;
}

const OWN_LINKS = 2;
const PAGE_ENTRIES = 1000;

function tooDeep(message: string): RunnelError {
  return refusal("BadName", message, { rule: "depth", limit: LIMITS.depth });
}

/** `folder` is `node` or lies below it. */
export function isWithin(tree: TreeRows, folder: number, node: number): boolean {
  return ancestors(tree, folder).includes(node);
}

/** The state of the node that `name` is bound to, which must be `node`. */
export function boundAt(tree: TreeRows, folder: number, name: string, node: number): NodeState {
  const bound = tree.binding(folder, name);
  if (bound === undefined) throw notFound(tree, `The name is not bound in folder ${folder}.`);
  const state = nodeAt(tree, bound);
  if (bound !== node) {
    throw refusal("Stale", `The name is bound to ${bound}, not ${node}.`, { node: bound, current: state.version });
  }
  return state;
}

/** A node that a row names, so it must be there. */
export function nodeAt(tree: TreeRows, node: number): NodeState {
  const state = tree.node(node);
  if (state === undefined)
    throw new RunnelError("Corrupt", "plan", `Node ${node} has a row that names it and none of its own.`);
  return state;
}

/** The name is free. */
export function checkFree(tree: TreeRows, folder: number, name: string): void {
  const bound = tree.binding(folder, name);
  if (bound !== undefined) throw refusal("Exists", `The name is bound to ${bound}.`, { node: bound });
}
