// How far bringing up had come, when nothing but the log and the folder is left to say so. Commits are brought up in order, so one that is evidently
// in the folder says the same of all before it [F65]. Reads only.
import { isSameHandle } from "../../content/folder/same-file.ts";
import type { SalvageCommit } from "./salvage-log.ts";
import type { Found, SalvageTree } from "./salvage-tree.ts";
import { stateOf } from "./salvage-tree.ts";

export interface ToShow {
  /** The commits that the folder does not show yet. */
  commits: SalvageCommit[];
  /** Those before that are not shown all the same, with the path they belong to now: a power cut need not keep the order of names within a batch. */
  torn: SalvageCommit[];
}

/** What is brought up with one sync is no more than this. */
const BATCH_COMMITS = 64;

export async function whatToShow(tree: SalvageTree, commits: readonly SalvageCommit[]): Promise<ToShow> {
  let from = await afterLastNoted(tree, commits);
  // Behind it there is nothing that a file would tell of: names that moved.
  for (let index = from; index < commits.length; index++) {
    const commit = commits[index] as SalvageCommit;
    if (await hasMoved(tree, commit, commits.slice(from, index))) from = index + 1;
  }
  const batch = commits.slice(Math.max(0, from - BATCH_COMMITS), from);
  const torn = [...(await tornNames(tree, batch)), ...(await tornContents(tree, batch, commits.slice(from)))];
  return { commits: commits.slice(from), torn: torn.toSorted((a, b) => a.seq - b.seq) };
}

/** Behind the last commit that a noted file tells of: the one it was made for, or the rename that brought it to where it lies. */
async function afterLastNoted(tree: SalvageTree, commits: readonly SalvageCommit[]): Promise<number> {
  let after = 0;
  for (const [index, commit] of commits.entries()) {
    if (commit.path === "" || (commit.operation.op !== "make" && commit.operation.op !== "write")) continue;
    for (const [path, renamedBy] of placesSince(commit, commits, index)) {
      if (await isNotedAt(tree, path, commit)) after = Math.max(after, renamedBy + 1);
    }
  }
  return after;
}

async function isNotedAt(tree: SalvageTree, path: string, commit: SalvageCommit): Promise<boolean> {
  const found = await tree.find(path);
  return found !== undefined && tree.notedFor(found)?.seq === commit.seq;
}

/** Where the commit's node can be, with the index of the commit that brought it there first; where it is in the end stands last. */
function placesSince(commit: SalvageCommit, commits: readonly SalvageCommit[], index: number): Map<string, number> {
  let path = commit.path;
  const places = new Map([[path, index]]);
  for (let at = index + 1; at < commits.length; at++) {
    const { operation, from, path: to } = commits[at] as SalvageCommit;
    if (operation.op !== "rename" || from === "") continue;
    const before = path;
    if (path === from) path = to;
    else if (path.startsWith(`${from}/`)) path = to + path.slice(from.length);
    else if (operation.how === "exchange" && path === to) path = from;
    if (path === before) continue;
    const first = places.get(path) ?? at;
    places.delete(path);
    places.set(path, first);
  }
  return places;
}

/** Names that nothing later is about, and that are not as the commit left them. */
async function tornNames(tree: SalvageTree, shown: readonly SalvageCommit[]): Promise<SalvageCommit[]> {
  const torn: SalvageCommit[] = [];
  for (const [index, commit] of shown.entries()) {
    const later = shown.slice(index + 1);
    if (commit.path === "" || later.some((other) => isAbout(other, commit.path) || isAbout(other, commit.from)))
      continue;
    if (await isTorn(tree, commit)) torn.push(commit);
  }
  return torn;
}

/** Its own names, or the folders above. */
function isAbout(commit: SalvageCommit, path: string): boolean {
  if (path === "") return false;
  return [commit.path, commit.from].some(
    (name) => name === path || (commit.operation.op === "rename" && path.startsWith(`${name}/`)),
  );
}

async function isTorn(tree: SalvageTree, commit: SalvageCommit): Promise<boolean> {
  const { operation, path, from, result, wallNs } = commit;
  const found = await tree.find(path);
  const source = from === "" ? undefined : await tree.find(from);
  switch (operation.op) {
    case "make":
      return found === undefined;
    case "link":
      return found === undefined && source !== undefined;
    case "rename":
      if (source === undefined || tree.isAnothers(source, result.node)) return false;
      if (operation.how !== "exchange") return !isSameHandle(found?.handle, source.handle) && isLike(source, commit);
      return found !== undefined && isLike(source, commit) && !isLike(found, commit);
    case "remove":
      return found !== undefined && !tree.isAnothers(found, result.node) && !tree.isNewer(path, found, wallNs);
    default:
      return false;
  }
}

async function tornContents(
  tree: SalvageTree,
  shown: readonly SalvageCommit[],
  rest: readonly SalvageCommit[],
): Promise<SalvageCommit[]> {
  const last = new Map<number, number>();
  for (const [index, { operation, result, change }] of shown.entries()) {
    if (operation.op === "write") last.set(result.node, index);
    const gone = change.nodes.filter(({ nlink }) => nlink === 0);
    for (const { node } of gone) last.delete(node);
  }
  const torn: SalvageCommit[] = [];
  for (const index of last.values()) {
    const commit = shown[index] as SalvageCommit;
    const places = [...placesSince(commit, [...shown, ...rest], index).keys()];
    let isThere = commit.path === "";
    for (const path of places) isThere ||= await isNotedAt(tree, path, commit);
    if (isThere) continue;
    const path = [...placesSince(commit, shown, index).keys()].at(-1) ?? commit.path;
    const found = await tree.find(path);
    const isOlder =
      found === undefined || (!tree.isAnothers(found, commit.result.node) && !tree.isNewer(path, found, commit.wallNs));
    if (isOlder) torn.push({ ...commit, path });
  }
  return torn;
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
