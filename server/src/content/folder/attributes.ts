// Setting attributes of committed nodes on disk, as far as the server may. All are stored; what the disk refuses shows only there.
import type { FileType, SetStat } from "@runnel/shared";
import { isRunnelError } from "@runnel/shared";

/** An ordinary user's server has to open its own files whatever their mode. */
function possibleMode(type: FileType, mode: number, isPrivileged: boolean): number {
  if (isPrivileged) return mode;
  return mode | (type === "folder" ? 0o700 : 0o600);
}

/** Only what `wanted` names is set. @throws what is no refusal. */
export async function setAttributes(
  setStat: (change: SetStat) => Promise<void>,
  type: FileType,
  wanted: SetStat,
  isPrivileged: boolean,
): Promise<void> {
  const owner: SetStat = {};
  if (wanted.uid !== undefined) owner.uid = wanted.uid;
  if (wanted.gid !== undefined) owner.gid = wanted.gid;
  // Before the mode: giving a file away clears some of its bits.
  if (wanted.uid !== undefined || wanted.gid !== undefined) await ignoreDenied(setStat(owner));
  const rest: SetStat = {};
  // A symlink's own mode does not exist.
  if (wanted.mode !== undefined && type !== "symlink") rest.mode = possibleMode(type, wanted.mode, isPrivileged);
  if (wanted.mtimeNs !== undefined) rest.mtimeNs = wanted.mtimeNs;
  if (rest.mode !== undefined || rest.mtimeNs !== undefined) await ignoreDenied(setStat(rest));
}

export async function ignoreDenied(change: Promise<void>): Promise<void> {
  try {
    await change;
  } catch (error) {
    if (!isRunnelError(error, "Denied", "Unsupported", "Invalid")) throw error;
  }
}
