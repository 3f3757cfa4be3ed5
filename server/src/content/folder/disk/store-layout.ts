// Names inside a served folder's own store (docs/FORMAT.md, "The served folder").
import type { VersionId } from "@runnel/shared";

/** The store's folder at the root of a served folder; a name that is invisible at any depth [F20]. */
export const STORE_FOLDER = ".runnel-store";
export const MARKER_FILE = `${STORE_FOLDER}/volume`;
export const TEMP_FOLDER = `${STORE_FOLDER}/temp`;
export const TRASH_FOLDER = `${STORE_FOLDER}/trash`;
export const SHOWN_FOLDER = `${STORE_FOLDER}/shown`;

/** Permissions of what is in the store: old contents are no one else's business. */
export const STORE_FOLDER_MODE = 0o700;
export const STORE_FILE_MODE = 0o600;

export function joinPath(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}

export function splitPath(path: string): { folder: string; name: string } {
  const slash = path.lastIndexOf("/");
  return slash < 0 ? { folder: "", name: path } : { folder: path.slice(0, slash), name: path.slice(slash + 1) };
}

/** The store's own files, and what another store's folder holds deeper down. */
export function isInStore(path: string): boolean {
  return path.split("/").includes(STORE_FOLDER);
}

/** Path that applying `seq` uses in temp/: `new` is going in, `old` came out, `link` is a further name going in. */
export function tempPath(seq: number, role: "new" | "old" | "link"): string {
  return `${TEMP_FOLDER}/${seq}.${role}`;
}

/** The copy of what commits copy from a version. */
export function baseName(version: VersionId): string {
  return `base-${versionKey(version)}`;
}

export function basePath(version: VersionId): string {
  return `${TEMP_FOLDER}/${baseName(version)}`;
}

export function stagedPath(name: string): string {
  return `${TEMP_FOLDER}/${name}`;
}

const STAGED = /^staged-(\d{1,15})(?:\.notes)?$/;
const NOTES_ENDING = ".notes";
const OF_COMMIT = /^(\d{1,16})\.(?:new|old|link)$/;

export function stagedName(count: number): string {
  return `staged-${count}`;
}

/** The commit that a name in temp/ belongs to. */
export function seqOfTemp(name: string): number | undefined {
  const match = OF_COMMIT.exec(name);
  return match === null ? undefined : Number(match[1]);
}

/** Path of a staged file's notes, next to it [F33]. */
export function notesPath(name: string): string {
  return stagedPath(name + NOTES_ENDING);
}

/** The staged file that a name in temp/ has the notes of. */
export function stagedOfNotes(name: string): string | undefined {
  return STAGED.test(name) && name.endsWith(NOTES_ENDING) ? name.slice(0, -NOTES_ENDING.length) : undefined;
}

/** The count in the name of a staged file, or of its notes. */
export function countOfStaged(name: string): number | undefined {
  const match = STAGED.exec(name);
  return match === null ? undefined : Number(match[1]);
}

const EPOCH_DIGITS = 8;
const TRASH_FILE = /^[0-9a-f]{8}-(\d{1,16})-(\d{1,16})$/;

/** A version's file in trash/. Ids mean something within an epoch only, so its first digits stand first [F25]. */
export function trashName(epoch: string, version: VersionId): string {
  return `${epoch.slice(0, EPOCH_DIGITS)}-${version.node}-${version.seq}`;
}

/** The version that a name in trash/ tells of, when it is of this epoch. */
export function versionOfTrash(epoch: string, name: string): VersionId | undefined {
  const match = TRASH_FILE.exec(name);
  if (match === null || !name.startsWith(epoch.slice(0, EPOCH_DIGITS))) return undefined;
  return { node: Number(match[1]), seq: Number(match[2]) };
}

export function isTrashName(name: string): boolean {
  return TRASH_FILE.test(name);
}

export function versionKey(version: VersionId): string {
  return `${version.node}.${version.seq}`;
}
