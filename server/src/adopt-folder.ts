// Takes a folder in anew, on purpose [F113]: it becomes the volume's whatever its marker says, as it is, in a new
// epoch. For a server whose data were lost, and for a folder that came back from a backup. What the volume had before
// is set aside, never destroyed. Opening the volume is left to open-volume.ts.
import { join } from "node:path";
import type { Disk, DiskRoot } from "@runnel/shared";
import { RunnelError, fromSystemError, isRunnelError, wallMs, withOpened } from "@runnel/shared";
import { SET_ASIDE_FOLDER } from "./auth/own-folder.ts";
import { ROOT_ROW } from "./content/folder/disk/disk-rows.ts";
import { FOLDER_FORMAT, createMarker, readMarker, rootFault } from "./content/folder/disk/marker.ts";
import { STORE_FOLDER, TEMP_FOLDER } from "./content/folder/disk/store-layout.ts";
import type { MetaStore } from "./meta/meta-store.ts";
import { DATA_NOTE, SERVED_NOTE, type VolumeHost, mustStandAlone } from "./open-volume.ts";
import { openData, openServed } from "./served-folders.ts";
import type { VolumeSettings } from "./server-api.ts";
import { type UnappliedChanges, readUnappliedChanges } from "./commit-log/unapplied-changes.ts";
import { ServingLock } from "./volume/serving-lock.ts";
import { type VolumeId, drawVolumeId, foundVolumeId, newVolumeId } from "./volume/volume-id.ts";

const FOLDER_MODE = 0o700;
const PATHS_SHOWN_MAX = 10;

type AdoptionHost = Pick<VolumeHost, "clock" | "disk" | "dataFolder" | "openMeta">;

export interface Adoption {
  /** false: the folder is the volume's already, or was never served; nothing was touched. */
  isAdopted: boolean;
  /** Describes for a person what was done, and what that loses. */
  sentence: string;
}

/**
 * Adopts the folder; it has to be called before the volume is opened. Killed in between it can be done again. @throws
 * RunnelError with a sentence for a person; never Unavailable, since nobody asks for this a second time by waiting.
 */
export async function adoptFolder(settings: VolumeSettings, host: AdoptionHost): Promise<Adoption> {
  const { name, folder } = settings;
  try {
    return await withOpened(await openServed(host.disk, folder), async (served) => {
      await mustStandAlone(host.disk, folder);
      await ServingLock.check(host.disk, served, SERVED_NOTE, folder);
      const data = await examineData(settings, host, served);
      const why = await whyAdopt(served, data, name);
      if (why === undefined)
        return { isAdopted: false, sentence: `${folder} needs no --adopt: it is served as ${name} as it is.` };
      const aside = await takeOver(settings, host, served, data !== undefined);
      return { isAdopted: true, sentence: whatIsLost(settings, data, aside) };
    });
  } catch (error) {
    const { kind, message } = fromSystemError(error, "serve");
    if (kind !== "Unavailable") throw error;
    throw new RunnelError("Invalid", "serve", `${name} cannot be taken in anew: ${message}`, { cause: error });
  }
}

/** Findings about the volume in the data folder. */
interface FoundData {
  id: VolumeId | undefined;
  /** The folder is another one than the volume's index has recorded. */
  isOnOtherDevice: boolean;
  /** Changes that the folder does not show; undefined when the log cannot be read. */
  left: UnappliedChanges | undefined;
}

/** Returns undefined when there is nothing. */
async function examineData(
  { name }: VolumeSettings,
  { disk, dataFolder, openMeta }: AdoptionHost,
  served: DiskRoot,
): Promise<FoundData | undefined> {
  const data = await disk.openRoot(join(dataFolder, name)).catch(whenMissing);
  if (data === undefined) return undefined;
  return withOpened(data, async () => {
    await ServingLock.check(disk, data, DATA_NOTE, `The volume ${name} in ${dataFolder}`);
    const id = await foundVolumeId(data).catch(whenDamaged);
    const meta = await openMeta(join(dataFolder, name, "meta"), undefined).catch(whenDamaged);
    try {
      const isOnOtherDevice = meta !== undefined && (await isOther(served, meta, name));
      return { id, isOnOtherDevice, left: await readUnappliedChanges(data, meta) };
    } finally {
      await meta?.close();
    }
  });
}

async function isOther(served: DiskRoot, meta: MetaStore, name: string): Promise<boolean> {
  const recorded = await meta.diskRow(ROOT_ROW.folder, ROOT_ROW.name);
  return rootFault(recorded, await served.stat(""), await served.handle(""), name) !== undefined;
}

/**
 * Returns undefined when the volume can be opened as it is. @throws Invalid for what looks like a disk that is not
 * mounted.
 */
async function whyAdopt(served: DiskRoot, data: FoundData | undefined, name: string): Promise<"other" | undefined> {
  const marker = await readMarker(served).catch(whenDamagedMarker);
  if (marker === "damaged") return "other";
  if (marker !== undefined) return marker.volume === data?.id?.id && !data.isOnOtherDevice ? undefined : "other";
  if (data?.id?.isKnown !== true) return (await isEmpty(served, TEMP_FOLDER)) ? undefined : "other";
  if (!(await isEmpty(served, ""))) return "other";
  const sentence = `${name} cannot be taken in anew: ${served.path} is empty and has no volume marker. Mount its disk, or put something into it.`;
  throw new RunnelError("Invalid", "serve", sentence);
}

/** Places to which earlier things were moved; undefined when there were none. */
interface SetAside {
  data: string | undefined;
  temp: string | undefined;
}

/**
 * The marker comes between the data and the rest: from when the data are gone the folder is nobody's, until all is
 * done.
 */
async function takeOver(
  { name }: VolumeSettings,
  { clock, disk, dataFolder }: AdoptionHost,
  served: DiskRoot,
  hasData: boolean,
): Promise<SetAside> {
  const time = new Date(wallMs(clock)).toISOString().replaceAll(":", "-");
  const aside: SetAside = { data: undefined, temp: undefined };
  if (hasData) {
    const folder = `${SET_ASIDE_FOLDER}/${time}`;
    await inWords(`${join(dataFolder, name)} cannot be set aside`, moveData(disk, dataFolder, name, folder));
    aside.data = join(dataFolder, folder, name);
  }
  const volume = newVolumeId();
  await inWords(`${served.path} cannot be given its marker`, createMarker(served, { format: FOLDER_FORMAT, volume }));
  if (!(await isEmpty(served, TEMP_FOLDER))) {
    const folder = `${STORE_FOLDER}/set-aside-${time}`;
    await inWords(`${served.path} cannot be cleared`, moveTemp(served, folder));
    aside.temp = join(served.path, folder);
  }
  const opened = await openData(disk, join(dataFolder, name), FOLDER_MODE);
  await withOpened(opened, (data) => drawVolumeId(data, volume));
  return aside;
}

async function moveData(disk: Disk, dataFolder: string, name: string, folder: string): Promise<void> {
  // Made with all that leads there.
  await (await disk.openRoot(join(dataFolder, folder), { permissions: FOLDER_MODE })).close();
  await withOpened(await disk.openRoot(dataFolder), async (root) => {
    await root.rename(name, `${folder}/${name}`, "keep");
    for (const changed of [folder, SET_ASIDE_FOLDER, ""]) await root.syncFolder(changed);
  });
}

/** Contents that were acknowledged may be nowhere else; the store makes its folders anew. */
async function moveTemp(served: DiskRoot, folder: string): Promise<void> {
  await served.rename(TEMP_FOLDER, folder, "keep");
  await served.syncFolder(STORE_FOLDER);
}

function whatIsLost({ name, folder }: VolumeSettings, data: FoundData | undefined, aside: SetAside): string {
  return [
    `${folder} is taken in anew as ${name}, as it is. Older versions, conflicts and notices of before are lost; drives begin anew, and what they had not sent yet becomes conflict copies where in doubt.`,
    data === undefined ? "There were no data of before, so changes that only they had are lost." : changesLost(data),
    ...(aside.data === undefined ? [] : [`The data of before lie in ${aside.data} now.`]),
    ...(aside.temp === undefined ? [] : [`What was on its way into the folder lies in ${aside.temp} now.`]),
  ].join(" ");
}

function changesLost({ left }: FoundData): string {
  if (left === undefined) return "The log of before cannot be read: changes that only it had are lost.";
  const { changes, paths } = left;
  if (changes === 0) return "All that was acknowledged had come into the folder.";
  const shown = paths.slice(0, PATHS_SHOWN_MAX).join(", ");
  const list = paths.length > PATHS_SHOWN_MAX ? `${shown}, …` : shown;
  const count = changes === 1 ? "1 change was" : `${changes} changes were`;
  return `${count} acknowledged and had not come into the folder${list === "" ? "." : `: ${list}.`}`;
}

async function isEmpty(root: DiskRoot, path: string): Promise<boolean> {
  let entries = 0;
  try {
    await root.list(path, (batch) => {
      entries += batch.length;
    });
  } catch (error) {
    if (!isRunnelError(error, "NotFound")) throw error;
  }
  return entries === 0;
}

function whenMissing(error: unknown): undefined {
  if (!isRunnelError(error, "NotFound")) throw error;
}

/** Treats what is damaged as if it were not there. */
function whenDamaged(error: unknown): undefined {
  if (!isRunnelError(error, "NotFound", "Corrupt")) throw error;
}

function whenDamagedMarker(error: unknown): "damaged" {
  if (!isRunnelError(error, "Corrupt")) throw error;
  return "damaged";
}

async function inWords(words: string, work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    const { kind } = fromSystemError(error, "serve");
    throw new RunnelError(kind === "Unavailable" ? "Io" : kind, "serve", `${words} (${kind}).`, { cause: error });
  }
}
