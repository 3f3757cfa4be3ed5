// Opens a volume: its folder, its data, and the locks on both. Which engines it runs on is for index.ts (or a
// simulation).
import { join } from "node:path";
import type { Clock, Disk, DiskRoot, Executor } from "@runnel/shared";
import { RunnelError, STORE_FOLDER, TIMING, isRunnelError, withOpened } from "@runnel/shared";
import { enclosingVolume, markerFault, unreadable, wayOut } from "./content/folder/disk/marker.ts";
import type { Ownership } from "./content/folder/disk/attributes.ts";
import { openFolderEngine } from "./content/folder/folder-engine.ts";
import type { Creation } from "./meta/first-rows.ts";
import type { MetaStore } from "./meta/meta-store.ts";
import { openData, openServed } from "./served-folders.ts";
import type { OpenedVolume } from "./served-volume.ts";
import type { VolumeSettings } from "./server-api.ts";
import { ServingLock } from "./volume/serving-lock.ts";
import { foundVolumeId, knowVolumeId, volumeId } from "./volume/volume-id.ts";
import type { VolumeId } from "./volume/volume-id.ts";
import type { NamedNetworks } from "./colleagues/named-networks.ts";
import type { OldFolders } from "./upload/old-folders.ts";
import { Volume } from "./volume/volume.ts";

export interface VolumeHost {
  clock: Clock;
  executor: Executor;
  disk: Disk;
  dataFolder: string;
  termMs?: number;
  /** New files on disk belong to whom drives show; by default to the server's user. */
  keepsOwners?: boolean;
  /**
   * Opens the meta store in a folder of the volume's data. With `create` a fresh one takes the place of what is there.
   */
  openMeta(folder: string, create: Creation | undefined): Promise<MetaStore>;
  oldFolders?: OldFolders | undefined;
  networks?: NamedNetworks | undefined;
  warn(message: string, error?: unknown): void;
}

/**
 * Checks that the folder is the volume's, or has never been served: opening it makes sense. Touches nothing. @throws
 * RunnelError with a sentence for a person; Busy when another server serves it; Unavailable while it is another one, or
 * none [F21].
 */
export async function probeFolder(
  { name, folder }: VolumeSettings,
  { disk, dataFolder }: Pick<VolumeHost, "disk" | "dataFolder">,
): Promise<void> {
  await withOpened(await openServed(disk, folder), async (served) => {
    await ServingLock.check(disk, served, SERVED_NOTE, folder);
    const id = await idIn(disk, dataFolder, name);
    const fault = await markerFault(served, id?.id, id?.isKnown === true, name).catch((error: unknown) =>
      unreadableMarker(error, name),
    );
    if (fault !== undefined && fault !== "none yet") throw new RunnelError("Unavailable", "serve", fault);
  });
}

function unreadableMarker(error: unknown, name: string): string {
  if (!isRunnelError(error) || error.kind === "Version") throw error;
  return error.kind === "Corrupt" ? `${error.message} ${wayOut(name)}` : unreadable(error);
}

/** @returns undefined when there is no such volume's data yet. @throws Busy when another server has it. */
async function idIn(disk: Disk, dataFolder: string, name: string): Promise<VolumeId | undefined> {
  let data: DiskRoot;
  try {
    data = await disk.openRoot(join(dataFolder, name));
  } catch {
    // Whatever else it is, opening says.
    return undefined;
  }
  return withOpened(data, async () => {
    await ServingLock.check(disk, data, DATA_NOTE, `The volume ${name} in ${dataFolder}`);
    return foundVolumeId(data);
  });
}

/**
 * Opens a volume whose folder is there. `gone`: told once if it goes; the volume is to be closed and released then.
 * @throws RunnelError with a sentence for a person; Unavailable as probeFolder.
 */
export async function openVolume(
  { name, folder, hadClients = false }: VolumeSettings,
  host: VolumeHost,
  gone?: (reason: string) => void,
): Promise<OpenedVolume> {
  const { clock, executor, disk, warn } = host;
  const ownership: Ownership = {
    isPrivileged: process.geteuid?.() === 0,
    user: { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 },
    keepsOwners: host.keepsOwners === true,
  };
  const served = await openServed(disk, folder);
  const dataPath = join(host.dataFolder, name);
  const locks: ServingLock[] = [];
  let data: DiskRoot | undefined;
  const release = async (): Promise<void> => {
    for (const lock of locks) await lock.release();
    await served.close();
    await data?.close();
  };
  try {
    await mustStandAlone(disk, folder);
    const own = await openData(disk, dataPath, DATA_FOLDER_MODE);
    data = own;
    await ServingLock.check(disk, served, SERVED_NOTE, folder);
    locks.push(await ServingLock.take(disk, own, DATA_NOTE, `The volume ${name} in ${host.dataFolder}`));
    const volume = await Volume.open({
      name,
      clock,
      executor,
      data: own,
      hadClients,
      termMs: host.termMs ?? TIMING.leaseTermMs,
      oldFolders: host.oldFolders,
      networks: host.networks,
      openMeta: (create) => host.openMeta(join(dataPath, "meta"), create),
      openEngine: () =>
        openFolderEngine({
          disk,
          folder,
          clock,
          executor,
          settings: async () => {
            const { id, isKnown } = await volumeId(own);
            return { volume: id, name, wasServed: isKnown, ownership };
          },
          knownVolume: async () => (await foundVolumeId(own))?.id,
          ownership,
          warn,
        }),
      ...(gone === undefined ? {} : { gone }),
      warn,
    });
    try {
      await knowVolumeId(own);
      locks.push(await ServingLock.take(disk, served, SERVED_NOTE, folder));
    } catch (error) {
      await volume.close();
      throw error;
    }
    return { volume, folder, release };
  } catch (error) {
    await release();
    throw error;
  }
}

/** @throws RunnelError Invalid with a sentence for a person. */
export async function mustStandAlone(disk: Disk, folder: string): Promise<void> {
  const above = await enclosingVolume(disk, folder);
  if (above === undefined) return;
  throw new RunnelError(
    "Invalid",
    "serve",
    `${folder} lies inside ${above}, which is served: a folder cannot be served within another.`,
  );
}

export const SERVED_NOTE = `${STORE_FOLDER}/serving`;
export const DATA_NOTE = "serving";

const DATA_FOLDER_MODE = 0o700;
