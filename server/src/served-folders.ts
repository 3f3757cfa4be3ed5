// Checks which folders can be served: each once, apart from each other, on no drive, and not mixed with the server's
// own data.
import { join } from "node:path";
import type { DiskRoot, Disk, ErrorKind, MountTableEntry } from "@runnel/shared";
import { RunnelError, driveAbove, fromSystemError, isVolumeName, isWithin, readMountTable } from "@runnel/shared";
import { realPath } from "./host/real-path.ts";
import { OWN_FOLDER, SET_ASIDE_FOLDER } from "./auth/own-folder.ts";
import { unreadable } from "./content/folder/disk/marker.ts";

export interface ServedFolder {
  /** The volume's. */
  name: string;
  folder: string;
}

/** @throws RunnelError Invalid with a sentence for a person. No folder is touched. */
export async function checkFolders(volumes: readonly ServedFolder[], dataFolder: string): Promise<void> {
  const mounts = await readMountTable();
  const data = await offDrives(dataFolder, mounts, "The server's data would lie");
  const seen: { name: string; folder: string; real: string }[] = [];
  for (const { name, folder } of volumes) {
    checkName(name, seen);
    const real = await offDrives(folder, mounts, `${folder} lies`);
    for (const other of seen) checkApart({ folder, real }, other);
    const own = join(data, name);
    const ours = [own, join(data, OWN_FOLDER), join(data, SET_ASIDE_FOLDER)];
    if (isWithin(data, real) || ours.some((each) => isWithin(real, each))) {
      refuse(
        `The server's own data (${own}) and the served folder ${folder} lie in one another. Name another folder with --data.`,
      );
    }
    seen.push({ name, folder, real });
  }
}

function checkName(name: string, seen: readonly { name: string }[]): void {
  if (!isVolumeName(name)) {
    refuse(`"${name}" cannot name a volume: use up to 100 letters, digits, dots, dashes and spaces.`);
  }
  if (seen.some((other) => other.name === name)) refuse(`Two volumes are called ${name}: give each its own name.`);
}

/** @throws RunnelError Invalid for a name that is not among those served. */
export function checkAdopted(names: readonly string[], volumes: readonly ServedFolder[]): void {
  const served = volumes.map(({ name }) => name);
  for (const name of names)
    if (!served.includes(name))
      refuse(`--adopt ${name} is none of the volumes that are served: ${served.join(", ")}. Name one of them.`);
}

function checkApart(one: { folder: string; real: string }, other: { folder: string; real: string }): void {
  if (one.real === other.real)
    refuse(`${one.folder} and ${other.folder} are one folder, which can be served once only.`);
  for (const [lower, upper] of [
    [one, other],
    [other, one],
  ] as const) {
    if (isWithin(lower.real, upper.real))
      refuse(`${lower.folder} lies inside ${upper.folder}: a folder cannot be served within another.`);
  }
}

/**
 * A drive is a folder of some server, maybe of this one, which would then wait for itself: asked before the path is
 * followed, and after.
 */
async function offDrives(path: string, mounts: readonly MountTableEntry[], what: string): Promise<string> {
  let drive = driveAbove(path, mounts);
  const real = drive === undefined ? await realPath(path) : path;
  drive ??= driveAbove(real, mounts);
  if (drive !== undefined) refuse(`${what} inside the drive ${drive}. Name a folder on a local disk.`);
  return real;
}

function refuse(sentence: string): never {
  throw new RunnelError("Invalid", "serve", sentence);
}

/**
 * Opens a folder that is to be served. @throws RunnelError with a sentence for a person; Unavailable for one that is
 * not there or may not be read now.
 */
export async function openServed(disk: Disk, folder: string): Promise<DiskRoot> {
  try {
    return await openReadable(disk, folder);
  } catch (error) {
    const known = fromSystemError(error, "serve");
    if (known.kind !== "NotFolder" && known.kind !== "NameTooLong")
      throw new RunnelError("Unavailable", "serve", unreadable(known), { cause: error });
    const words =
      known.kind === "NameTooLong" ? "is too long for a path. Name a shorter one." : "is not a folder. Name a folder.";
    throw new RunnelError(known.kind, "serve", `${folder} ${words}`, { cause: error });
  }
}

async function openReadable(disk: Disk, folder: string): Promise<DiskRoot> {
  const root = await disk.openRoot(folder);
  try {
    // Needs the right to read, which opening does not.
    await root.syncFolder("");
    return root;
  } catch (error) {
    await root.close();
    throw error;
  }
}

/** Opens a folder of the server's own, made when it is missing. @throws RunnelError with a sentence for a person. */
export function openData(disk: Disk, folder: string, permissions: number): Promise<DiskRoot> {
  return inWords(disk.openRoot(folder, { permissions }), {
    NotFolder: `${folder} is no folder, or leads through a file. Name another folder with --data.`,
    NameTooLong: `${folder} is too long for a path. Name a shorter one with --data.`,
    NoSpace: `${folder} cannot be made: the disk is full. Make room, or name another folder with --data.`,
    other: `${folder} cannot be made or opened by this user. Name another folder with --data.`,
  });
}

async function inWords<T>(work: Promise<T>, words: Partial<Record<ErrorKind, string>> & { other: string }): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const { kind } = fromSystemError(error, "serve");
    throw new RunnelError(kind, "serve", words[kind] ?? words.other, { cause: error });
  }
}
