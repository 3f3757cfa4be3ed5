// A mount, as the control API sees it: one volume mapped at one mount point by the agent.
import type { LookWhy, Predicate } from "@runnel/shared";

export interface MountSettings {
  /** wss://host:port/volume, or ws on loopback */
  url: string;
  /** Absolute path of an existing empty folder. */
  mountpoint: string;
  /** Folder of cached contents; made if missing. */
  cacheFolder: string;
  /** The most that cached contents may take; what is in use or not yet sent is kept beyond it. */
  cacheBytes: number;
  /** Folder of this mount's replica and journal; made if missing. */
  stateFolder: string;
  /** Programs see this user as the owner of everything, whoever is stored. */
  mapOwner: boolean;
  /** macOS: mounted through FSKit, without a kernel extension. */
  usesFsKit?: boolean;
  /** Path of the server's secret where there is no TLS (W165); undefined: where this user's programs look. */
  secretPath?: string;
  /** A dead agent's drive is still mounted there, and gives way to this one. */
  replacesDead?: boolean;
}

/** Bytes on the wire of one direction, by what they carried; the sum is TCP payload. */
export interface WireBytes {
  data: number;
  recipes: number;
  metadata: number;
  /** WebSocket and frame headers, the upgrade, acknowledgements, lease traffic. */
  overhead: number;
}

export interface MountStatistics {
  /** Bytes that applications moved through the mount. */
  applications: { readBytes: number; writtenBytes: number };
  sent: WireBytes;
  received: WireBytes;
  roundTrips: number;
  /** Chunks that did not cross the wire, by where they were found. */
  reusedChunks: { base: number; cache: number; server: number };
  reusedBytes: number;
  /** Questions of programs that were answered as was last known, since the server could not be asked. */
  offlineAnswers: number;
  /** 100 × (1 − wire bytes / application bytes); 0 while applications moved nothing; may be negative. */
  savedPercent: number;
}

/** A path that something is in the way of on the server. */
export interface Stuck {
  path: string;
  kind: string;
  sentence: string;
}

/** The volume and its folder, as the server says; times by the server's clock. */
export interface ServerStatus {
  seq: number;
  /** Changes that are saved, and not yet in the plain files. */
  pending: number;
  /** Why they do not get there, and which path waits first; it is tried again. */
  stuck: Stuck | null;
  /** Scan of what programs there changed, which may not show yet: so many names are done, of so many or more; `stuck` where that fails. */
  scan: { why: LookWhy; done: number; total: number; stuck: Stuck | null } | null;
  /** Changed there and from a drive at once; both are kept. */
  conflicts: { path: string; conflictCopy: string; atMs: number }[];
  /** Saves that lack bytes which programs there destroyed; what there is of them is in a conflict copy. */
  incomplete: {
    path: string;
    conflictCopy: string;
    missing: { offset: number; length: number }[];
    missingBytes: number;
    atMs: number;
  }[];
  /** Old versions that programs there wrote over, which no drive was promised; "" is a file without a name. */
  lost: { path: string; versions: number; atMs: number }[];
  /** Saves that programs there destroyed before they were in their plain files. */
  destroyed: { path: string; seq: number; atMs: number }[];
  /** Changes that were acknowledged, and not to be brought back when the server lost its index. */
  missing: { path: string; seq: number; atMs: number }[];
  salvaged: { changes: number; atMs: number }[];
  /** Names that cannot be offered; of many the first. */
  excluded: { count: number; paths: string[] };
}

export interface MountStatus {
  url: string;
  volume: string;
  mountpoint: string;
  /** listing: connected, the tree is still being filled. */
  state: "listing" | "connected" | "offline";
  hasLease: boolean;
  /** The server lets this device read only: the drive is mounted so. */
  isReadOnly: boolean;
  /** A sentence for a person about the state. */
  sentence: string;
  epoch: string;
  seq: number;
  unsentFiles: number;
  unsentBytes: number;
  /** Whom a commit waits for now, and until when (wall clock, ms). */
  waiting: { operation: string; for: string[]; untilMs: number }[];
  conflicts: { path: string; conflictCopy: string }[];
  /** Problems of late that were shown to no program: a sentence each. */
  problems: string[];
  cacheBytes: number;
  pid: number;
  /** null: not asked, or it cannot be asked now. */
  server: ServerStatus | null;
}

/** A content that is not on the server. */
export interface UnsentFile {
  /** Names it until it is sent or discarded. */
  id: string;
  path: string;
  sizeBytes: number;
  /** Time at which it was written. */
  sinceMs: number;
  /** A sentence; null: it is about to be sent. */
  reason: string | null;
  /** The server refused it, or its bytes may not be what was written: a person may have to help. */
  isStuck: boolean;
}

export interface ExportedFile {
  id: string;
  /** Path in the folder; null when it could not be written. */
  path: string | null;
  /** All bytes are there; else zeros stand for what nobody has of the version that was edited. */
  isWhole: boolean;
  /** Why it could not be written. */
  reason: string | null;
}

/** Contents of a drive that could not be sent. */
export interface UnsentFiles {
  list(): UnsentFile[];
  /** Copies contents to files below a folder (made where it is missing), over none that is there. */
  exportTo(folder: string, ids: readonly string[]): Promise<ExportedFile[]>;
  /** Gives contents up for good. @throws Busy while one is being sent, or a program has it open; NotFound when it is not unsent any more. */
  discard(ids: readonly string[]): Promise<void>;
}

export interface FoundEntry {
  path: string;
  type: string;
  sizeBytes: number;
  mtimeMs: number;
}

export interface Mount {
  readonly settings: MountSettings;
  /** `asksServer`: includes what it says; that takes a round trip, or a silence. */
  status(asksServer: boolean): Promise<MountStatus>;
  statistics(): MountStatistics;
  resetStatistics(): void;
  /**
   * Resolves when all written so far is committed (`whenApplied`: and in the server's plain files), but for what is stuck, which it names. @throws Unreachable naming
   * what waits for the server.
   */
  flush(whenApplied: boolean): Promise<UnsentFile[]>;
  readonly unsentFiles: UnsentFiles;
  find(predicate: Predicate): AsyncIterable<FoundEntry>;
  /**
   * A file, or a folder with all below it, by its path in the drive. `progress`, where it takes long: of so many files and folders so many are gone.
   * @throws NotFound; Stale when others changed something of it meanwhile.
   */
  remove(path: string, progress?: (removed: number, all: number) => void): Promise<void>;
  /** Ends the mount; what could not be sent is kept for the next one at this place. @throws Busy without `force` while programs use the drive. */
  unmount(force: boolean): Promise<{ unsentFiles: number }>;
  /** Resolves with the reason when the mount has ended, whoever ended it. */
  readonly ended: Promise<string>;
}
