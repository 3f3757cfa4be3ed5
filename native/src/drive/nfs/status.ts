// Statuses of NFS (nfsstat3, RFC 1813 section 2.6) for the kinds of failures that the drive and the agent name.
import { type NativeKind } from "../errno-of-kind.ts";
import { STATUS, type Status } from "./wire/constants.ts";

/** A failure of an NFS procedure, by its status. */
export class NfsError extends Error {
  readonly status: Status;
  constructor(status: Status) {
    super(`NFS status ${status}`);
    this.name = "NfsError";
    this.status = status;
  }
}

/**
 * Kinds that NFS has no word for are an I/O error: a client that is answered JUKEBOX would ask for ever, and a program
 * is to hear that the server cannot be reached.
 */
export const STATUS_OF_KIND: Readonly<Record<NativeKind, Status>> = {
  "": STATUS.OK,
  NotFound: STATUS.NOENT,
  Unknown: STATUS.IO,
  Stale: STATUS.STALE,
  Gone: STATUS.IO,
  Exists: STATUS.EXIST,
  NotEmpty: STATUS.NOTEMPTY,
  NoSpace: STATUS.NOSPC,
  Quota: STATUS.DQUOT,
  Denied: STATUS.ACCES,
  Revoked: STATUS.ACCES,
  TooLarge: STATUS.FBIG,
  BadName: STATUS.INVAL,
  // This passes by itself, other than the rest.
  Busy: STATUS.JUKEBOX,
  Corrupt: STATUS.IO,
  Epoch: STATUS.STALE,
  Version: STATUS.IO,
  Invalid: STATUS.INVAL,
  Unreachable: STATUS.IO,
  Interrupted: STATUS.IO,
  ReadOnly: STATUS.ROFS,
  NotFolder: STATUS.NOTDIR,
  IsFolder: STATUS.ISDIR,
  Unsupported: STATUS.NOTSUPP,
  Unavailable: STATUS.IO,
  Lost: STATUS.IO,
  Io: STATUS.IO,
  NameTooLong: STATUS.NAMETOOLONG,
  LinkLoop: STATUS.INVAL,
  NoAttribute: STATUS.NOTSUPP,
  PastEnd: STATUS.NXIO,
  BufferTooSmall: STATUS.TOOSMALL,
  TooManyOpen: STATUS.JUKEBOX,
};
