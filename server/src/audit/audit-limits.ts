// Bounds of the audit log: of its files, of what waits for a disk that is full, and of what others can make it record.

const MiB = 1024 * 1024;
const DAY_MS = 24 * 3_600_000;

/** Folders of the log: nobody who is not let in can push out what stands in the first two. */
export const AUDIT_FOLDERS = ["acts", "devices", "unauthenticated"] as const;
export type AuditFolder = (typeof AUDIT_FOLDERS)[number];

export interface AuditLimits {
  /** A file is ended when it is as long as that, or its first entry as old. */
  fileBytes: number;
  fileMs: number;
  /** All files of a folder; the oldest goes. */
  folderBytes: Readonly<Record<AuditFolder, number>>;
  /** A file whose newest entry is older goes. */
  keptMs: number;
  /** Bytes that are read for a page, about. */
  pageBytes: number;
}

export const AUDIT_LIMITS: AuditLimits = {
  fileBytes: 2 * MiB,
  fileMs: 7 * DAY_MS,
  folderBytes: { acts: 256 * MiB, devices: 128 * MiB, unauthenticated: 64 * MiB },
  keptMs: 366 * DAY_MS,
  pageBytes: 32 * MiB,
};

/** Entries that wait for a disk that cannot be written: more are counted only. Acts have places of their own. */
export const WAITING_NOTES_MAX = 1000;
export const WAITING_ACTS_MAX = 2000;
/** Interval at which such a disk is tried again. */
export const RETRY_MS = 1_000;
/** Time after which an entry is on stable storage that need not be when it is recorded. */
export const SYNC_MS = 5_000;

/** Time within which repetitions are counted, and said once. */
export const REPEATED_MS = 60_000;
/** Entries of one device, and of all who are not let in, that are told apart in that time. */
export const DEVICE_KINDS_MAX = 20;
export const UNAUTHENTICATED_KINDS_MAX = 60;

/** Places in the log from which readers may go on; the oldest are forgotten. */
export const READ_PLACES_MAX = 1000;

/** Entries of a page. */
export const PAGE_ENTRIES_MAX = 500;
