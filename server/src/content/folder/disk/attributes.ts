// Setting attributes of committed nodes on disk, as far as the server may and the server's system is to trust clients
// [F168]. All are stored and shown on drives; what the disk does not get is said in an attribute (shown.ts).
import type { FileType, SetStat } from "@runnel/shared";
import { isRunnelError } from "@runnel/shared";
import { isDevice } from "./shown.ts";

export interface Owner {
  uid: number;
  gid: number;
}

/** Ownership of the files in a served folder. */
export interface Ownership {
  /** The server may give files away and open what their mode forbids (root). */
  isPrivileged: boolean;
  /** The server's own: a new file is theirs. */
  user: Owner;
  /** Files get the owners that drives show. */
  keepsOwners: boolean;
}

export const OWNED_BY_ROOT: Ownership = { isPrivileged: true, user: { uid: 0, gid: 0 }, keepsOwners: false };

/** Attributes that the disk has already, and keeps. */
export interface KeptOnDisk {
  /** Set-uid, set-gid and sticky bits stay where the new mode has them too: no client has set them. */
  mode: number;
  owner: Owner | undefined;
}

export const NOTHING_KEPT: KeptOnDisk = { mode: 0, owner: undefined };

const PLAIN_BITS = 0o777;
const DEVICE_MODE = 0o600;

function modeOnDisk(type: FileType, mode: number, kept: number, isPrivileged: boolean): number {
  if (isDevice(type)) return DEVICE_MODE;
  const bits = (mode & PLAIN_BITS) | (mode & kept & ~PLAIN_BITS);
  if (isPrivileged) return bits;
  // An ordinary user's server has to open its own files whatever their mode.
  return bits | (type === "folder" ? 0o700 : 0o600);
}

/** The changes to be made on disk for what is wanted, only of what that names, one after the other. */
export function attributeChanges(
  type: FileType,
  wanted: SetStat,
  kept: KeptOnDisk,
  { isPrivileged, user, keepsOwners }: Ownership,
): SetStat[] {
  const changes: SetStat[] = [];
  const owner = keepsOwners ? ownerIn(wanted) : kept.owner;
  const isOwn = owner?.uid === user.uid && owner.gid === user.gid;
  // Before the mode: giving a file away clears some of its bits.
  if (owner !== undefined && (keepsOwners || !isOwn)) changes.push(owner);
  // Bits that let programs run as the owner were set while that was another one.
  const keptMode = keepsOwners && owner !== undefined ? 0 : kept.mode;
  const rest: SetStat = {};
  // A symlink's own mode does not exist.
  if (wanted.mode !== undefined && type !== "symlink")
    rest.mode = modeOnDisk(type, wanted.mode, keptMode, isPrivileged);
  if (wanted.mtimeNs !== undefined) rest.mtimeNs = wanted.mtimeNs;
  if (rest.mode !== undefined || rest.mtimeNs !== undefined) changes.push(rest);
  return changes;
}

function ownerIn({ uid, gid }: SetStat): SetStat | undefined {
  if (uid === undefined && gid === undefined) return undefined;
  return { ...(uid === undefined ? {} : { uid }), ...(gid === undefined ? {} : { gid }) };
}

export async function ignoreDenied(change: Promise<void>): Promise<void> {
  try {
    await change;
  } catch (error) {
    if (!isRunnelError(error, "Denied", "Unsupported", "Invalid")) throw error;
  }
}
