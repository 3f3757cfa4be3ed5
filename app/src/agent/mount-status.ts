// Status and figures of a drive, and what its server says of the folder, as they go over the control socket.
import { SCAN_REASONS } from "@runnel/shared/base";
import { z } from "zod";

const count = z.number();

/** Bytes on the wire of one direction, by what they carried; the sum is TCP payload. */
const WireBytes = z.object({
  data: count,
  recipes: count,
  metadata: count,
  /** WebSocket and frame headers, the upgrade, acknowledgements, lease traffic. */
  overhead: count,
});
export type WireBytes = z.infer<typeof WireBytes>;

export const MountStatistics = z.object({
  /** Bytes that applications moved through the mount, or by `put`, `get` and `cp`. */
  applications: z.object({ readBytes: count, writtenBytes: count }),
  sent: WireBytes,
  received: WireBytes,
  roundTrips: count,
  /** Chunks that did not cross the wire, by where they were found. */
  reusedChunks: z.object({ base: count, cache: count, server: count }),
  reusedBytes: count,
  /** Questions of programs that were answered as was last known, since the server could not be asked. */
  offlineAnswers: count,
  /** 100 × (1 − wire bytes / application bytes); 0 while applications moved nothing; may be negative. */
  savedPercent: count,
});
export type MountStatistics = z.infer<typeof MountStatistics>;

export function wireTotal(bytes: WireBytes): number {
  return bytes.data + bytes.recipes + bytes.metadata + bytes.overhead;
}

/** A path that something is in the way of on the server. */
const Stuck = z.object({ path: z.string(), kind: z.string(), sentence: z.string() });
export type Stuck = z.infer<typeof Stuck>;

const AtPath = z.object({ path: z.string(), atMs: count });
const ServerConflict = AtPath.extend({ conflictCopy: z.string() });

const Amount = z.object({ files: count, bytes: count });
/** A file or folder that is kept here: how much it is, and how much of that is here. */
export const PinStatus = z.object({
  /** Path in the drive; "" is all of it. */
  path: z.string(),
  /** False while nothing is at the path. */
  isThere: z.boolean(),
  all: Amount,
  here: Amount,
  /** All of it is here, and up to date. */
  isComplete: z.boolean(),
});
export type PinStatus = z.infer<typeof PinStatus>;

/** The volume and its folder, as the server says; times by the server's clock. */
const ServerStatus = z.object({
  seq: count,
  /** Changes that are saved, and not yet in the plain files. */
  pending: count,
  /** Why they do not get there, and which path waits first; it is tried again. */
  stuck: Stuck.nullable(),
  /**
   * Scan of what programs there changed, which may not show yet: so many names are done, of so many or more; `stuck`
   * where that fails.
   */
  scan: z.object({ why: z.enum(SCAN_REASONS), done: count, total: count, stuck: Stuck.nullable() }).nullable(),
  /** Changed there and from a drive at once; both are kept. */
  conflicts: z.array(ServerConflict),
  /** Saves that lack bytes which programs there destroyed; what there is of them is in a conflict copy. */
  incomplete: z.array(
    ServerConflict.extend({
      missing: z.array(z.object({ offset: count, length: count })),
      missingBytes: count,
    }),
  ),
  /** Old versions that programs there wrote over, which no drive was promised; "" is a file without a name. */
  lost: z.array(AtPath.extend({ versions: count })),
  /** Saves that programs there destroyed before they were in their plain files. */
  destroyed: z.array(AtPath.extend({ seq: count })),
  /** Changes that were acknowledged, and not to be brought back when the server lost its index. */
  missing: z.array(AtPath.extend({ seq: count })),
  salvaged: z.array(z.object({ changes: count, atMs: count })),
  /** Names that cannot be offered; of many the first. */
  excluded: z.object({ count, paths: z.array(z.string()) }),
});
export type ServerStatus = z.infer<typeof ServerStatus>;

/** Time in which nothing crosses the line of a drive; wall clock, `untilMs` null: until a person resumes it. */
export const Pause = z.object({ sinceMs: count, untilMs: count.nullable() });
export type Pause = z.infer<typeof Pause>;

/** `until`: the end in words, "until 14:00". `reminders`: how often a person was to be reminded of it. */
const PauseTerm = Pause.extend({ until: z.string(), reminders: count });

/** The pause of a folder or file: its node in the volume of that epoch, 0: none is known; where it was last. */
export const FolderPause = Pause.extend({ path: z.string(), node: count, epoch: z.string() });
export type FolderPause = z.infer<typeof FolderPause>;

export const FolderPauseStatus = PauseTerm.extend({ path: z.string() });
export type FolderPauseStatus = z.infer<typeof FolderPauseStatus>;

export const MountStatus = z.object({
  url: z.string(),
  volume: z.string(),
  mountpoint: z.string(),
  /** listing: connected, the tree is still being filled. */
  state: z.enum(["listing", "connected", "offline"]),
  hasLease: z.boolean(),
  /** The server lets this device read only: the drive is mounted so. */
  isReadOnly: z.boolean(),
  /** Why the server does not let this device in, or cannot serve the volume now; null: neither is so. */
  refusal: z.string().nullable(),
  /** null: it is not paused. */
  pause: PauseTerm.nullable(),
  /** Folders and files in it that are paused by themselves, by their paths in the drive. */
  pausedFolders: z.array(FolderPauseStatus),
  /** A sentence for a person about the state. */
  sentence: z.string(),
  epoch: z.string(),
  seq: count,
  /** When a close returns: sync = the server has it, async = this computer has it. */
  mode: z.enum(["sync", "async"]),
  unsentFiles: count,
  unsentBytes: count,
  /** Changes of names and attributes that the server does not have yet. */
  unsentNames: count,
  /** Saves that programs wait for: their contents are on their way. */
  awaitedFiles: count,
  /** Whom a commit waits for now, and until when (wall clock, ms). */
  waiting: z.array(z.object({ operation: z.string(), for: z.array(z.string()), untilMs: count })),
  /**
   * Saves over what another client had saved meanwhile, `by` whom, until a person settles them; times by the server's
   * clock. `conflictCopy` is null where the file has that content, and the other one is an older version of it.
   */
  conflicts: z.array(AtPath.extend({ seq: count, conflictCopy: z.string().nullable(), by: z.string() })),
  /** Problems of late that were shown to no program: a sentence each. */
  problems: z.array(z.string()),
  /** Files and folders that are kept here, since a person pinned them. */
  pins: z.array(PinStatus),
  /** Bytes that pins need beyond what the cache may take. */
  pinsLackBytes: count,
  cacheBytes: count,
  /** The most that cached contents may take. */
  cacheLimitBytes: count,
  /** URL at which programs reach a drive that no kernel shows (`mount --nfs`); null: its mount point shows it. */
  address: z.string().nullable(),
  /** Mapped again after the agent has ended. */
  isKept: z.boolean(),
  pid: z.int(),
  /** null: not asked, or it cannot be asked now. */
  server: ServerStatus.nullable(),
});
export type MountStatus = z.infer<typeof MountStatus>;

export const FoundEntry = z.object({ path: z.string(), type: z.string(), sizeBytes: count, mtimeMs: count });
export type FoundEntry = z.infer<typeof FoundEntry>;

const RowPin = z.object({
  /** Path of what was pinned: this, or a folder above it. */
  path: z.string(),
  isOwn: z.boolean(),
  /** All of this row is here, as far as that is known. */
  isComplete: z.boolean(),
  /** Share of its bytes that is here, at most 1; null: not known, as of a large folder in what was pinned. */
  share: count.nullable(),
});
/** A file or folder in a folder, as a person is shown it. */
export const FolderRow = z.object({
  /** Place in the order that was asked for. */
  index: count,
  name: z.string(),
  type: z.string(),
  sizeBytes: count,
  mtimeMs: count,
  /** Bytes of a file that are on this computer; null for what is no file. */
  hereBytes: count.nullable(),
  pin: RowPin.nullable(),
  /** It is paused; `isOwn`: by itself, and not with a folder above it. `until`: in words. */
  pause: z.object({ isOwn: z.boolean(), until: z.string() }).nullable(),
});
export type FolderRow = z.infer<typeof FolderRow>;
/** Some rows of a folder. `revision` is another one when names came, went or moved. */
export const FolderPage = z.object({ total: count, revision: count, pin: RowPin.nullable(), rows: z.array(FolderRow) });
export type FolderPage = z.infer<typeof FolderPage>;

/** Result of an eviction: files that are not here any more, and those that stay: in use, or pinned. */
export const Evicted = z.object({ files: count, bytes: count, filesInUse: count, filesPinned: count });
export type Evicted = z.infer<typeof Evicted>;

/** User of a file or folder, as its server tells the others of the volume. */
export const Opener = z.object({
  /** Name of the device. */
  name: z.string(),
  /** It is this device. */
  isOwn: z.boolean(),
  /** Without it, it may still use what it has for the rest of its lease. */
  isConnected: z.boolean(),
  /** Time at which its drive connected, by the server's clock; null when that is not known. */
  sinceMs: count.nullable(),
  /** A program there has the file open, or had it lately; never so of a folder. */
  hasRead: z.boolean(),
});
export type Opener = z.infer<typeof Opener>;
/** Users of a file or folder: those who have it first. `total`: of all, also of those that are not listed. */
export const Openers = z.object({ isFolder: z.boolean(), total: count, openers: z.array(Opener) });
export type Openers = z.infer<typeof Openers>;

/** A content that is not on the server. */
export const UnsentFile = z.object({
  /** Names it until it is sent or discarded. */
  id: z.string(),
  path: z.string(),
  sizeBytes: count,
  /** Time at which it was written. */
  sinceMs: count,
  /** A sentence; null: it is about to be sent. */
  reason: z.string().nullable(),
  /** The server refused it, or its bytes may not be what was written: a person may have to help. */
  isStuck: z.boolean(),
});
export type UnsentFile = z.infer<typeof UnsentFile>;
