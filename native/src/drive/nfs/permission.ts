// Rights of a user to a file or folder by its owner and mode, as a kernel checks them above the other drives. Pure.
import type { ProgramStat } from "../program.ts";
import { ACCESS } from "./wire/constants.ts";
import type { Credentials } from "./wire/rpc.ts";

export const MAY = { READ: 4, WRITE: 2, EXECUTE: 1 } as const;

const S_IFMT = 0o170_000;
const S_IFDIR = 0o040_000;
const ANY_EXECUTE = 0o111;

type Owned = Pick<ProgramStat, "mode" | "uid" | "gid">;

export const isFolder = ({ mode }: Pick<ProgramStat, "mode">): boolean => (mode & S_IFMT) === S_IFDIR;

/** Bits of MAY that a user has. */
function granted(stat: Owned, { uid, gid, gids }: Credentials): number {
  if (uid === 0) return isFolder(stat) || (stat.mode & ANY_EXECUTE) !== 0 ? 7 : MAY.READ | MAY.WRITE;
  if (uid === stat.uid) return (stat.mode >> 6) & 7;
  if (gid === stat.gid || gids.includes(stat.gid)) return (stat.mode >> 3) & 7;
  return stat.mode & 7;
}

export function may(stat: Owned, who: Credentials, wanted: number): boolean {
  return (granted(stat, who) & wanted) === wanted;
}

/** True of the owner, and of root, who change a mode and times as they like. */
export function owns(stat: Owned, { uid }: Credentials): boolean {
  return uid === 0 || uid === stat.uid;
}

/**
 * Rights to the bytes of a file. NFS knows no open file: who made one that is closed to writing goes on writing to it,
 * so that its owner is let in (RFC 1813, section 4.4), and who may execute a file reads it.
 */
export function mayRead(stat: Owned, who: Credentials): boolean {
  return owns(stat, who) || may(stat, who, MAY.READ) || may(stat, who, MAY.EXECUTE);
}

export function mayWrite(stat: Owned, who: Credentials): boolean {
  return owns(stat, who) || may(stat, who, MAY.WRITE);
}

/** Answer to ACCESS: of what is asked, what a user may. */
export function accessOf(stat: Owned, who: Credentials, asked: number): number {
  const has = granted(stat, who);
  const reads = (has & MAY.READ) === 0 ? 0 : ACCESS.READ;
  const writes = (has & MAY.WRITE) === 0 ? 0 : ACCESS.MODIFY | ACCESS.EXTEND | (isFolder(stat) ? ACCESS.DELETE : 0);
  const passes = (has & MAY.EXECUTE) === 0 ? 0 : isFolder(stat) ? ACCESS.LOOKUP : ACCESS.EXECUTE;
  return asked & (reads | writes | passes);
}
