// Applying setAttr [F28].
import type { DiskStat, SetStat } from "@runnel/shared";
import { ROOT_NODE, isRunnelError } from "@runnel/shared";
import type { DiskRow, Operation } from "../../../meta/meta-store.ts";
import type { AcceptedCommit } from "../../content-store.ts";
import { ignoreDenied } from "../disk/attributes.ts";
import type { LiveTree } from "./live-tree.ts";
import { stateAfter } from "./apply-make.ts";
import { isSameHandle, isSameTuple } from "../disk/same-file.ts";
import { keepShown } from "../disk/shown.ts";
import { STORE_FILE_MODE, tempPath } from "../disk/store-layout.ts";
import { removeIfThere } from "../disk/found.ts";
import { applyXattr } from "../disk/xattrs.ts";

type SetAttr = Extract<Operation, { op: "setAttr" }>;

/**
 * The tuple to record: the new one, unless another program's change shows in it, which the next probe has to find.
 * `change`: as stored.
 */
function recordedStat(row: DiskRow, before: DiskStat, after: DiskStat, change: SetStat, isRetry: boolean): DiskStat {
  // The folder's time is not asked of the disk: a name that this batch has put in it has changed that.
  if (row.stat.type === "folder") return { ...after, mtimeNs: change.mtimeNs ?? row.stat.mtimeNs };
  if (isRetry) {
    const mtimeNs = change.mtimeNs ?? row.stat.mtimeNs;
    return { ...row.stat, ...asTheyCameOut(change, after), mtimeNs, ctimeNs: -1n };
  }
  const isOurs = isSameTuple(before, row.stat) && after.sizeBytes === before.sizeBytes;
  return isOurs && after.mtimeNs === (change.mtimeNs ?? before.mtimeNs) ? after : row.stat;
}

/** A time that was neither there before an interruption nor is the change's own: another program has written to it. */
function isWritten(row: DiskRow, before: DiskStat, { mtimeNs }: SetStat): boolean {
  return row.stat.type === "file" && before.mtimeNs !== row.stat.mtimeNs && before.mtimeNs !== mtimeNs;
}

/** A tuple that no file has: the next probe compares the bytes. */
function unlikeAny(stat: DiskStat): DiskStat {
  return { ...stat, mtimeNs: -1n, ctimeNs: -1n };
}

/** Attributes that the change names, as the disk has them now. */
function asTheyCameOut({ mode, uid, gid }: SetStat, after: DiskStat): SetStat {
  return {
    ...(mode === undefined ? {} : { mode: after.mode }),
    ...(uid === undefined ? {} : { uid: after.uid }),
    ...(gid === undefined ? {} : { gid: after.gid }),
  };
}

function timeOf({ mtimeNs }: SetStat): SetStat {
  return mtimeNs === undefined ? {} : { mtimeNs };
}

/**
 * Time as the disk holds it: it may be coarser than ours, or end earlier (ext4: in 2446), or refuse it. When another
 * time came out than was asked for, an empty file of our own shows whether the disk did that or another program.
 */
async function asStored(
  tree: LiveTree,
  seq: number,
  change: SetStat,
  before: DiskStat,
  after: DiskStat,
): Promise<SetStat> {
  const { mtimeNs } = change;
  if (mtimeNs === undefined || after.mtimeNs === mtimeNs) return change;
  if (after.mtimeNs === before.mtimeNs) return { ...change, mtimeNs: before.mtimeNs };
  const probe = tempPath(seq, "new");
  await removeIfThere(tree.root, probe);
  await (await tree.root.open(probe, "createNew", STORE_FILE_MODE)).close();
  try {
    await ignoreDenied(tree.root.setStat(probe, { mtimeNs }));
    return { ...change, mtimeNs: (await tree.root.stat(probe)).mtimeNs };
  } finally {
    await removeIfThere(tree.root, probe);
  }
}

export async function applyAttributes(tree: LiveTree, commit: AcceptedCommit, operation: SetAttr): Promise<void> {
  const { node } = operation;
  const { xattr, xattrs: _none, ...settable } = operation.change;
  const row = await tree.rows.firstOf(node);
  const path = node === ROOT_NODE ? "" : row && (await tree.rows.pathOfName(row.folder, row.name));
  const state = stateAfter(commit, node);
  if (path === undefined || state === undefined) return;
  const before = await tree.find(path);
  if (before === undefined || (row !== undefined && !isSameHandle(before.handle, row.handle)))
    return tree.probeLater(path);
  // The owner of the served folder is the server's own business.
  const wanted: SetStat = node === ROOT_NODE ? timeOf(settable) : settable;
  try {
    await tree.setAttributes(path, state, wanted, { mode: before.stat.mode, owner: undefined }, before.handle);
  } catch (error) {
    // Another program has put something else there.
    if (!isRunnelError(error, "NotFound", "NotFolder")) throw error;
    return tree.probeLater(path);
  }
  tree.changesAttributes(node);
  const { mode, uid, gid } = settable;
  if (mode !== undefined || uid !== undefined || gid !== undefined) await keepShown(tree, path, state, false);
  // A time that an earlier commit of this batch gave the folder must not come back at its end.
  if (state.type === "folder" && settable.mtimeNs !== undefined) tree.touch(node, state);
  const xattrs = xattr === undefined ? row?.xattrs : await applyXattr(tree.root, path, xattr, row?.xattrs);
  const after = await tree.find(path);
  if (row === undefined || after === undefined || !isSameHandle(after.handle, row.handle)) return;
  const stored = await asStored(tree, commit.seq, settable, before.stat, after.stat);
  const isForeign = tree.isRetry && isWritten(row, before.stat, stored);
  if (isForeign) tree.probeLater(path);
  const recorded = recordedStat(row, before.stat, after.stat, stored, tree.isRetry);
  const stat = isForeign ? unlikeAny(recorded) : recorded;
  for (const each of node === ROOT_NODE ? [row] : await tree.rows.ofNode(node)) {
    const { xattrs: _before, ...rest } = each;
    tree.rows.put({ ...rest, stat, ...(xattrs === undefined ? {} : { xattrs }) });
  }
}
