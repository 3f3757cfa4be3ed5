// Error numbers of Linux by kind, for the memory drive, which stands in for a kernel (fuse/to_errno.cc is the table of
// a real one).
import type { ErrorKind } from "@runnel/shared";

/** Kinds that only the native side finds (native/src/drive/kinds.h); "" is success. */
export type NativeKind = ErrorKind | "PastEnd" | "BufferTooSmall" | "TooManyOpen" | "";

export const ERRNO_OF_KIND: Readonly<Record<NativeKind, number>> = {
  "": 0,
  NotFound: 2,
  Unknown: 5,
  Stale: 116,
  Gone: 5,
  Exists: 17,
  NotEmpty: 39,
  NoSpace: 28,
  Quota: 122,
  Denied: 13,
  Revoked: 13,
  TooLarge: 27,
  BadName: 22,
  Busy: 16,
  Corrupt: 5,
  Epoch: 5,
  Version: 5,
  Invalid: 22,
  Unreachable: 5,
  Interrupted: 4,
  ReadOnly: 30,
  NotFolder: 20,
  IsFolder: 21,
  Unsupported: 95,
  Unavailable: 5,
  Lost: 5,
  Io: 5,
  NameTooLong: 36,
  LinkLoop: 40,
  NoAttribute: 61,
  PastEnd: 6,
  BufferTooSmall: 34,
  TooManyOpen: 5,
};
