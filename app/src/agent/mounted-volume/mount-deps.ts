// Engines, stores and settings that a mount runs on.
import type { Drive } from "@runnel/native/drive";
import type { Clock, Dialer, DiskRoot, Executor } from "@runnel/shared";
import type { EarlyLog } from "../changes/early-answers.ts";
import type { Cache } from "../cache/cache.ts";
import type { DeviceAtHome } from "../colleagues/colleagues.ts";
import type { Journal } from "../journal/journal.ts";
import type { MachineChanges } from "../machine/machine-changes.ts";
import type { MountSettings } from "../mount.ts";
import type { PinList } from "../pins/pin-list.ts";
import type { Replica } from "../replica/replica.ts";
import type { Happening } from "../view/mount-watch.ts";

export interface MountDeps {
  settings: MountSettings;
  volume: string;
  clock: Clock;
  dialer: Dialer;
  executor: Executor;
  drive: Drive;
  replica: Replica;
  cache: Cache;
  journal: Journal;
  pinList: PinList;
  earlyLog: EarlyLog;
  /** The journal's data folder. */
  data: DiskRoot;
  /** The folder below which the cache's contents lie. */
  cacheRoot: DiskRoot;
  software: string;
  /** Left out where nobody knows when the machine slept, or its network changed. */
  machine?: MachineChanges;
  /** Returns what makes this device known to the server. */
  token?(): Promise<string | undefined> | string | undefined;
  /** The drive is opened so. */
  isReadOnly: boolean;
  /** Left out where colleagues are not to be had. */
  device?: DeviceAtHome;
  /** Called when the server lets this device do something else than before. */
  rightChanged?(isReadOnly: boolean): void;
  /** Takes what a person may want to know later. */
  happened?(happening: Happening): void;
  /** Opens a folder of this computer, made where it is missing. */
  openFolder(path: string): Promise<DiskRoot>;
  /** Closes what open-mount opened. */
  release(): Promise<void>;
  log(message: string, error?: unknown): void;
}
