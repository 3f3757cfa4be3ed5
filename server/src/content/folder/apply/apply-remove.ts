// Applying remove [F28].
import { isRunnelError } from "@runnel/shared";
import type { DiskRow, Operation } from "../../../meta/meta-store.ts";
import type { AcceptedCommit } from "../../content-store.ts";
import type { LiveTree } from "./live-tree.ts";
import { stateAfter } from "./apply-make.ts";
import { isSameHandle } from "../disk/same-file.ts";
import { tempPath } from "../disk/store-layout.ts";
import { moveOut, settleTakenOut } from "./take-out.ts";

type Remove = Extract<Operation, { op: "remove" }>;

export async function applyRemove(
  tree: LiveTree,
  commit: AcceptedCommit,
  { folder, name, node }: Remove,
): Promise<void> {
  tree.touch(folder, stateAfter(commit, folder));
  const row = await tree.rows.get(folder, name);
  const path = await tree.rows.pathOfName(folder, name);
  if (path === undefined) return;
  if (row === undefined || row.node !== node) return tree.probeLater(path);
  if (row.stat.type === "folder") return removeFolder(tree, row, path);
  const hasOtherNames = (await tree.rows.ofNode(node)).length > 1;
  const temp = tempPath(commit.seq, "old");
  const wasRecorded = await moveOut(tree, path, temp, row);
  await settleTakenOut(tree, { temp, row, wasRecorded, hasOtherNames, folder, name });
  tree.rows.remove(row);
  await refreshOtherNames(tree, row, wasRecorded);
}

/** The link count and ctime of a file's other names have changed with ours. */
export async function refreshOtherNames(tree: LiveTree, removed: DiskRow, wasRecorded: boolean): Promise<void> {
  const rows = await tree.rows.ofNode(removed.node);
  const first = rows[0];
  const path = first && (await tree.rows.pathOfName(first.folder, first.name));
  if (path === undefined) return;
  if (!wasRecorded) return tree.probeLater(path);
  const found = await tree.find(path);
  // The recorded file was just seen at the removed name, so size and mtime tell whether it still is.
  const before = found && { handle: found.handle, stat: removed.stat };
  for (const row of rows) tree.rows.put({ ...row, ...tree.recorded(row, before, found) });
}

/**
 * A folder that is not empty has got something from another program since. It stays, and the next probe takes it in as
 * a new folder with what is in it: the removal named the old one.
 */
async function removeFolder(tree: LiveTree, row: DiskRow, path: string): Promise<void> {
  const found = await tree.find(path);
  if (isSameHandle(found?.handle, row.handle)) {
    try {
      await tree.root.removeFolder(path);
    } catch (error) {
      if (!isRunnelError(error, "NotFound", "NotEmpty", "Exists", "NotFolder")) throw error;
      tree.probeLater(path);
    }
  } else if (found !== undefined) tree.probeLater(path);
  tree.rows.remove(row);
  tree.foldersMoved();
}
