// Numbers of ONC RPC (RFC 5531), MOUNT and NFS version 3 (RFC 1813), by the names that they have there. The codec's own
// are ambient enumerations, which have no values where types are stripped.

export const RPC_VERSION = 2;

/** accept_stat */
export const ACCEPT = {
  SUCCESS: 0,
  PROG_UNAVAIL: 1,
  PROG_MISMATCH: 2,
  PROC_UNAVAIL: 3,
  GARBAGE_ARGS: 4,
  SYSTEM_ERR: 5,
} as const;
export type AcceptStat = (typeof ACCEPT)[keyof typeof ACCEPT];

/** reject_stat */
export const REJECT = { RPC_MISMATCH: 0, AUTH_ERROR: 1 } as const;

/** auth_stat */
export const AUTH = { BADCRED: 1, TOOWEAK: 5 } as const;

/** auth_flavor */
export const FLAVOR = { NONE: 0, SYS: 1 } as const;

export const MOUNT_PROGRAM = 100_005;
export const NFS_PROGRAM = 100_003;
export const VERSION_3 = 3;

export const MOUNT_PROC = { NULL: 0, MNT: 1, DUMP: 2, UMNT: 3, UMNTALL: 4, EXPORT: 5 } as const;

export const NFS_PROC = {
  NULL: 0,
  GETATTR: 1,
  SETATTR: 2,
  LOOKUP: 3,
  ACCESS: 4,
  READLINK: 5,
  READ: 6,
  WRITE: 7,
  CREATE: 8,
  MKDIR: 9,
  SYMLINK: 10,
  MKNOD: 11,
  REMOVE: 12,
  RMDIR: 13,
  RENAME: 14,
  LINK: 15,
  READDIR: 16,
  READDIRPLUS: 17,
  FSSTAT: 18,
  FSINFO: 19,
  PATHCONF: 20,
  COMMIT: 21,
} as const;

/** nfsstat3; mountstat3 has the same numbers for what it has. */
export const STATUS = {
  OK: 0,
  PERM: 1,
  NOENT: 2,
  IO: 5,
  NXIO: 6,
  ACCES: 13,
  EXIST: 17,
  NOTDIR: 20,
  ISDIR: 21,
  INVAL: 22,
  FBIG: 27,
  NOSPC: 28,
  ROFS: 30,
  NAMETOOLONG: 63,
  NOTEMPTY: 66,
  DQUOT: 69,
  STALE: 70,
  BADHANDLE: 10_001,
  NOT_SYNC: 10_002,
  BAD_COOKIE: 10_003,
  NOTSUPP: 10_004,
  TOOSMALL: 10_005,
  SERVERFAULT: 10_006,
  BADTYPE: 10_007,
  JUKEBOX: 10_008,
} as const;
export type Status = (typeof STATUS)[keyof typeof STATUS];

/** ftype3 */
export const FTYPE = { REG: 1, DIR: 2, BLK: 3, CHR: 4, LNK: 5, SOCK: 6, FIFO: 7 } as const;

/** stable_how */
export const STABLE = { UNSTABLE: 0, DATA_SYNC: 1, FILE_SYNC: 2 } as const;

/** createmode3 */
export const CREATE_MODE = { UNCHECKED: 0, GUARDED: 1, EXCLUSIVE: 2 } as const;

/** time_how */
export const TIME_HOW = { DONT_CHANGE: 0, SERVER: 1, CLIENT: 2 } as const;

/** Bits of ACCESS. */
export const ACCESS = { READ: 1, LOOKUP: 2, MODIFY: 4, EXTEND: 8, DELETE: 16, EXECUTE: 32 } as const;

/** Bits of FSINFO: hard links, symlinks, PATHCONF alike for all files, times may be set. */
export const FSF = { LINK: 1, SYMLINK: 2, HOMOGENEOUS: 8, CANSETTIME: 16 } as const;
