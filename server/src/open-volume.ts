// Opens a volume: its folder, its data, and the locks on both. Which engines it runs on is for index.ts (or a simulation).
import { join } from "node:path";
import type { Clock, Disk, Executor } from "@runnel/shared";
import { RunnelError, STORE_FOLDER, TIMING } from "@runnel/shared";
import { enclosingVolume } from "./content/folder/marker.ts";
import { openFolderStore } from "./content/folder/folder-store.ts";
import type { Creation } from "./meta/first-rows.ts";
import type { MetaStore } from "./meta/meta-store.ts";
import { openData, openServed } from "./served-folders.ts";
import type { OpenedVolume } from "./server.ts";
import { ServingLock } from "./volume/serving-lock.ts";
import { volumeId } from "./volume/volume-id.ts";
import { Volume } from "./volume/volume.ts";

export interface VolumeSettings {
  name: string;
  /** An existing folder; served as it is. */
  folder: string;
}

export interface VolumeHost {
  clock: Clock;
  executor: Executor;
  disk: Disk;
  dataFolder: string;
  termMs?: number;
  /** In a folder of the volume's data. `create`: a fresh one takes the place of what is there. */
  openMeta(folder: string, create: Creation | undefined): Promise<MetaStore>;
  warn(message: string, error?: unknown): void;
}

/** @throws RunnelError with a sentence for a person. */
export async function openVolume({ name, folder }: VolumeSettings, host: VolumeHost): Promise<OpenedVolume> {
  const { clock, executor, disk, warn } = host;
  const served = await openServed(disk, folder);
  const above = await enclosingVolume(disk, folder);
  if (above !== undefined) {
    await served.close();
    throw new RunnelError(
      "Invalid",
      "serve",
      `${folder} lies inside ${above}, which is served: a folder cannot be served within another.`,
    );
  }
  const dataPath = join(host.dataFolder, name);
  const locks: ServingLock[] = [];
  const release = async (): Promise<void> => {
    for (const lock of locks) await lock.release();
    await served.close();
  };
  try {
    const data = await openData(disk, dataPath, DATA_FOLDER_MODE);
    await ServingLock.check(disk, served, SERVED_NOTE, folder);
    locks.push(await ServingLock.take(disk, data, DATA_NOTE, `The volume ${name} in ${host.dataFolder}`));
    const volume = await Volume.open({
      name,
      clock,
      executor,
      disk,
      folder,
      data,
      termMs: host.termMs ?? TIMING.leaseTermMs,
      openMeta: (create) => host.openMeta(join(dataPath, "meta"), create),
      openContent: async (root, meta, contentHost) => {
        const id = await volumeId(data);
        const settings = { volume: id.id, wasServed: id.isKnown, isPrivileged: process.getuid?.() === 0 };
        return openFolderStore({ root, meta, clock, host: contentHost, executor, settings });
      },
      warn,
    });
    // Nobody shall take a folder that was never read for an empty one.
    if (volume.isNew) await volume.looked;
    if (volume.content.status().unavailable === undefined)
      locks.push(await ServingLock.take(disk, served, SERVED_NOTE, folder));
    return { volume, folder, release };
  } catch (error) {
    await release();
    throw error;
  }
}

const SERVED_NOTE = `${STORE_FOLDER}/serving`;
const DATA_NOTE = "serving";

const DATA_FOLDER_MODE = 0o700;
