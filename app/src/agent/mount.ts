// A mount, as the control API sees it: one volume mapped at one mount point by the agent.
import type { Predicate } from "@runnel/shared";
import type {
  Evicted,
  FolderPage,
  FoundEntry,
  MountStatistics,
  MountStatus,
  Openers,
  FolderPause,
  Pause,
  PinStatus,
  UnsentFile,
} from "./mount-status.ts";
import type { CarryingMount } from "./carry/carried.ts";
import type { VolumeFiles } from "./objects/volume-files.ts";
import type { FolderRange } from "./view/folder-list.ts";
import type { FolderCounts } from "./view/meter.ts";
import type { LiveTransfer } from "./view/transfers.ts";
import type { Sources } from "./transfer/sources/sources.ts";

export interface MountSettings {
  /** wss://host:port/volume, or ws on loopback */
  url: string;
  /** Absolute path of an existing empty folder. */
  mountpoint: string;
  /** Folder of cached contents; made if missing. */
  cacheFolder: string;
  /**
   * The most that cached contents may take; what is in use or not yet sent is kept beyond it. May change while the
   * drive is there.
   */
  cacheBytes: number;
  /** Folder of this mount's replica and journal; made if missing. */
  stateFolder: string;
  /** Programs see this user as the owner of everything, whoever is stored. */
  mapOwner: boolean;
  /** Programs are answered before the server has what they changed, where nobody else uses the volume. */
  isAsync: boolean;
  /** The most that contents which wait to be sent may take, in mode async; undefined: as much as is usual. */
  unsentBytes?: number;
  /** macOS: mounted through FSKit, without a kernel extension. */
  usesFsKit?: boolean;
  /** Served over NFS on loopback, without any driver. */
  usesNfs?: boolean;
  /** No kernel shows it: only the agent itself works in it. `mountpoint` is a name then. */
  isUnmounted?: boolean;
  /** Path of the server's secret where there is no TLS (W165); undefined: where this user's programs look. */
  secretPath?: string;
  /**
   * Other devices that use the volume may have what is cached here, and this one what they have: those of the same
   * network, or everyone; undefined: off. May change while the drive is there.
   */
  colleagues?: "off" | "network" | "everyone";
  /** Bytes a second that they get of this drive at the most; undefined: as much as the line takes. */
  colleaguesUpBytes?: number;
  /**
   * A person's word on the line that the drive uses: nothing is shared with colleagues over a metered one; undefined:
   * as the system says. May change while the drive is there.
   */
  isMetered?: boolean;
  /** Mapped again after the agent has ended, until a person unmounts it. May change while the drive is there. */
  isKept?: boolean;
  /** Nothing crosses the line until it ends. May change while the drive is there. */
  pause?: Pause;
  /** Nothing of these folders and files crosses the line. May change while the drive is there. */
  pausedFolders?: readonly FolderPause[];
  /** A dead agent's drive is still mounted there, and gives way to this one. */
  replacesDead?: boolean;
}

/** Counts of what a drive that has ended could not send. */
export type Unsent = Pick<MountStatus, "unsentFiles" | "unsentNames">;

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
  /**
   * Gives contents up for good. @throws Busy while one is being sent, or a program has it open; NotFound when it is not
   * unsent any more.
   */
  discard(ids: readonly string[]): Promise<void>;
}

export interface Mount {
  readonly settings: MountSettings;
  /** `asksServer`: includes what it says; that takes a round trip, or a silence. */
  status(asksServer: boolean): Promise<MountStatus>;
  statistics(): MountStatistics;
  resetStatistics(): void;
  /** Lists what moves now, the oldest first. */
  transfers(): LiveTransfer[];
  /** Counts since the last call, by folder at the top of the drive; they add up to what the statistics grew by. */
  takeCounts(): FolderCounts[];
  /**
   * Resolves when all written so far is committed (`whenApplied`: and in the server's plain files), but for what is
   * stuck, which it names. @throws Unreachable naming what waits for the server.
   */
  flush(whenApplied: boolean): Promise<UnsentFile[]>;
  readonly unsentFiles: UnsentFiles;
  /** Takes sources of chunks besides the server. */
  readonly sources: Pick<Sources, "add">;
  /** Files of the volume, for the agent itself. */
  readonly files: VolumeFiles;
  find(predicate: Predicate): AsyncIterable<FoundEntry>;
  /**
   * A file, or a folder with all below it, by its path in the drive. `progress`, where it takes long: of so many files
   * and folders so many are gone.
   * @throws NotFound; Stale when others changed something of it meanwhile.
   */
  remove(path: string, progress?: (removed: number, all: number) => void): Promise<void>;
  /**
   * Keeps a file, or a folder with all that is or comes below it, here; "" is all of the drive. Durable when it
   * resolves. @throws NotFound; Quota, NoSpace naming what lacks.
   */
  pin(path: string): Promise<PinStatus>;
  /** @throws NotFound. */
  unpin(path: string): Promise<void>;
  /** The drive's part in what is carried on sticks. */
  readonly carrying: CarryingMount;
  /** Lists some of a folder; "" is the drive. @throws NotFound, NotFolder. */
  folder(path: string, range: FolderRange): Promise<FolderPage>;
  /** Frees what is cached of a file, or below a folder. @throws NotFound; Busy where it is pinned. */
  evict(path: string): Promise<Evicted>;
  /**
   * Asks the server who has a file or folder open; "" is the drive. @throws Unreachable; NotFound, also of what is not
   * on the server yet; Unsupported by a server of an earlier version.
   */
  openers(path: string): Promise<Openers>;
  /**
   * A person has seen to the conflicts of a path: they are listed no more, for nobody. Resolves with their count.
   * @throws Unreachable, ReadOnly.
   */
  settle(path: string): Promise<number>;
  /**
   * Takes the pause that the settings have now. Resolves when nothing crosses the line any more, or all may again.
   */
  pauseChanged(): Promise<void>;
  /** Takes what the settings say of colleagues now. */
  colleaguesChanged(): void;
  /** Pauses a folder or file by its path in the drive, which is written down over a restart. @throws NotFound */
  pauseFolder(path: string, pause: Pause): Promise<void>;
  /** @returns false where that is not paused by itself. */
  resumeFolder(path: string): boolean;
  /**
   * Ends the mount; what could not be sent is kept for the next one at this place. @throws Busy without `force` while
   * programs use the drive.
   */
  unmount(force: boolean): Promise<Unsent>;
  /** Resolves with the reason when the mount has ended, whoever ended it. */
  readonly ended: Promise<string>;
}
