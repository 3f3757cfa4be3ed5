// How far bringing up had come, when nothing but the log and the folder is left to say so. Commits are brought up in order, so one that is evidently
// in the folder says the same of all before it [F65]. Reads only.
import { isSameHandle } from "../../content/folder/same-file.ts";
import type { SalvageCommit } from "./salvage-log.ts";
import type { Found, SalvageTree } from "./salvage-tree.ts";
import { stateOf } from "./salvage-tree.ts";

/** The commits that the folder does not show yet. */
export async function notYetShown(tree: SalvageTree, commits: readonly SalvageCommit[]): Promise<SalvageCommit[]> {
  let from = await afterLastNoted(tree, commits);
  // Behind it there is nothing that a file would tell of: names that moved.
  for (let index = from; index < commits.length; index++) {
    const commit = commits[index] as SalvageCommit;
    if (await hasMoved(tree, commit, commits.slice(from, index))) from = index + 1;
  }
  return commits.slice(from);
}

/** Behind the last commit whose own file lies in the tree. */
async function afterLastNoted(tree: SalvageTree, commits: readonly SalvageCommit[]): Promise<number> {
  for (let index = commits.length - 1; index >= 0; index--) {
    const commit = commits[index] as SalvageCommit;
    if (commit.path === "" || (commit.operation.op !== "make" && commit.operation.op !== "write")) continue;
    for (const path of placesSince(commit, commits.slice(index + 1))) {
      const found = await tree.find(path);
      if (found !== undefined && tree.notedFor(found)?.seq === commit.seq) return index + 1;
    }
  }
  return 0;
}

/** Where the commit's node can be, depending on which of the renames that followed have been done. */
function placesSince(commit: SalvageCommit, later: readonly SalvageCommit[]): Set<string> {
  let path = commit.path;
  const places = new Set([path]);
  for (const { operation, from, path: to } of later) {
    if (operation.op !== "rename" || from === "") continue;
    if (path === from) path = to;
    else if (path.startsWith(`${from}/`)) path = to + path.slice(from.length);
    else if (operation.how === "exchange" && path === to) path = from;
    places.add(path);
  }
  return places;
}

async function hasMoved(tree: SalvageTree, commit: SalvageCommit, before: readonly SalvageCommit[]): Promise<boolean> {
  const { operation, from, path } = commit;
  if (from === "" || path === "" || (operation.op !== "rename" && operation.op !== "link")) return false;
  // One of those before would have made it: that it is not there says nothing.
  if (before.some((earlier) => earlier.path === from || from.startsWith(`${earlier.path}/`))) return false;
  const source = await tree.find(from);
  const target = await tree.find(path);
  if (target === undefined) return false;
  if (operation.op === "link") return isSameHandle(source?.handle, target.handle);
  if (operation.how !== "exchange") return source === undefined;
  return isLike(target, commit) && !(source !== undefined && isLike(source, commit));
}

function isLike({ stat }: Found, commit: SalvageCommit): boolean {
  const state = stateOf(commit, commit.result.node);
  if (state === undefined || state.type !== stat.type) return false;
  return stat.type !== "file" || (state.sizeBytes === stat.sizeBytes && state.mtimeNs === stat.mtimeNs);
}
