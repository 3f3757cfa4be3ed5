// The marker: the file that says that this folder is a volume's, and which. A root without it is not an empty volume,
// it is one that cannot be seen now (a disk that is not mounted) [F21].
import { RunnelError, isRunnelError, readWhole, replaceWhole, withOpened } from "@runnel/shared";
import type { Disk, DiskRoot, DiskStat } from "@runnel/shared";
import type { DiskRow } from "../../../meta/meta-store.ts";
import { isSameHandle } from "./same-file.ts";
import {
  MARKER_FILE,
  STORE_FILE_MODE,
  STORE_FOLDER,
  STORE_FOLDER_MODE,
  TEMP_FOLDER,
  TRASH_FOLDER,
  joinPath,
} from "./store-layout.ts";

/** Format of everything in the store's folder [F22]. */
export const FOLDER_FORMAT = 1;
const MARKER_BYTES_MAX = 4096;

export interface Marker {
  format: number;
  /** The volume's id; stays when its metadata is rebuilt. */
  volume: string;
}

function parseMarker(text: string): Marker {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new RunnelError("Corrupt", "read marker", "The volume's marker is damaged.", { cause });
  }
  const { format, volume } = (value ?? {}) as Partial<Marker>;
  if (typeof format !== "number" || typeof volume !== "string" || volume === "") {
    throw new RunnelError("Corrupt", "read marker", "The volume's marker is damaged.");
  }
  if (format > FOLDER_FORMAT) {
    const message = `The served folder was used by a newer Runnel (format ${format}; this one reads up to ${FOLDER_FORMAT}): update Runnel.`;
    throw new RunnelError("Version", "read marker", message, { detail: { need: format } });
  }
  return { format, volume };
}

/** The marker, undefined when there is none. @throws Corrupt, Version, Io. */
export async function readMarker(root: DiskRoot): Promise<Marker | undefined> {
  const text = await readWhole(root, MARKER_FILE, MARKER_BYTES_MAX);
  return text === undefined ? undefined : parseMarker(text);
}

async function makeFolder(root: DiskRoot, path: string): Promise<void> {
  try {
    await root.makeFolder(path, STORE_FOLDER_MODE);
  } catch (error) {
    if (!isRunnelError(error, "Exists")) throw error;
  }
}

/** The store's folders, which a person may have cleared away. */
export async function makeStoreFolders(root: DiskRoot): Promise<void> {
  for (const path of [STORE_FOLDER, TEMP_FOLDER, TRASH_FOLDER]) await makeFolder(root, path);
}

/** First serve: the marker is durable before anything else is done. */
export async function createMarker(root: DiskRoot, marker: Marker): Promise<void> {
  await makeStoreFolders(root);
  const text = `${JSON.stringify(marker)}\n`;
  await replaceWhole(root, MARKER_FILE, text, { temp: `${TEMP_FOLDER}/volume`, mode: STORE_FILE_MODE });
  await root.syncFolder("");
}

/** A nested volume: another one's marker deeper down [F23]. */
export async function isNestedVolume(root: DiskRoot, folder: string): Promise<boolean> {
  try {
    await root.stat(joinPath(folder, MARKER_FILE));
    return true;
  } catch {
    return false;
  }
}

/**
 * The folder above `path` (absolute) that is served already, if there is one: a volume inside a volume is refused
 * [F23].
 */
export async function enclosingVolume(disk: Disk, path: string): Promise<string | undefined> {
  const parts = path.split("/").filter((part) => part !== "");
  while (parts.length > 0) {
    parts.pop();
    const above = `/${parts.join("/")}`;
    let root: DiskRoot;
    try {
      root = await disk.openRoot(above);
    } catch {
      continue;
    }
    if (await withOpened(root, () => isNestedVolume(root, ""))) return above;
  }
  return undefined;
}

/**
 * Why a folder is not the volume's by its marker; "none yet": it has none, and none `isExpected` [F21]. @throws as
 * readMarker.
 */
export async function markerFault(
  root: DiskRoot,
  volume: string | undefined,
  isExpected: boolean,
  name: string,
): Promise<string | undefined> {
  const marker = await readMarker(root);
  if (marker === undefined)
    return isExpected ? `The folder has no volume marker: is its disk mounted? ${wayOut(name)}` : "none yet";
  if (marker.volume === volume) return undefined;
  return `The folder belongs to another volume, or the server was started with other data than before. ${wayOut(name)}`;
}

/** Advice for a person who knows that it is the right folder [F113]. */
export function wayOut(name: string): string {
  return `If it is the right folder, "runnel serve --adopt ${name}" takes it in anew.`;
}

/** Why it cannot be served, of an error that the disk throws. */
export function unreadable({ kind }: RunnelError): string {
  if (kind === "NotFound") return "The folder is not there: is its disk mounted?";
  if (kind === "Denied") return "The server may not read and write in the folder.";
  if (kind === "ReadOnly") return "The folder's file system is read-only.";
  return `The folder cannot be read (${kind}).`;
}

/** Why the folder at the root cannot be the one that was recorded, if it cannot [F21]. */
export function rootFault(
  recorded: DiskRow | undefined,
  stat: DiskStat,
  handle: Uint8Array,
  name: string,
): string | undefined {
  if (recorded === undefined || recorded.stat.dev === stat.dev || isSameHandle(recorded.handle, handle))
    return undefined;
  return `The folder lies on another device than the one that was served. ${wayOut(name)}`;
}
