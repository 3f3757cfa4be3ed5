// Files that came out of the tree: a commit removed or replaced them, and they are in temp/ now. The recorded version
// goes to the trash; anything else was written by another program and is kept as a conflict copy [F29].
import { isRunnelError } from "@runnel/shared";
import type { DiskRow } from "../../../meta/meta-store.ts";
import type { LiveTree } from "./live-tree.ts";
import type { FoundEntry } from "../disk/found.ts";
import { isSameContent, isSameHandle } from "../disk/same-file.ts";
import { joinPath } from "../disk/store-layout.ts";

export interface TakenOut {
  /** Path where it lies now, or lay before a crash. */
  temp: string;
  /** Row of the name. */
  row: DiskRow;
  /** The tuple was the recorded one just before; our rename has changed its ctime since. */
  wasRecorded: boolean;
  /** The node has further names, so its content stays. */
  hasOtherNames: boolean;
  /** Folder of a conflict copy, if it is another program's file. */
  folder: number;
  name: string;
}

function isOldFile({ row, wasRecorded }: TakenOut, found: FoundEntry): boolean {
  if (!isSameHandle(found.handle, row.handle)) return false;
  // An empty file has nothing to lose, whatever its mtime.
  if (found.stat.sizeBytes === 0 && row.stat.sizeBytes === 0) return true;
  return row.stat.type !== "file" || (wasRecorded && isSameContent(found.stat, row.stat));
}

/**
 * A file that a commit of the interrupted batch had made and another had replaced. Its handle is not recorded; it has
 * nothing to lose.
 */
function isOwnEmpty(tree: LiveTree, row: DiskRow, { stat, handle }: FoundEntry): boolean {
  return tree.isRetry && stat.type === "file" && stat.sizeBytes === 0 && !isSameHandle(handle, row.handle);
}

export async function settleTakenOut(tree: LiveTree, out: TakenOut): Promise<void> {
  const { temp, row } = out;
  const found = await tree.find(temp);
  const version = { node: row.node, seq: row.version };
  if (found === undefined) {
    // Before a crash it went its way; or another program had removed it first.
    const place = await tree.deps.trash.find(version, row.handle);
    if (place !== undefined) tree.rows.setPlace(version, place);
    else if (!out.hasOtherNames) await tree.lose(row);
    return;
  }
  if (!isOldFile(out, found) && !isOwnEmpty(tree, row, found)) {
    await tree.keepConflictCopy(temp, out.folder, out.name, true);
    if (!out.hasOtherNames) await tree.lose(row);
    return;
  }
  const isEmpty = found.stat.type === "file" && found.stat.sizeBytes === 0;
  const isWorthless = found.stat.type !== "file" || (isEmpty && !(await tree.hasWriter(temp)));
  if (out.hasOtherNames || isWorthless) {
    await tree.root.removeFile(temp);
    if (!out.hasOtherNames) await tree.shown.remove(found.handle);
    return;
  }
  const folder = (await tree.rows.pathOf(row.folder)) ?? "";
  const place = await tree.deps.trash.take(temp, version, joinPath(folder, row.name), found);
  if (!isEmpty) tree.rows.setPlace(version, place);
}

/** Moves what lies at `path` to `temp`, unless that was done before; tells whether it was the recorded file. */
export async function moveOut(tree: LiveTree, path: string, temp: string, row: DiskRow): Promise<boolean> {
  if (tree.isRetry && (await tree.find(temp)) !== undefined) return true;
  const before = await tree.find(path);
  if (before === undefined) return false;
  // The recorded file has gone its way before; a later commit or another program has used the name since.
  if (tree.isRetry && !isSameHandle(before.handle, row.handle)) {
    tree.probeLater(path);
    return true;
  }
  try {
    await tree.root.rename(path, temp, "keep");
  } catch (error) {
    if (!isRunnelError(error, "NotFound")) throw error;
  }
  return tree.isRecorded(row, before);
}
