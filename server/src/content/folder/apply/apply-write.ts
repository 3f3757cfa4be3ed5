// Applying write [F28]: the filled temp is exchanged with the old file, at every name the node has.
import type { DiskStat, NodeState } from "@runnel/shared";
import { isRunnelError } from "@runnel/shared";
import type { DiskRow } from "../../../meta/meta-store.ts";
import type { AcceptedCommit } from "../../content-store.ts";
import type { FilledTemp } from "../staging/filled-temp.ts";
import type { LiveTree } from "./live-tree.ts";
import type { FoundEntry } from "../disk/found.ts";
import type { PendingContent } from "../versions/pending-contents.ts";
import { probeRows, stateAfter } from "./apply-make.ts";
import { isSameHandle } from "../disk/same-file.ts";
import { keepShown } from "../disk/shown.ts";
import { tempPath } from "../disk/store-layout.ts";
import { removeIfThere } from "../disk/found.ts";
import { settleTakenOut } from "./take-out.ts";

export async function applyWrite(
  tree: LiveTree,
  commit: AcceptedCommit,
  content: PendingContent,
  temp: FilledTemp,
): Promise<void> {
  const { version, sizeBytes } = content;
  const rows = await firstThere(tree, await rowsOf(tree, version.node), temp.handle);
  const made = commit.change.bindings.find(({ node }) => node === version.node);
  const first = rows[0];
  content.isBeingApplied = true;
  if (first !== undefined && first.version > version.seq) {
    // Another program overwrote it before the interruption, which the log knows and the rows say already.
    return tree.rows.setPlace(version, { at: "lost" });
  }
  const isInPlace = !tree.isRetry && first !== undefined && isSameHandle(first.handle, temp.handle);
  if (!isInPlace) await tree.deps.holdPlaced(version, temp);
  if (first !== undefined) {
    // It is in place where its file was made with it.
    if (!isInPlace) await exchange(tree, commit, temp, first, rows);
  } else if (made !== undefined) await placeConflictCopy(tree, commit, temp, made);
  else return keepNameless(tree, content, temp);
  const names = first === undefined && made !== undefined ? [made] : rows;
  const stat = await recordedStat(tree, temp, sizeBytes, names);
  if (temp.open !== undefined && stat.ctimeNs >= 0n && content.recipe !== undefined) tree.deps.placed(version, stat);
  for (const { folder, name } of names) {
    const kept = first?.xattrs === undefined ? {} : { xattrs: first.xattrs };
    await tree.bind({ node: version.node, folder, name, handle: temp.handle, stat, version: version.seq, ...kept });
    tree.touch(folder, stateAfter(commit, folder));
  }
  if (sizeBytes > 0) tree.rows.setPlace(version, { at: "disk" });
  if (stat.ctimeNs < 0n) await probeRows(tree, names);
}

/** A node that has names in the tree and no row has lost them with the index: what lies there is unknown. */
async function rowsOf(tree: LiveTree, node: number): Promise<DiskRow[]> {
  const rows = await tree.rows.ofNode(node);
  if (rows.length > 0 || !tree.isRetry) return rows;
  const names = await tree.deps.meta.namesOf(node);
  const free = [];
  for (const name of names) if ((await tree.rows.get(name.folder, name.name)) === undefined) free.push(name);
  if (free.length === 0) return [];
  const stat = { ...(await tree.root.stat("")), type: "file" as const, ctimeNs: -1n };
  return free.map((name) => ({ ...name, node, version: 0, handle: new Uint8Array(0), stat }));
}

/**
 * Another program may have removed some of the names: the old file is taken out at one that has it, or had it before an
 * interruption.
 */
async function firstThere(tree: LiveTree, rows: DiskRow[], handle: Uint8Array): Promise<DiskRow[]> {
  if (rows.length < 2) return rows;
  for (const row of rows) {
    const path = await tree.rows.pathOfName(row.folder, row.name);
    const found = path === undefined ? undefined : await tree.find(path);
    if (isSameHandle(found?.handle, row.handle) || isSameHandle(found?.handle, handle))
      return [row, ...rows.filter((other) => other !== row)];
  }
  return rows;
}

/** A node that lost its name: its content goes to a new one. */
async function placeConflictCopy(
  tree: LiveTree,
  commit: AcceptedCommit,
  temp: FilledTemp,
  made: { folder: number; name: string; node: number },
): Promise<void> {
  if (temp.open === undefined) return;
  const state = stateAfter(commit, made.node);
  if (state !== undefined) await keepShown(tree, temp.path, state, true);
  await tree.placeNew(temp.path, made.folder, made.name, async () => false);
}

/** Unlinked while a program has it open: nobody finds it in the tree, the content is kept as an old one. */
async function keepNameless(tree: LiveTree, { version, sizeBytes }: PendingContent, temp: FilledTemp): Promise<void> {
  if (sizeBytes === 0) return removeIfThere(tree.root, temp.path);
  const { trash } = tree.deps;
  const place =
    temp.open === undefined
      ? await trash.find(version, temp.handle)
      : await trash.take(temp.path, version, "", { stat: temp.open.stat, handle: temp.handle });
  tree.rows.setPlace(version, place ?? { at: "lost" });
}

async function exchange(
  tree: LiveTree,
  commit: AcceptedCommit,
  temp: FilledTemp,
  first: DiskRow,
  rows: readonly DiskRow[],
): Promise<void> {
  let wasRecorded = true;
  if (temp.open !== undefined) wasRecorded = await putInPlace(tree, temp, first, stateAfter(commit, first.node));
  for (const row of rows.slice(1)) await relink(tree, commit.seq, first, temp.handle, row, wasRecorded);
  const { folder, name } = first;
  // Rolling the log forward can have put this file's handle or a later one's into the old version's row: its own is
  // what was logged for it.
  const isNewer = tree.isRetry && tree.deps.tempOf(first.handle) !== undefined;
  const row = isNewer ? { ...first, handle: tree.deps.intentHandle(first.version) ?? first.handle } : first;
  await settleTakenOut(tree, { temp: temp.path, row, wasRecorded, hasOtherNames: false, folder, name });
}

/** Afterwards the old file, if there was one, lies at the temp's path. Tells whether it was the recorded one. */
async function putInPlace(
  tree: LiveTree,
  temp: FilledTemp,
  row: DiskRow,
  state: NodeState | undefined,
): Promise<boolean> {
  const path = await tree.pathIn(row.folder, row.name);
  const before = await tree.find(path);
  if (before !== undefined) {
    try {
      await tree.root.copyXattrs(path, temp.path);
      if (state !== undefined) await keepShown(tree, temp.path, state, false);
      await tree.root.rename(temp.path, path, "exchange");
      return tree.isRecorded(row, before);
    } catch (error) {
      if (!isRunnelError(error, "NotFound")) throw error;
    }
  }
  if (state !== undefined) await keepShown(tree, temp.path, state, true);
  await tree.placeNew(temp.path, row.folder, row.name, async () => false);
  return false;
}

/** A further name of the node: an exchange at one name leaves the others with the old file. */
async function relink(
  tree: LiveTree,
  seq: number,
  first: DiskRow,
  handle: Uint8Array,
  row: DiskRow,
  wasRecorded: boolean,
): Promise<void> {
  const temp = tempPath(seq, "link");
  const out = { temp, row, wasRecorded, hasOtherNames: true, folder: row.folder, name: row.name };
  // An interruption left it: the new file not yet in place, or the old one not yet settled.
  const left = tree.isRetry ? await tree.find(temp) : undefined;
  if (isSameHandle(left?.handle, handle)) await removeIfThere(tree.root, temp);
  else if (left !== undefined) await settleTakenOut(tree, out);
  const from = await tree.rows.pathOfName(first.folder, first.name);
  const path = await tree.rows.pathOfName(row.folder, row.name);
  if (from === undefined || path === undefined) return;
  // Gone on since an interruption, both names.
  if (tree.isRetry && !isSameHandle((await tree.find(from))?.handle, handle)) return;
  if (isSameHandle((await tree.find(path))?.handle, handle)) return;
  await tree.folder(row.folder);
  await tree.root.link(from, temp);
  try {
    await tree.root.rename(temp, path, "exchange");
  } catch (error) {
    if (!isRunnelError(error, "NotFound")) throw error;
    await tree.placeNew(temp, row.folder, row.name, async () => false);
    return;
  }
  await settleTakenOut(tree, out);
}

function isAsFilled(stat: DiskStat, sizeBytes: number, mtimeNs: bigint): boolean {
  return stat.sizeBytes === sizeBytes && stat.mtimeNs === mtimeNs;
}

/**
 * The tuple after the exchange, if no other program has written since; else one that makes the next probe find that
 * out.
 */
async function recordedStat(
  tree: LiveTree,
  temp: FilledTemp,
  sizeBytes: number,
  names: readonly { folder: number; name: string }[],
): Promise<DiskStat> {
  const now = temp.open === undefined ? await findPlaced(tree, temp, names) : { stat: await temp.open.file.stat() };
  const mtimeNs = temp.open?.stat.mtimeNs ?? temp.mtimeNs;
  if (now !== undefined && isAsFilled(now.stat, sizeBytes, mtimeNs)) return now.stat;
  const like = now?.stat ?? (await tree.root.stat(""));
  return { ...like, type: "file", sizeBytes, mtimeNs, ctimeNs: -1n };
}

async function findPlaced(
  tree: LiveTree,
  temp: FilledTemp,
  names: readonly { folder: number; name: string }[],
): Promise<Pick<FoundEntry, "stat"> | undefined> {
  for (const { folder, name } of names) {
    const path = await tree.rows.pathOfName(folder, name);
    const found = path === undefined ? undefined : await tree.find(path);
    if (found !== undefined && isSameHandle(found.handle, temp.handle)) return found;
  }
  return undefined;
}
