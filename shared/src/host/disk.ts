// Disk: every file operation that production code makes. A DiskRoot is a capability for one folder: paths are relative
// to it, "/"-separated and without ".", ".." or empty parts, and no operation follows a symlink, whoever made it, nor
// leaves the root's file system (openat2 with RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV on Linux). "" is
// the root itself.
//
// All methods are asynchronous, run off the event loop, and throw RunnelError (fromSystemError) on failure: NotFound,
// Exists, NoSpace, Denied, NotFolder (also for a symlink met on the way), Unavailable (another file system on the way),
// Io.

import type { Xattr, XattrChange } from "../model/xattrs.ts";

export type FileType = "file" | "folder" | "symlink" | "fifo" | "socket" | "block" | "char";

/** Result of lstat, with the kernel's file handle: enough to know whether a file is the one that was recorded. */
export interface DiskStat {
  type: FileType;
  /** Permission bits, 12 bits (07777). */
  mode: number;
  uid: number;
  gid: number;
  sizeBytes: number;
  mtimeNs: bigint;
  ctimeNs: bigint;
  /** Device and inode, as the system gives them. */
  dev: number;
  ino: number;
  nlink: number;
  /** major:minor of a device node, else 0. */
  rdev: number;
}

/** The stat tuple of a file and its kernel's handle. */
export interface DiskIdentity {
  stat: DiskStat;
  handle: Uint8Array;
}

/**
 * A name in a folder with its lstat. One whose text (name-text.ts) is too long for a volume comes with `name` undefined
 * and is counted only.
 */
export interface DiskEntry {
  name: string | undefined;
  stat: DiskStat;
}

export interface SetStat {
  mode?: number;
  uid?: number;
  gid?: number;
  mtimeNs?: bigint;
}

export interface DiskSpace {
  totalBytes: number;
  freeBytes: number;
  /** Free to an ordinary user. */
  availableBytes: number;
  totalFiles: number;
  freeFiles: number;
}

/**
 * Outcome of asking for a lease that keeps a file from being written to: it is taken; somebody has the file open for
 * writing; or system, file system or owner do not allow it.
 */
export type FileLease = "taken" | "writer" | "refused";

/**
 * Outcome of asking for a lock: it is taken; another opening of the file, of any process, has it; or system or file
 * system have no such locks.
 */
export type FileLock = "taken" | "held" | "refused";

/** An open regular file. Close it exactly once. */
export interface DiskFile {
  /** The descriptor, for core.node's and drive.node's own threads; -1 where there is none (simulated). */
  readonly fd: number;
  /**
   * Reads up to `length` bytes; fewer only at the end of the file. `into` is memory for them, of that length; else it
   * is fresh.
   */
  read(offset: number, length: number, into?: Uint8Array): Promise<Uint8Array>;
  /** Writes all of `bytes`. */
  write(offset: number, bytes: Uint8Array): Promise<void>;
  /**
   * Copies from another open file within the system where it can (reflink, copy_file_range). Short only at the source's
   * end.
   */
  copyFrom(source: DiskFile, sourceOffset: number, offset: number, length: number): Promise<number>;
  truncate(length: number): Promise<void>;
  stat(): Promise<DiskStat>;
  setStat(change: SetStat): Promise<void>;
  /** Data and metadata on stable storage (fsync); `dataOnly` is fdatasync. */
  sync(dataOnly?: boolean): Promise<void>;
  /** The kernel's file handle (name_to_handle_at, type and bytes): never reused, unlike an inode number. */
  handle(): Promise<Uint8Array>;
  identify(): Promise<DiskIdentity>;
  /**
   * Takes a lease on a file opened to read: until it is closed, whoever opens it for writing or cuts it waits, as long
   * as the system lets him (Linux: fcntl(2), F_SETLEASE, 45 s). `wanted` is called once, on the event loop, when
   * somebody waits: close the file soon then.
   */
  takeLease(wanted: () => void): Promise<FileLease>;
  /**
   * Locks the file until it is closed, which the end of the process does too; never waits (POSIX: flock(2)). Whoever
   * asks for no lock does not notice.
   */
  takeLock(): Promise<FileLock>;
  close(): Promise<void>;
}

export type OpenMode = "read" | "write" | "create" | "createNew";

/** A file that is written as a whole. */
export interface WholeFileWrite {
  /** create: what is there is cut; createNew: Exists if there. */
  mode: Extract<OpenMode, "create" | "createNew">;
  permissions: number;
  /** Set once it is written, as far as the file system lets. */
  stat?: SetStat;
  /** It is on stable storage then, but for its name. */
  isSynced?: boolean;
}

/**
 * Event of a watch: something about this path may have changed (create, remove, attributes, close after write, write).
 */
export interface WatchEvent {
  /** Path of the folder or file the event names. */
  path: string;
  /**
   * "changed": look at it; "writing": a program is writing to it, more will come; "written": both, a program has
   * written to it, look at it; "overflow": events were lost, scan all.
   */
  kind: "changed" | "writing" | "written" | "overflow";
}

export interface Watch {
  close(): Promise<void>;
}

export interface DiskRoot {
  /** The path this root was opened at, for messages only. */
  readonly path: string;
  stat(path: string): Promise<DiskStat>;
  /**
   * All in one go, which is far cheaper than one after the other. "absent": nothing is there (NotFound, NotFolder);
   * "unknown": `stat` says why.
   */
  statAll(paths: readonly string[]): Promise<(DiskStat | "absent" | "unknown")[]>;
  /** The kernel's file handle of a path (any type), not following a final symlink. */
  handle(path: string): Promise<Uint8Array>;
  /** Both are of one file, whatever takes its name meanwhile. */
  identify(path: string): Promise<DiskIdentity>;
  /**
   * Calls `batch` with entries in the order of the system, some thousand at a time; the promise it returns is awaited.
   */
  list(path: string, batch: (entries: DiskEntry[]) => void | Promise<void>): Promise<void>;
  /**
   * read: existing; write: existing, read and write; create: make if missing; createNew: Exists if there. Regular files
   * only.
   */
  open(path: string, mode: OpenMode, permissions?: number): Promise<DiskFile>;
  /** Reads a file from its beginning, at most so many bytes, in one go. */
  readFile(path: string, bytesMax: number): Promise<Uint8Array>;
  /** Makes a file of these bytes: all steps at once, which is far cheaper than one after the other. */
  writeFile(path: string, bytes: Uint8Array, how: WholeFileWrite): Promise<void>;
  /** Makes a file as `writeFile`. @returns it, open, with what it is by then. */
  makeFile(path: string, bytes: Uint8Array, how: WholeFileWrite): Promise<DiskIdentity & { file: DiskFile }>;
  /** Tells by a lease, which ends at once, whether somebody has the file open for writing. */
  lookForWriter(path: string): Promise<{ lease: FileLease; stat: DiskStat }>;
  makeFolder(path: string, permissions?: number): Promise<void>;
  makeSymlink(path: string, target: string): Promise<void>;
  /** fifo, socket, device nodes. */
  makeSpecial(path: string, type: FileType, permissions: number, rdev: number): Promise<void>;
  /** A second name for the file at `from`. */
  link(from: string, to: string): Promise<void>;
  readSymlink(path: string): Promise<string>;
  /**
   * replace: as rename(2); keep: Exists if `to` is there (RENAME_NOREPLACE); exchange: both must exist
   * (RENAME_EXCHANGE).
   */
  rename(from: string, to: string, how: "replace" | "keep" | "exchange"): Promise<void>;
  removeFile(path: string): Promise<void>;
  removeFolder(path: string): Promise<void>;
  /** `handle`: changes no other file than this one. @throws NotFound when another one is there. */
  setStat(path: string, change: SetStat, handle?: Uint8Array): Promise<void>;
  /**
   * Extended attributes of users (user.*), by name; of what is neither file nor folder, and where the file system has
   * none: [].
   */
  xattrs(path: string): Promise<Xattr[]>;
  /** @throws Unsupported, Denied, NoSpace, TooLarge: the file system does not hold it. */
  setXattr(path: string, change: XattrChange): Promise<void>;
  /** Gives `to` what `from` has, as far as the system allows: access control lists too. */
  copyXattrs(from: string, to: string): Promise<void>;
  /** Makes a folder's names durable (fsync of the folder). */
  syncFolder(path: string): Promise<void>;
  space(): Promise<DiskSpace>;
  /**
   * Watches the whole tree (fanotify where the system lets us, else inotify) but for `leaveOut`, names in the root
   * itself. What happens after the promise resolved is told, own changes too; a folder that appears or is renamed is
   * told with all that is in it. `tell` runs on the event loop. A batch has each path once, a folder before what is in
   * it.
   */
  watch(tell: (events: WatchEvent[]) => void, leaveOut?: readonly string[]): Promise<Watch>;
  close(): Promise<void>;
}

export interface Disk {
  /**
   * Opens an existing folder as a root; `make` makes it (and missing parents) first. The folder itself may be reached
   * by symlinks.
   */
  openRoot(path: string, make?: { permissions: number }): Promise<DiskRoot>;
}
