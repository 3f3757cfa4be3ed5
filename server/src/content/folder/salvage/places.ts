// Places where the commits of a log put things, and whether what lies there is theirs. Reads only.
import { movedBy } from "../../../commit-log/path-moves.ts";
import type { SalvageCommit } from "./salvage-log.ts";
import type { FoundEntry } from "../disk/found.ts";
import type { SalvageTree } from "./salvage-tree.ts";
import { stateOf } from "./salvage-tree.ts";

/** Path after the rename `commit` of the name that it concerns, when it was `path` before. */
function movedByCommit({ operation, from, path: to }: SalvageCommit, path: string): string {
  return operation.op === "rename" ? movedBy({ from, to, isExchange: operation.how === "exchange" }, path) : path;
}

/**
 * Places where the commit's node can be, with the index of the commit that brought it there first; where it is in the
 * end stands last.
 */
export function placesSince(
  commit: SalvageCommit,
  commits: readonly SalvageCommit[],
  index: number,
): Map<string, number> {
  let path = commit.path;
  const places = new Map([[path, index]]);
  for (let at = index + 1; at < commits.length; at++) {
    const before = path;
    path = movedByCommit(commits[at] as SalvageCommit, path);
    if (path === before) continue;
    const first = places.get(path) ?? at;
    places.delete(path);
    places.set(path, first);
  }
  return places;
}

/** Path that the name bound by the commit has after the commits behind it; undefined when one of them took it away. */
export function nameAfter(commit: SalvageCommit, later: readonly SalvageCommit[]): string | undefined {
  let path = commit.path;
  for (const each of later) {
    const moved = movedByCommit(each, path);
    if (moved === path && bindsName(each, path)) return undefined;
    path = moved;
  }
  return path;
}

/** Binds or unbinds this name itself, or a folder above it: a write does not. */
export function bindsName({ operation, path, from }: SalvageCommit, name: string): boolean {
  if (operation.op === "write" || operation.op === "setAttr") return false;
  const names = operation.op === "rename" ? [path, from] : [path];
  return names.some((each) => each === name || (operation.op === "rename" && name.startsWith(`${each}/`)));
}

/** Compares size and time with what the commit says of its node. */
export function isLike({ stat }: FoundEntry, commit: SalvageCommit): boolean {
  const state = stateOf(commit, commit.result.node);
  if (state === undefined || state.type !== stat.type) return false;
  return stat.type !== "file" || (state.sizeBytes === stat.sizeBytes && state.mtimeNs === stat.mtimeNs);
}

/** A file recorded for this very commit lies there. */
export async function isIntentAt(tree: SalvageTree, path: string, commit: SalvageCommit): Promise<boolean> {
  const found = await tree.find(path);
  return found !== undefined && tree.intentOf(found)?.seq === commit.seq;
}

/**
 * A rename that took another's name: both were exchanged, and a stop came before what came out was taken away. Its
 * node, when it was so.
 */
export function leftByExchange(
  tree: SalvageTree,
  { operation, change, result }: SalvageCommit,
  source: FoundEntry | undefined,
  target: FoundEntry | undefined,
): number | undefined {
  const out = change.replaces?.node;
  if (operation.op !== "rename" || operation.how === "exchange" || out === undefined) return undefined;
  if (source === undefined || target === undefined) return undefined;
  return tree.isOf(source, out) && tree.isOf(target, result.node) ? out : undefined;
}
