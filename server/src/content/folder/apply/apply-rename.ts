// Applying rename [F28]. A name that is replaced is exchanged with the source first, so that it is never absent, and
// the old file is taken out at the source's place.
import { isRunnelError } from "@runnel/shared";
import type { DiskRow, Operation } from "../../../meta/meta-store.ts";
import type { AcceptedCommit } from "../../content-store.ts";
import type { LiveTree } from "./live-tree.ts";
import type { FoundEntry } from "../disk/found.ts";
import { stateAfter } from "./apply-make.ts";
import { refreshOtherNames } from "./apply-remove.ts";
import { isSameHandle } from "../disk/same-file.ts";
import { tempPath } from "../disk/store-layout.ts";
import { moveOut, settleTakenOut } from "./take-out.ts";

type Rename = Extract<Operation, { op: "rename" }>;

interface Move {
  commit: AcceptedCommit;
  operation: Rename;
  source: DiskRow;
  /** Row of the destination. */
  over: DiskRow | undefined;
  from: string;
  to: string;
  before: FoundEntry | undefined;
}

export async function applyRename(tree: LiveTree, commit: AcceptedCommit, operation: Rename): Promise<void> {
  const { folder, name, node, toFolder, toName } = operation;
  tree.touch(folder, stateAfter(commit, folder));
  tree.touch(toFolder, stateAfter(commit, toFolder));
  const source = await tree.rows.get(folder, name);
  const from = await tree.rows.pathOfName(folder, name);
  const to = await tree.rows.pathOfName(toFolder, toName);
  if (from === undefined || to === undefined) return;
  if (source === undefined || source.node !== node) {
    tree.probeLater(from);
    return tree.bindUnknown(node, toFolder, toName);
  }
  const over = await tree.rows.get(toFolder, toName);
  const move: Move = { commit, operation, source, over, from, to, before: await tree.find(from) };
  if (operation.how === "exchange" && over !== undefined) return exchange(tree, move, over);
  if (over === undefined) await moveToFreeName(tree, move);
  else await replace(tree, move, over);
  await recordMoved(tree, move);
}

async function recordMoved(tree: LiveTree, { operation, source, from, to, before }: Move): Promise<void> {
  tree.rows.remove(source);
  const row = { ...source, folder: operation.toFolder, name: operation.toName };
  if (!(await recordAt(tree, row, from, to, before))) tree.probeLater(from);
}

/**
 * Puts the rows of what has moved, of all its names since the ctime is new; `row` has its new one. False when another
 * program took or replaced it: the next probe finds out.
 */
async function recordAt(
  tree: LiveTree,
  row: DiskRow,
  from: string,
  to: string,
  before: FoundEntry | undefined,
): Promise<boolean> {
  const after = await tree.find(to);
  const isFolder = row.stat.type === "folder";
  const recorded = isFolder ? tree.recordedFolder(row, after) : tree.recorded(row, before, after);
  tree.rows.put({ ...row, ...recorded });
  if (isFolder) tree.folderMoved(from, to);
  else for (const name of await tree.rows.ofNode(row.node)) tree.rows.put({ ...name, ...recorded });
  const isThere = isSameHandle(after?.handle, row.handle) && recorded.stat !== row.stat;
  if (!isThere) tree.probeLater(to);
  return isThere;
}

/**
 * There is nothing to move: the source is at the destination already, or gone; or the commit was begun before and the
 * source's name has been used again since.
 */
async function isDone(tree: LiveTree, { source, to, before }: Move): Promise<boolean> {
  if (before === undefined) return true;
  if (tree.isRetry && !isSameHandle(before.handle, source.handle)) return true;
  return isSameHandle((await tree.find(to))?.handle, source.handle);
}

async function moveToFreeName(tree: LiveTree, move: Move): Promise<void> {
  const { operation, from } = move;
  if (await isDone(tree, move)) return;
  try {
    await tree.placeNew(from, operation.toFolder, operation.toName, async () => false);
  } catch (error) {
    if (!isRunnelError(error, "NotFound")) throw error;
  }
}

async function replace(tree: LiveTree, move: Move, over: DiskRow): Promise<void> {
  const { commit, operation, from, to, source } = move;
  const temp = tempPath(commit.seq, "old");
  const target = await tree.find(to);
  const hasOtherNames = (await tree.rows.ofNode(over.node)).length > 1;
  const wasRecorded = tree.isRetry || tree.isRecorded(over, target);
  if (!(await isDone(tree, move))) await exchangeOrMove(tree, move);
  if (over.stat.type === "folder") await removeReplacedFolder(tree, move, over);
  else {
    // The file that came out lies at the source's name.
    const out = await tree.find(from);
    if (out !== undefined && !isSameHandle(out.handle, source.handle)) await moveOut(tree, from, temp, over);
    await settleTakenOut(tree, {
      temp,
      row: over,
      wasRecorded,
      hasOtherNames,
      folder: operation.toFolder,
      name: operation.toName,
    });
  }
  tree.rows.remove(over);
  if (over.stat.type === "folder") tree.foldersMoved();
  else await refreshOtherNames(tree, over, wasRecorded);
}

async function exchangeOrMove(tree: LiveTree, move: Move): Promise<void> {
  await tree.folder(move.operation.toFolder);
  try {
    await tree.root.rename(move.from, move.to, "exchange");
  } catch (error) {
    if (!isRunnelError(error, "NotFound")) throw error;
    await moveToFreeName(tree, move);
  }
}

async function removeReplacedFolder(tree: LiveTree, { from, source, operation }: Move, over: DiskRow): Promise<void> {
  const out = await tree.find(from);
  if (out === undefined || isSameHandle(out.handle, source.handle)) return;
  try {
    if (isSameHandle(out.handle, over.handle)) return await tree.root.removeFolder(from);
  } catch (error) {
    if (!isRunnelError(error, "NotEmpty", "Exists")) throw error;
  }
  await tree.keepConflictCopy(from, operation.toFolder, operation.toName, true);
}

async function exchange(tree: LiveTree, move: Move, over: DiskRow): Promise<void> {
  const { source, from, to, operation } = move;
  const beforeOver = await tree.find(to);
  if (beforeOver !== undefined && !(await isDone(tree, move))) await tree.root.rename(from, to, "exchange");
  const swapped: DiskRow = { ...source, folder: operation.toFolder, name: operation.toName };
  const back: DiskRow = { ...over, folder: operation.folder, name: operation.name };
  await recordAt(tree, swapped, from, to, move.before);
  await recordAt(tree, back, to, from, beforeOver);
}
