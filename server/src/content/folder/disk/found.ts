// Finding and removing what may lie at a path of the served folder.
import type { DiskRoot, DiskStat } from "@runnel/shared";
import { isRunnelError } from "@runnel/shared";

/** A file or folder at a path: its stat tuple and its identity. */
export interface FoundEntry {
  stat: DiskStat;
  handle: Uint8Array;
}

/** Names to be compared with the rows once a batch is stored. */
export interface Probes {
  paths: string[];
  /** Folders to be listed. */
  folders: number[];
  moves: { from: string; to: string }[];
}

/** @returns undefined when nothing lies there. */
export async function findAt(root: DiskRoot, path: string): Promise<FoundEntry | undefined> {
  try {
    const [stat, handle] = await Promise.all([root.stat(path), root.handle(path)]);
    return { stat, handle };
  } catch (error) {
    if (isRunnelError(error, "NotFound", "NotFolder")) return undefined;
    throw error;
  }
}

export async function removeIfThere(root: DiskRoot, path: string): Promise<void> {
  try {
    await root.removeFile(path);
  } catch (error) {
    if (!isRunnelError(error, "NotFound")) throw error;
  }
}
