// Finds what a power cut left undone of the batch that was under way: the disk need not keep the order in which its
// names were changed, so a commit can be shown without one before it [F65]. Reads only.
import { isSameHandle } from "../disk/same-file.ts";
import { bindsName, isLike, isIntentAt, nameAfter, placesSince } from "./places.ts";
import type { SalvageCommit } from "./salvage-log.ts";
import type { FoundEntry } from "../disk/found.ts";
import type { SalvageTree } from "./salvage-tree.ts";

type Rename = Extract<SalvageCommit["operation"], { op: "rename" }>;

/**
 * Commits of `shown` that are asked for and not shown all the same, in seq order, with the path they belong to after
 * all of `shown`.
 */
export async function interruptedOf(
  tree: SalvageTree,
  shown: readonly SalvageCommit[],
  rest: readonly SalvageCommit[],
  isAsked: (commit: SalvageCommit) => boolean,
): Promise<SalvageCommit[]> {
  const interrupted = await interruptedContents(tree, shown, rest, isAsked);
  for (const [index, commit] of shown.entries()) {
    if (commit.path === "" || !isAsked(commit)) continue;
    const name = await interruptedName(tree, commit, shown.slice(0, index), shown.slice(index + 1));
    if (name !== undefined) interrupted.push(name);
  }
  return interrupted.toSorted((a, b) => a.seq - b.seq);
}

async function interruptedName(
  tree: SalvageTree,
  commit: SalvageCommit,
  earlier: readonly SalvageCommit[],
  later: readonly SalvageCommit[],
): Promise<SalvageCommit | undefined> {
  switch (commit.operation.op) {
    case "make":
    case "link":
      return interruptedMake(tree, commit, later);
    case "rename":
      return commit.operation.how === "exchange"
        ? interruptedExchange(tree, commit, later)
        : interruptedRename(tree, commit, commit.operation, earlier, later);
    case "remove":
      return interruptedRemove(tree, commit, later);
    default:
      return undefined;
  }
}

/** It is nowhere on the way that later commits led it. */
async function interruptedMake(
  tree: SalvageTree,
  commit: SalvageCommit,
  later: readonly SalvageCommit[],
): Promise<SalvageCommit | undefined> {
  const path = nameAfter(commit, later);
  if (path === undefined || (await tree.find(path)) !== undefined) return undefined;
  const source = commit.operation.op === "link" ? await tree.find(commit.from) : undefined;
  if (commit.operation.op === "link" && source === undefined) return undefined;
  for (const place of placesSince(commit, [commit, ...later], 0).keys()) {
    const found = await tree.find(place);
    if (found === undefined) continue;
    if (source === undefined ? tree.isOf(found, commit.result.node) : isSameHandle(found.handle, source.handle))
      return undefined;
  }
  return { ...commit, path };
}

/**
 * The source has its old name still, which nothing later uses; what later commits put at the new one goes its own way.
 * Or what was replaced has that name: the two change places first.
 */
async function interruptedRename(
  tree: SalvageTree,
  commit: SalvageCommit,
  { folder, name, node }: Rename,
  earlier: readonly SalvageCommit[],
  later: readonly SalvageCommit[],
): Promise<SalvageCommit | undefined> {
  const { from } = commit;
  const source = await tree.find(from);
  if (source === undefined || later.some((each) => bindsName(each, from))) return undefined;
  const isFolder = source.stat.type === "folder";
  const removal: SalvageCommit = {
    ...commit,
    operation: { op: "remove", folder, name, node, isFolder },
    path: from,
    from: "",
  };
  const replaced = commit.change.nodes.find(({ node: each, nlink }) => nlink === 0 && tree.isOf(source, each));
  if (replaced !== undefined) return { ...removal, result: { ...commit.result, node: replaced.node } };
  if (!isNodes(tree, source, commit, earlier)) return undefined;
  const path = nameAfter(commit, later);
  // It was removed or replaced at its new name.
  if (path === undefined) return removal;
  if (isSameHandle((await tree.find(path))?.handle, source.handle)) return undefined;
  return { ...commit, path };
}

/**
 * Tells whether what lies at the node's name is the node's: recorded for it, or as one of the commits up to this one
 * left it.
 */
function isNodes(
  tree: SalvageTree,
  found: FoundEntry,
  commit: SalvageCommit,
  earlier: readonly SalvageCommit[],
): boolean {
  const { node } = commit.result;
  if (tree.ownerOf(found) !== undefined) return tree.isOf(found, node);
  if (isLike(found, commit)) return true;
  const own = earlier.filter(({ result }) => result.node === node);
  // Before its first write it had a content of which the log does not tell.
  const wasOlder =
    own.some(({ operation }) => operation.op === "write") && !tree.isNewer(commit.from, found, commit.wallNs);
  return own.some((each) => isLike(found, each)) || wasOlder;
}

async function interruptedExchange(
  tree: SalvageTree,
  commit: SalvageCommit,
  later: readonly SalvageCommit[],
): Promise<SalvageCommit | undefined> {
  const { from, path, result } = commit;
  if (later.some((each) => bindsName(each, from) || bindsName(each, path))) return undefined;
  const [source, found] = [await tree.find(from), await tree.find(path)];
  if (source === undefined || found === undefined || tree.isAnothers(source, result.node)) return undefined;
  // Two files can have the size and time of each other.
  const isUnmoved = tree.isOf(source, result.node) || (isLike(source, commit) && !isLike(found, commit));
  return isUnmoved ? commit : undefined;
}

/** A file that the removed one had replaced can have the name again: neither got onto the disk. */
async function interruptedRemove(
  tree: SalvageTree,
  commit: SalvageCommit,
  later: readonly SalvageCommit[],
): Promise<SalvageCommit | undefined> {
  const { path, result, wallNs } = commit;
  const found = await tree.find(path);
  if (found === undefined || later.some((each) => bindsName(each, path))) return undefined;
  if (tree.isNewer(path, found, wallNs)) return undefined;
  return tree.isAnothers(found, result.node) && !tree.isOfGone(found) ? undefined : commit;
}

async function interruptedContents(
  tree: SalvageTree,
  shown: readonly SalvageCommit[],
  rest: readonly SalvageCommit[],
  isAsked: (commit: SalvageCommit) => boolean,
): Promise<SalvageCommit[]> {
  const last = new Map<number, number>();
  for (const [index, { operation, result, change }] of shown.entries()) {
    if (operation.op === "write") last.set(result.node, index);
    const gone = change.nodes.filter(({ nlink }) => nlink === 0);
    for (const { node } of gone) last.delete(node);
  }
  const interrupted: SalvageCommit[] = [];
  for (const index of last.values()) {
    const commit = shown[index] as SalvageCommit;
    if (!isAsked(commit)) continue;
    const now: string[] = [];
    let isInterrupted = false;
    for (const name of commit.path === "" ? [] : [commit.path, ...commit.names]) {
      const path = nameAfter({ ...commit, path: name }, shown.slice(index + 1));
      if (path === undefined) continue;
      now.push(path);
      const places = placesSince({ ...commit, path: name }, [...shown, ...rest], index).keys();
      isInterrupted ||= await lacksContent(tree, commit, path, [...places]);
    }
    const [path, ...names] = now;
    if (isInterrupted && path !== undefined) interrupted.push({ ...commit, path, names });
  }
  return withBases(interrupted, shown.filter(isAsked));
}

/** Adds the contents that these copy from and later ones of the same files have followed, which nothing else holds. */
function withBases(interrupted: readonly SalvageCommit[], asked: readonly SalvageCommit[]): SalvageCommit[] {
  const found = new Map(interrupted.map((commit) => [commit.seq, commit]));
  const places = new Map(interrupted.map(({ result, path, names }) => [result.node, { path, names }]));
  for (const commit of found.values()) {
    if (commit.operation.op !== "write") continue;
    for (const run of commit.operation.content.runs) {
      const version = run.from === "version" ? run.version : undefined;
      const base = asked.find(({ result }) => result.version === version?.seq && result.node === version.node);
      const place = base && places.get(base.result.node);
      if (base?.operation.op === "write" && place !== undefined && !found.has(base.seq))
        found.set(base.seq, { ...base, ...place });
    }
  }
  return [...found.values()];
}

/** At this name, now at `path`, lies an older content of the node, or nothing. */
async function lacksContent(
  tree: SalvageTree,
  commit: SalvageCommit,
  path: string,
  places: readonly string[],
): Promise<boolean> {
  for (const place of places) if (await isIntentAt(tree, place, commit)) return false;
  const found = await tree.find(path);
  return (
    found === undefined || (!tree.isAnothers(found, commit.result.node) && !tree.isNewer(path, found, commit.wallNs))
  );
}
