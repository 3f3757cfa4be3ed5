// The paths that a commit concerns, for its log record: ids mean nothing to a meta store made anew, paths do
// (docs/FORMAT.md [F63]). Reads only.
import { LIMITS, ROOT_NODE } from "@runnel/shared/model";
import type { Change } from "@runnel/shared";
import type { ExternalOperation, Operation, OperationPaths, OperationResult } from "../meta-store.ts";
import type { MetaTables } from "../meta-tables.ts";

/**
 * Bound on the ancestors that are walked, like that of the tree's rules: more is a damaged tree, in which nothing has a
 * path.
 */
const DEPTH_MAX = 2 * LIMITS.depth + 2;
/** A record stays small, however many names a file has. */
const NAMES_MAX = 64;

/** The place of a name that the operation takes away, as it is before. */
export function pathBefore(tables: MetaTables, operation: Operation | ExternalOperation): string {
  switch (operation.op) {
    case "rename":
    case "remove":
    case "externalRename":
    case "externalRemove":
      return pathOfName(tables, operation.folder, operation.name);
    case "link":
      return pathOfNode(tables, operation.node);
    default:
      return "";
  }
}

/** Once the operation is applied. `before`: what pathBefore said then. */
export function pathsAfter(
  tables: MetaTables,
  operation: Operation | ExternalOperation,
  { change, result }: { change: Change; result: OperationResult },
  before: string,
): OperationPaths {
  const paths = { path: "", from: "", sources: [], names: [], files: filesOf(tables, change, result.node) };
  switch (operation.op) {
    case "remove":
    case "externalRemove":
      return { ...paths, path: before };
    case "rename":
    case "externalRename":
      return { ...paths, path: pathOfName(tables, operation.toFolder, operation.toName), from: before };
    case "link":
    case "externalLink":
      return { ...paths, path: pathOfName(tables, operation.folder, operation.name), from: before };
    case "write": {
      const [path = "", ...names] = pathsOfNode(tables, result.node);
      return { ...paths, path, names, sources: sourcesOf(tables, operation, result.node) };
    }
    default:
      return { ...paths, path: pathOfNode(tables, result.node) };
  }
}

/** The node's own file, and those of what it replaces or changes places with. */
function filesOf(tables: MetaTables, { bindings, replaces }: Change, own: number): OperationPaths["files"] {
  const nodes = new Set([own, ...bindings.map(({ node }) => node), replaces?.node ?? 0]);
  return [...nodes].flatMap((node) => {
    const row = node === 0 ? undefined : tables.diskRowsOfNode(node)[0];
    return row === undefined || row.handle.length === 0 ? [] : [{ node, handle: row.handle }];
  });
}

/** Finds where the other files lie that a write copies from. */
function sourcesOf(tables: MetaTables, operation: Operation & { op: "write" }, own: number): OperationPaths["sources"] {
  const nodes = new Set<number>();
  for (const run of operation.content.runs)
    if (run.from === "version" && run.version.node !== own) nodes.add(run.version.node);
  return [...nodes].map((node) => ({ node, path: pathOfNode(tables, node) })).filter(({ path }) => path !== "");
}

/** Returns the path of its first name; "" for the root and for what has no name. */
function pathOfNode(tables: MetaTables, node: number): string {
  const first = node === ROOT_NODE ? undefined : tables.namesOf(node)[0];
  return first === undefined ? "" : pathOfName(tables, first.folder, first.name);
}

function pathsOfNode(tables: MetaTables, node: number): string[] {
  const names = tables.namesOf(node).slice(0, NAMES_MAX);
  return names.map(({ folder, name }) => pathOfName(tables, folder, name)).filter((path) => path !== "");
}

function pathOfName(tables: MetaTables, folder: number, name: string): string {
  const names = [name];
  for (let at = folder; at !== ROOT_NODE;) {
    const above = tables.namesOf(at)[0];
    if (above === undefined || names.length > DEPTH_MAX) return "";
    names.unshift(above.name);
    at = above.folder;
  }
  return names.join("/");
}
