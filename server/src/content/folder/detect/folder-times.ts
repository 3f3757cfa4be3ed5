// Names came and went: a folder's own times are those on disk.
import type { DiskRoot, DiskStat } from "@runnel/shared";
import { ROOT_NODE, isRunnelError } from "@runnel/shared";
import { findAt } from "../disk/found.ts";
import { isSameHandle } from "../disk/same-file.ts";
import type { Observation } from "./observation.ts";
import type { ExternalChange, ExternalChangesDeps } from "./change-batch.ts";

/** Changes to be reported of the folders of these names. */
export async function folderTimes(
  { meta, rows, root }: Pick<ExternalChangesDeps, "meta" | "rows" | "root">,
  observed: readonly Observation[],
): Promise<ExternalChange[]> {
  const folders = [...new Set(observed.map(({ folder }) => folder))];
  const states = await meta.nodes(folders);
  const reported: ExternalChange[] = [];
  for (const [index, folder] of folders.entries()) {
    const state = states[index];
    const path = await rows.pathOf(folder);
    const row = await rows.firstOf(folder);
    if (state === undefined || path === undefined || row === undefined) continue;
    const stat = await statIfThere(root, path);
    const isReported = stat?.mtimeNs === state.mtimeNs && stat.mtimeNs === row.stat.mtimeNs;
    if (stat === undefined || isReported || stat.ino !== row.stat.ino) continue;
    // Inode numbers are used again: another folder's times are not this one's, whose absence is yet to be told.
    if (folder !== ROOT_NODE && !isSameHandle((await findAt(root, path))?.handle, row.handle)) continue;
    const disk = { ...row, stat: { ...stat, mode: row.stat.mode, uid: row.stat.uid, gid: row.stat.gid } };
    reported.push({
      operation: { op: "externalAttributes", node: folder, change: { mtimeNs: stat.mtimeNs }, disk },
      observed: undefined,
    });
  }
  return reported;
}

async function statIfThere(root: DiskRoot, path: string): Promise<DiskStat | undefined> {
  try {
    return await root.stat(path);
  } catch (error) {
    if (isRunnelError(error, "NotFound", "NotFolder")) return undefined;
    throw error;
  }
}
