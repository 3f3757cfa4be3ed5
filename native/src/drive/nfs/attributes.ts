// Attributes as NFS has them (fattr3, sattr3), from and to those of the drive. Pure.
import type {
  Nfsv3Fattr,
  Nfsv3PostOpAttr,
  Nfsv3Sattr,
  Nfsv3WccData,
} from "@jsonjoy.com/json-pack/lib/nfs/v3/structs.js";
import type { ProgramStat } from "../program.ts";
import { NfsError } from "./status.ts";
import { FILE_BYTES_MAX } from "./wire/bounds.ts";
import { FTYPE, STATUS, TIME_HOW } from "./wire/constants.ts";

const S_IFMT = 0o170_000;
const TYPES = new Map<number, number>([
  [0o100_000, FTYPE.REG],
  [0o040_000, FTYPE.DIR],
  [0o060_000, FTYPE.BLK],
  [0o020_000, FTYPE.CHR],
  [0o120_000, FTYPE.LNK],
  [0o140_000, FTYPE.SOCK],
  [0o010_000, FTYPE.FIFO],
]);
const NS_PER_S = 1_000_000_000n;
const SECONDS_MAX = 2 ** 32 - 1;

/** nfstime3 counts from 1970 to 2106: what lies outside is shown as its nearest end. */
function timeOf(ns: bigint): { seconds: number; nseconds: number } {
  if (ns < 0n) return { seconds: 0, nseconds: 0 };
  const seconds = ns / NS_PER_S;
  if (seconds > BigInt(SECONDS_MAX)) return { seconds: SECONDS_MAX, nseconds: 0 };
  return { seconds: Number(seconds), nseconds: Number(ns % NS_PER_S) };
}

/** dev_t as Linux packs it (new_encode_dev). */
function deviceOf(rdev: number): { specdata1: number; specdata2: number } {
  return { specdata1: (rdev >>> 8) & 0xfff, specdata2: (rdev & 0xff) | ((rdev >>> 12) & 0xfff00) };
}

export function rdevOf({ specdata1, specdata2 }: { specdata1: number; specdata2: number }): number {
  return ((specdata2 & 0xff) | ((specdata1 & 0xfff) << 8) | ((specdata2 & 0xfff00) << 12)) >>> 0;
}

export function typeOf({ mode }: Pick<ProgramStat, "mode">): number {
  return TYPES.get(mode & S_IFMT) ?? FTYPE.REG;
}

export function fattrOf(stat: ProgramStat, fsid: bigint): Nfsv3Fattr {
  return {
    type: typeOf(stat),
    mode: stat.mode & 0o7777,
    nlink: stat.nlink,
    uid: stat.uid,
    gid: stat.gid,
    size: BigInt(stat.sizeBytes),
    used: BigInt(stat.allocatedBytes),
    rdev: deviceOf(stat.rdev),
    fsid,
    fileid: BigInt(stat.ino),
    atime: timeOf(stat.atimeNs),
    mtime: timeOf(stat.mtimeNs),
    ctime: timeOf(stat.ctimeNs),
  };
}

export function postOp(stat: ProgramStat | undefined, fsid: bigint): Nfsv3PostOpAttr {
  return stat === undefined ? { attributesFollow: false } : { attributesFollow: true, attributes: fattrOf(stat, fsid) };
}

/** `before`: left out where something else may have changed it meanwhile. */
export function wcc(stat: ProgramStat | undefined, fsid: bigint, before?: ProgramStat): Nfsv3WccData {
  return {
    before:
      before === undefined
        ? { attributesFollow: false }
        : {
            attributesFollow: true,
            attributes: {
              size: BigInt(before.sizeBytes),
              mtime: timeOf(before.mtimeNs),
              ctime: timeOf(before.ctimeNs),
            },
          },
    after: postOp(stat, fsid),
  };
}

/** Changes that a request for SETATTR, CREATE and such makes, as the drive takes them. */
export interface Changes {
  mode?: number;
  uid?: number;
  gid?: number;
  sizeBytes?: number;
  mtimeNs?: bigint;
  atimeNs?: bigint;
}

type SetTime = { how: number; time: { seconds: number; nseconds: number } | undefined };

function timeAsked({ how, time }: SetTime, nowNs: bigint): bigint | undefined {
  if (how === TIME_HOW.DONT_CHANGE) return undefined;
  if (how === TIME_HOW.SERVER) return nowNs;
  if (how !== TIME_HOW.CLIENT || time === undefined || BigInt(time.nseconds) >= NS_PER_S)
    throw new NfsError(STATUS.INVAL);
  return BigInt(time.seconds) * NS_PER_S + BigInt(time.nseconds);
}

/** @throws NfsError INVAL, FBIG */
export function changesOf({ mode, uid, gid, size, atime, mtime }: Nfsv3Sattr, nowNs: bigint): Changes {
  const atimeNs = timeAsked({ how: atime.how, time: atime.atime }, nowNs);
  const mtimeNs = timeAsked({ how: mtime.how, time: mtime.mtime }, nowNs);
  if (size.size !== undefined && size.size > BigInt(FILE_BYTES_MAX)) throw new NfsError(STATUS.FBIG);
  return {
    ...(mode.mode === undefined ? {} : { mode: mode.mode & 0o7777 }),
    ...(uid.uid === undefined ? {} : { uid: uid.uid }),
    ...(gid.gid === undefined ? {} : { gid: gid.gid }),
    ...(size.size === undefined ? {} : { sizeBytes: Number(size.size) }),
    ...(mtimeNs === undefined ? {} : { mtimeNs }),
    ...(atimeNs === undefined ? {} : { atimeNs }),
  };
}
