// Checks of the tree that several operations make before they change it. Throws RunnelError for a refusal; reads only.
import { LIMITS, ROOT_NODE, RunnelError } from "@runnel/shared/model";
import type { ErrorDetail, ErrorKind, NodeState } from "@runnel/shared";
import type { MetaTables } from "../meta-tables.ts";

/** Far above what can come about: more is a damaged tree. */
const ANCESTORS_MAX = 2 * LIMITS.depth + 2;

export function refusal(kind: ErrorKind, message: string, detail: ErrorDetail = {}): RunnelError {
  return new RunnelError(kind, "plan", message, { detail });
}

export function notFound(tables: MetaTables, message: string): RunnelError {
  return refusal("NotFound", message, { asOf: tables.facts().seq });
}

/** A folder that still is in the tree. */
export function folderAt(tables: MetaTables, folder: number): NodeState {
  const state = tables.node(folder);
  if (state === undefined || state.nlink === 0) throw notFound(tables, `Folder ${folder} is not in the tree.`);
  if (state.type !== "folder") throw refusal("NotFolder", `Node ${folder} is a ${state.type}, not a folder.`);
  return state;
}

/** The folder, its parent, and so on up to the root. */
export function ancestors(tables: MetaTables, folder: number): number[] {
  const chain = [folder];
  for (let at = folder; at !== ROOT_NODE; chain.push(at)) {
    const parent = tables.namesOf(at)[0]?.folder;
    if (parent === undefined || chain.length > ANCESTORS_MAX) {
      throw new RunnelError("Corrupt", "plan", `Folder ${folder} does not lead to the root.`);
    }
    at = parent;
  }
  return chain;
}

/** Between the root and a name in `folder`. */
function depthOf(tables: MetaTables, folder: number): number {
  return ancestors(tables, folder).length - 1;
}

/** A name in `folder` would be at most LIMITS.depth folders below the root. */
export function checkDepth(tables: MetaTables, folder: number): void {
  const depth = depthOf(tables, folder);
  if (depth > LIMITS.depth) throw tooDeep(`The folder is ${depth} deep.`);
}

/** The same for the new name of a node and, when it is a folder, for all that it holds. */
export function checkMove(tables: MetaTables, moved: NodeState, folder: number, toFolder: number): void {
  checkDepth(tables, toFolder);
  let depth = depthOf(tables, toFolder);
  if (moved.type !== "folder" || depth <= depthOf(tables, folder)) return;
  for (let level = [moved]; level.length > 0; depth++) {
    if (depth >= LIMITS.depth && level.some(({ node }) => tables.hasNames(node)))
      throw tooDeep("The folder holds others that would be too deep.");
    level = level.flatMap((above) => foldersIn(tables, above));
  }
}

/** A folder counts those in it as links, so that one without any is not read. */
function foldersIn(tables: MetaTables, { node, nlink }: NodeState): NodeState[] {
  const folders: NodeState[] = [];
  for (let after = ""; folders.length < nlink - OWN_LINKS;) {
    const page = tables.list(node, after, PAGE_ENTRIES);
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
export function isWithin(tables: MetaTables, folder: number, node: number): boolean {
  return ancestors(tables, folder).includes(node);
}

/** The state of the node that `name` is bound to, which must be `node`. */
export function boundAt(tables: MetaTables, folder: number, name: string, node: number): NodeState {
  const bound = tables.binding(folder, name);
  if (bound === undefined) throw notFound(tables, `The name is not bound in folder ${folder}.`);
  const state = nodeAt(tables, bound);
  if (bound !== node) {
    throw refusal("Stale", `The name is bound to ${bound}, not ${node}.`, { node: bound, current: state.version });
  }
  return state;
}

/** A node that a row names, so it must be there. */
export function nodeAt(tables: MetaTables, node: number): NodeState {
  const state = tables.node(node);
  if (state === undefined)
    throw new RunnelError("Corrupt", "plan", `Node ${node} has a row that names it and none of its own.`);
  return state;
}

/** The name is free. */
export function checkFree(tables: MetaTables, folder: number, name: string): void {
  const bound = tables.binding(folder, name);
  if (bound !== undefined) throw refusal("Exists", `The name is bound to ${bound}.`, { node: bound });
}
