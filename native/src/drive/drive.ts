// Drive: the kernel side of a mount, as the agent sees it. Engines: fuse (libfuse3's low-level API), winfsp (Windows)
// and memory (no kernel; the reference and test double). File bytes never cross this interface: the drive reads and
// writes cache and overlay files itself; the agent says which file holds what.
//
// Everything here is called from, and calls back on, JavaScript's main thread. Methods are synchronous, take effect
// before they return, and never wait for the kernel or for a lock that is held across a system call on the mount.
import type { ErrorKind, FileType, NodeState, Xattr } from "@runnel/shared";

/** A node's attributes as programs see them. */
export interface DriveEntry extends Omit<NodeState, "seq" | "target" | "xattrSeq"> {
  /** The target of a symlink. */
  target?: string;
  /** It has extended attributes: xattrSeq of its state; 0 or left out when it has none. */
  xattrs?: number;
}

/** A name of a folder, known absent when `entry` is undefined. */
export interface DriveBinding {
  folder: number;
  name: string;
  entry: DriveEntry | undefined;
}

/** A dirty extent or a present range, bytes. */
export interface ByteRange {
  offset: number;
  length: number;
}

/**
 * A cached content: a sparse file that holds some ranges of one version. The drive opens `path` read-only and keeps it
 * open until dropContent and the last file over it is closed.
 */
export interface DriveContent {
  /** Chosen by the agent, never reused while the drive lives. */
  id: number;
  node: number;
  version: number;
  path: string;
  sizeBytes: number;
  /** Ranges of `path` that hold bytes; sorted, disjoint. */
  present: readonly ByteRange[];
}

export interface Caller {
  uid: number;
  gid: number;
  pid: number;
}

/**
 * A make, a link, a removal, a rename, a setattr or a commit that the drive has answered before the agent heard of it
 * (allowEarly): it is so for programs, and in the log of such. The agent takes it in with `tookIn`, before anything
 * that comes behind it, and answers `done`, or `committed`, when it has it in its journal; it does not fail.
 */
export interface Early {
  /** When the program was answered, on the wall clock. */
  answeredNs: bigint;
  /** Number of its record; they grow, over processes too. */
  earlyNumber: number;
}

/**
 * Requests of the drive to the agent. Every request with an `id` is answered exactly once with one of the reply
 * methods; an answer after the drive has given up (deadline, interrupt, unmount) is dropped without error. Before it
 * answers with success the agent has put the entries that the answer implies (putEntries), so that the drive replies
 * from its table.
 */
export type DriveRequest = Partial<Early> & Request;

type Request = { id: number; caller: Caller } & (
  | { op: "lookup"; folder: number; name: string } // answered done: the binding (or absence) has been put
  | { op: "getattr"; node: number } // answered done: the node's entry has been put (putNode)
  | { op: "list"; folder: number } // answered done: putFolder has been called with the whole listing
  | { op: "open"; node: number; wantsWrite: boolean; truncates: boolean } // answered opened
  | { op: "create"; folder: number; name: string; mode: number; isExclusive: boolean } // answered created
  /**
   * Answered done. Early, also of a file that a program creates: `node` has the name, `mode` and owner (caller) are its
   * own.
   */
  | {
      op: "make";
      folder: number;
      name: string;
      type: FileType;
      mode: number;
      rdev: number;
      target: string;
      node?: number;
    }
  | { op: "link"; node: number; folder: number; name: string } // done
  | { op: "remove"; folder: number; name: string; isFolder: boolean; node?: number } // done; early: whose name it was
  | {
      op: "rename";
      folder: number;
      name: string;
      toFolder: number;
      toName: string;
      how: "replace" | "keep" | "exchange";
      /** Early: whose name it was. */
      node?: number;
    } // done
  // Attributes of a node, answered done; sizeBytes only when no file of it is open for writing here (else the overlay
  // takes it).
  | { op: "setattr"; node: number; mode?: number; uid?: number; gid?: number; mtimeNs?: bigint; sizeBytes?: number }
  // Bytes are wanted that `present` lacks; answered done after putRanges covered them. `ahead` more would be welcome
  // (sequential reader).
  | { op: "fetch"; content: number; offset: number; length: number; ahead: number } // done
  /**
   * A dirty file is to become a version. The overlay `path` is frozen (later writes go to a new overlay) and belongs to
   * the agent from here on. Content = for each byte below sizeBytes: the topmost layer whose `extents` hold it, else
   * baseVersion below `baseBytes`, else zero. Answered committed, or fail (the drive keeps the layers and sends them
   * again, with what was written since, at the next flush, fsync or release; after a failed release nobody is left to:
   * what has not been committed is the agent's). One commit of a file is in flight at a time. It outlives the programs
   * that wait for it: when they met their deadline or were interrupted (told as `interrupted` when nobody is left), an
   * answer still counts.
   */
  | {
      op: "commit";
      /** flush, fsync: a program waits. release: the last handle was closed with dirty pages written later (mmap). */
      reason: "flush" | "fsync" | "release";
      file: number;
      node: number;
      /** The version this commit replaces: the one the file was opened over, or that of its last commit. */
      baseVersion: number;
      /**
       * The bytes of the content of baseVersion that still shows through (0 after O_TRUNC; it stays useful for COPY).
       */
      baseBytes: number;
      /**
       * The content the file reads from, 0 = none (a new file). It is of baseVersion, unless an earlier commit of this
       * file has not been merged and rebased yet: then baseVersion is that commit's result.
       */
      baseContent: number;
      /** The file with bytes that this program last opened to read, 0 = none or this one: a hint. */
      readBefore: number;
      sizeBytes: number;
      /**
       * The data that no commit holds yet, lowest first; a later layer covers an earlier one. Usually one; none when
       * only the size or times changed.
       */
      layers: { path: string; extents: ByteRange[] }[];
      mtimeNs: bigint;
      /** When it was last changed, by the clock here. */
      ctimeNs: bigint;
    }
  | { op: "statfs" } // answered statfs
  | { op: "xattrs"; node: number } // its extended attributes are wanted: answered xattrs
  // answered done; fails with Exists (create) or NoAttribute (replace, remove)
  | { op: "setxattr"; node: number; name: string; how: "any" | "create" | "replace" | "remove"; value: Uint8Array }
  | { op: "sync" } // all that was answered before is to survive a power cut here: answered done
);

/** Things the agent is told and does not answer. */
export type DriveNotice =
  | { op: "interrupted"; id: number } // the program gave up; work for it may stop
  | { op: "closed"; file: number; node: number } // the last handle of a file was closed; its content may be evicted
  | { op: "unmounted"; reason: string }; // by umount(8), an abort, or close()

export interface DriveStatistics {
  /** Bytes that applications read from and wrote to the drive. */
  readBytes: number;
  writtenBytes: number;
  /** Requests answered without JavaScript, and those passed to it, by operation. */
  native: Record<string, number>;
  passed: Record<string, number>;
  openFiles: number;
  pendingRequests: number;
  entries: number;
  /** Nodes that the kernel holds of us, bounded by its own memory. */
  kernelNodes: number;
}

export interface DriveSettings {
  /** Empty folder to mount at (fuse), or a free drive letter or share, as "R:" or "\\\\runnel\\docs" (winfsp). */
  mountpoint: string;
  /** Shown as the file system's source: "runnel:docs". */
  source: string;
  /** Existing folder for overlays; files in it are named `<overlayPrefix>-<n>`. */
  overlayFolder: string;
  overlayPrefix: string;
  /**
   * The drive answers EIO after these milliseconds without the agent's answer; 0 = never (the agent decides). By
   * operation.
   */
  deadlinesMs: Partial<Record<DriveRequest["op"], number>>;
  /** The most entries kept (whole folders are dropped, least recently used first). */
  entriesMax: number;
  isReadOnly: boolean;
  /**
   * macOS only: mounts through FSKit (macFUSE's `-o backend=fskit`), which needs no kernel extension, mounts below
   * /Volumes only, and is asked for every name and attribute, since it cannot be told to forget one.
   */
  usesFsKit?: boolean;
  /**
   * A mount is still there whose process died, and gives way to this one: at no moment, where the system allows that,
   * is the bare folder there.
   */
  replacesDead?: boolean;
  /** The node that is mounted; 1 unless said. */
  rootNode?: number;
  /** The most that a kernel may answer names and attributes by itself; left out: a second. */
  kernelTimeoutMs?: number;
}

export interface Drive {
  /** URL at which programs reach it while no kernel shows it. */
  readonly address?: string | undefined;

  /** Starts serving. @throws RunnelError with a sentence for a person (mount point missing, not empty, no FUSE…). */
  start(on: { requests(batch: DriveRequest[]): void; notice(notice: DriveNotice): void }): Promise<void>;

  /**
   * Fills or changes bindings. `changed`: they came from the feed, so old bindings are stale and the kernel is told, on
   * a thread of its own.
   */
  putEntries(bindings: readonly DriveBinding[], changed: boolean): void;
  /** A folder's whole listing, in place of what was known of it; lookups of other names are then known absent. */
  putFolder(folder: number, listing: readonly { name: string; entry: DriveEntry }[]): void;
  /** Attributes of a node under whatever names it has (root, hard links). */
  putNode(entry: DriveEntry, changed: boolean): void;
  /** Forgets what is known below a folder (not recursive); 0 = everything. The kernel is told. */
  dropFolder(folder: number): void;
  /** Until this CLOCK_BOOTTIME, in ms, the tables may be answered from without asking. 0 = no lease. */
  setLease(untilBootMs: number): void;

  /**
   * Opens a file in which changes are kept that are answered early, as `leftEarly` reads it, and empties it. `next` is
   * the first number to give. False: there can be none.
   */
  openEarlyLog(path: string, boot: string, next: number): boolean;
  /** Node ids for what programs make so, in place of those that are left. Without any the agent is asked. */
  giveNodes(first: number, count: number): void;
  /**
   * While it has a lease, the drive answers from its tables changes that they have all of, until it is told otherwise:
   * from that moment it answers none, and those that it has answered are given to the agent in their order.
   */
  allowEarly(isAllowed: boolean): void;
  /** The agent knows an early change. True: it is to put anew what that is of. */
  tookIn(id: number): boolean;
  /** Resolves when the agent has been given all that the drive has for it now. */
  given(): Promise<void>;

  putContent(content: DriveContent): void;
  putRanges(content: number, present: readonly ByteRange[]): void;
  /**
   * Returns false when a file is open over it, which may still ask for more of it; it stays. To be tried again after
   * `closed`.
   */
  dropContent(content: number): boolean;
  /**
   * Lets nobody open it from here on. The file, if it is open over it, reads on: what it has there must stay, and what
   * it lacks it still asks for. Returns false when another file is open over it too; nothing has changed then.
   */
  dropContentBut(content: number, file: number): boolean;
  /**
   * Every file that is open over the content reads on from another one of the same version, which has been put, and
   * asks for what that lacks. Nobody opens the first from here on; what reads from it at this moment ends so. False:
   * the other one has not been put.
   */
  replaceContent(content: number, by: number): boolean;

  /**
   * It is being worked on: what waits for it has its whole deadline again from now. Unknown ids are ignored, as they
   * are below.
   */
  prolong(id: number): void;
  /** From now on a request that has a deadline has so long at the least: the line is slow to answer. */
  setDeadlineMin(delayMs: number): void;
  /**
   * Says that the agent gets on, and has been late for so long in all; called several times in 250 ms while a request
   * is unanswered. No deadline runs while the agent is late, by what it says or by its saying nothing; a request is put
   * off by a minute at the most.
   */
  heartbeat(lateMs: number): void;
  done(id: number): void;
  fail(id: number, kind: ErrorKind): void;
  /** Opens over a content that has been put; content 0 = an empty file. */
  opened(id: number, answer: { content: number; version: number }): void;
  /**
   * The new file is empty and open; its entry has been put. A create without isExclusive that meets a file is answered
   * fail(Exists): the program opens that one.
   */
  created(id: number, answer: { node: number; version: number }): void;
  /**
   * The file's content is now `version`. base + layers stay in place until rebase. 0: nobody wants it, since the file
   * has been removed; its programs go on over what they have, and the next commit brings that again.
   */
  committed(id: number, answer: { version: number }): void;
  /**
   * The layers up to the content's version have been merged into this content, which has been put: the file reads from
   * it, their overlays are let go. False: the file is gone, or has no such version.
   */
  rebase(file: number, content: number): boolean;
  /**
   * Makes layers of an open file, whose commits have been answered, one layer: all that they have lies in one file now,
   * at the same offsets; "": nothing of them shows. Their overlays are let go. False: the open file does not have them,
   * or the new one cannot be opened; nothing has changed then.
   */
  joinLayers(file: number, overlays: readonly string[], path: string): boolean;
  /**
   * An open file's content as of a commit request that has been answered, by its id, is that version now: the commit
   * was answered as failed, or with another version, and the content has come to the server since. `isElsewhere`: as
   * another file's, with which its programs go on; whoever opens its name here gets the one of that name. False: the
   * file is gone, or a later commit has what that one had.
   */
  saved(file: number, commit: number, version: number, isElsewhere: boolean): boolean;
  /**
   * Commits every open file with unsaved writes. Resolves, in a later turn of the event loop, when the agent has
   * answered for all that was written before: undefined, or the kind of failure of one that could not be saved, which
   * stays unsaved.
   */
  commitDirty(): Promise<ErrorKind | undefined>;
  statfs(
    id: number,
    answer: { totalBytes: number; freeBytes: number; availableBytes: number; totalFiles: number; freeFiles: number },
  ): void;

  xattrs(id: number, xattrs: readonly Xattr[]): void;

  statistics(): DriveStatistics;
  /**
   * Unmounts. Without `force`, @throws RunnelError Busy while programs have files open or stand in it. With it,
   * detaches lazily and answers what is pending with EIO. Resolves when the threads have ended.
   */
  close(force: boolean): Promise<void>;
}
