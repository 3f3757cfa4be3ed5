// Finds what a start serves: the volumes of the command line, and those in the list of what was made before [F200].
// The two must not be at odds.
import { join } from "node:path";
import type { Disk } from "@runnel/shared";
import { RunnelError, isRunnelError, withOpened } from "@runnel/shared";
import { OWN_FOLDER } from "../auth/own-folder.ts";
import { realPath } from "../host/real-path.ts";
import { type ServedFolder, checkFolders } from "../served-folders.ts";
import type { ServerSettings } from "../server-api.ts";
import { OfferedFolders } from "./offered-folders.ts";
import { checkListed } from "./volume-maker.ts";
import { type ListedVolume, readVolumeList } from "./volume-list.ts";

export interface VolumesToServe {
  offered: OfferedFolders;
  listed: readonly ListedVolume[];
}

/**
 * Touches no folder. @throws RunnelError with a sentence for a person, as checkFolders, checkListed, readVolumeList.
 */
export async function volumesToServe(
  disk: Disk,
  { volumes, offer = [], dataFolder }: Pick<ServerSettings, "volumes" | "offer" | "dataFolder">,
): Promise<VolumesToServe> {
  await checkFolders(volumes, dataFolder);
  const offered = await OfferedFolders.open(disk, offer);
  const listed = await listedIn(disk, dataFolder);
  checkListed(listed, volumes);
  if (listed.length > 0) await checkFolders([...volumes, ...listed], dataFolder);
  return { offered, listed };
}

async function listedIn(disk: Disk, dataFolder: string): Promise<ListedVolume[]> {
  try {
    return await withOpened(await disk.openRoot(join(dataFolder, OWN_FOLDER)), readVolumeList);
  } catch (error) {
    // Opening says what else is wrong with the folder.
    if (isRunnelError(error, "Version", "Corrupt")) throw error;
    return [];
  }
}

/** @throws RunnelError Unavailable when a symlink has come into the path since the volume was made. */
export async function mustBeReal({ folder }: ServedFolder): Promise<void> {
  if ((await realPath(folder)) === folder) return;
  throw new RunnelError("Unavailable", "serve", `A symlink leads elsewhere now in ${folder}.`);
}
