// Finding and removing what may lie at a path of the served folder.
import type { DiskIdentity, DiskRoot } from "@runnel/shared";
import { isRunnelError } from "@runnel/shared";
import { conflictName } from "../../../meta/conflict-name.ts";
import { joinPath } from "./store-layout.ts";

/** A file or folder at a path. */
export type FoundEntry = DiskIdentity;

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
    return await root.identify(path);
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

/** Moves what lies at `from` to a free name beside `name` in a folder. @returns its path there. */
export async function moveToConflictCopy(
  root: DiskRoot,
  from: string,
  folder: string,
  name: string,
  wallNs: bigint,
): Promise<string> {
  for (let count = 1; ; count++) {
    const path = joinPath(folder, conflictName(name, wallNs, count));
    try {
      await root.rename(from, path, "keep");
      return path;
    } catch (error) {
      if (!isRunnelError(error, "Exists")) throw error;
    }
  }
}

/** Removes what an interruption left: a file, or an empty folder. */
export async function removeAny(root: DiskRoot, path: string): Promise<void> {
  try {
    await removeIfThere(root, path);
  } catch (error) {
    if (!isRunnelError(error, "IsFolder", "Denied")) throw error;
    await root.removeFolder(path);
  }
}
