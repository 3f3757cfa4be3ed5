// Finds how far applying had come, when nothing but the log and the folder is left to say so. Commits are applied in
// order, so one that is evidently in the folder says the same of all before it but those that waited [F65]. Reads only.
import { isSameHandle } from "../disk/same-file.ts";
import type { SalvageCommit, SalvageLog } from "./salvage-log.ts";
import { isLike, isIntentAt, leftByExchange, placesSince } from "./places.ts";
import type { SalvageTree } from "./salvage-tree.ts";
import { interruptedOf } from "./interrupted-batch.ts";

export interface ToShow {
  /** The commits that the folder does not show yet. */
  commits: SalvageCommit[];
  /**
   * Commits before those that are not shown all the same, with the path they belong to now: a power cut need not keep
   * the order of names within a batch.
   */
  interrupted: SalvageCommit[];
}

/** Commits applied with one sync are no more than this. */
const BATCH_COMMITS = 64;

export async function whatToShow(tree: SalvageTree, { commits, waited }: SalvageLog): Promise<ToShow> {
  let from = await afterLastIntent(tree, commits);
  // Behind it there is nothing that a file would tell of: names that moved.
  for (let index = from; index < commits.length; index++) {
    const commit = commits[index] as SalvageCommit;
    if (await hasMoved(tree, commit, commits.slice(from, index))) from = index + 1;
  }
  const batch = new Set(commits.slice(Math.max(0, from - BATCH_COMMITS), from));
  // Later ones say nothing of what waited.
  const isAsked = (commit: SalvageCommit): boolean => batch.has(commit) || waited.has(commit.seq);
  const shown = commits.slice(0, from);
  const first = shown.findIndex(isAsked);
  const interrupted = first < 0 ? [] : await interruptedOf(tree, shown.slice(first), commits.slice(from), isAsked);
  return { commits: commits.slice(from), interrupted };
}

/**
 * Behind the last commit that a recorded file tells of: the one it was made for, or the rename that brought it to where
 * it lies.
 */
async function afterLastIntent(tree: SalvageTree, commits: readonly SalvageCommit[]): Promise<number> {
  let after = 0;
  for (const [index, commit] of commits.entries()) {
    if (commit.path === "" || (commit.operation.op !== "make" && commit.operation.op !== "write")) continue;
    for (const [path, renamedBy] of placesSince(commit, commits, index)) {
      if (await isIntentAt(tree, path, commit)) after = Math.max(after, renamedBy + 1);
    }
  }
  return after;
}

async function hasMoved(tree: SalvageTree, commit: SalvageCommit, before: readonly SalvageCommit[]): Promise<boolean> {
  const { operation, from, path } = commit;
  if (from === "" || path === "" || (operation.op !== "rename" && operation.op !== "link")) return false;
  const source = await tree.find(from);
  const target = await tree.find(path);
  if (target === undefined) return false;
  const { node } = commit.result;
  // It comes back to where it was before: that it is there says nothing.
  if (before.some((earlier) => tookFrom(earlier, path, node))) return false;
  if (leftByExchange(tree, commit, source, target) !== undefined) return false;
  if (operation.op === "rename" && tree.ownerOf(target) !== undefined) return tree.isOf(target, node);
  // A commit before would have made it: that it is not there says nothing.
  if (before.some((earlier) => earlier.path === from || from.startsWith(`${earlier.path}/`))) return false;
  if (operation.op === "link") return isSameHandle(source?.handle, target.handle);
  if (operation.how !== "exchange") return source === undefined;
  return isLike(target, commit) && !(source !== undefined && isLike(source, commit));
}

/** Before the commit the node had this name, and has not after it. */
function tookFrom({ operation, from, path, result, change }: SalvageCommit, name: string, node: number): boolean {
  if (operation.op === "remove") return path === name && result.node === node;
  if (operation.op !== "rename") return false;
  if (from === name) return result.node === node;
  if (path !== name) return false;
  return operation.how === "exchange"
    ? change.bindings.some((each) => each.node === node)
    : change.replaces?.node === node;
}
