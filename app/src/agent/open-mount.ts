// Opens a mount with the real engines: FUSE, WebSocket, disk, threads, SQLite.
// oxlint-disable-next-line no-restricted-imports -- of one address
import { createHash } from "node:crypto";
import { join } from "node:path";
import { DescriptorGate, descriptorLimit, hasAddon, realDisk, systemBoot, threadExecutor } from "@runnel/native";
import { type Drive, type DriveSettings, kernelDrive, memoryDrive, nfsDrive } from "@runnel/native/drive";
import { LocalSecrets, RealClock, WsDialer } from "@runnel/shared";
import type { Clock, Dialer, Disk, DiskRoot, Executor } from "@runnel/shared";
import type { Logger } from "pino";
import { AgentHome, thisSystem, volumeOf } from "./control/index.ts";
import { openCache } from "./cache/content-cache.ts";
import { filesLeft, readEarlyLog } from "./changes/early-answers.ts";
import type { DeviceAtHome } from "./colleagues/colleagues.ts";
import { deviceAtHome } from "./colleagues/device-at-home.ts";
import { commonFolder, pathBelow } from "./cache/path-below.ts";
import { withDriveThatIsThere } from "./drive-that-is-there.ts";
import { openJournal } from "./journal/log-journal.ts";
import { MountedVolume } from "./mounted-volume/mounted-volume.ts";
import type { MountDeps } from "./mounted-volume/mount-deps.ts";
import { mountLog } from "./mount-log.ts";
import type { Mount, MountSettings } from "./mount.ts";
import { PinList } from "./pins/pin-list.ts";
import { thisMachine } from "./machine/host/this-machine.ts";
import { knownHere } from "./servers/log-in-here.ts";
import type { Happening } from "./view/mount-watch.ts";
import type { Supplies } from "./supply/supplies.ts";
import { type LogSupplies, suppliesHere } from "./supply/supplies-here.ts";
import { openReplica } from "./replica/sqlite-replica.ts";
import { VERSION } from "./version.ts";

const FOLDER_MODE = 0o700;
/** Some 300 bytes each, in the drive; more are taken from the replica when they are asked for. */
const ENTRIES_MAX = 65_536;
/**
 * Requests that read metadata answer within 2 s of silence; those that change it wait for the change ([W15], [W131]).
 */
const READ_DEADLINE_MS = 5_000;

/** Engines that a mount runs on. */
export interface MountEngines {
  clock: Clock;
  executor: Executor;
  disk: Disk;
  dialer: Dialer;
  drive(settings: DriveSettings): Drive;
  /** The system's current boot; left out: it is looked up. */
  boot?: string;
  /** Names a client's instance: 32 hexadecimal digits, never the same twice; left out: at random. */
  newInstance?: () => string;
  log(message: string, error?: unknown): void;
  /** Left out where nobody remembers. */
  happened?: (happening: Happening) => void;
}

/**
 * Divisor of the files that the process may have open; the drives take a tenth, the rest is for databases and sockets.
 */
const OWN_SHARE = 2;
let gate: DescriptorGate | undefined;
/** Shared by all drives of the agent. */
let device: DeviceAtHome | undefined;

export async function openMount(
  asked: MountSettings,
  log: Logger,
  happened: (happening: Happening) => void,
): Promise<Mount> {
  const drivesHere = { mapsNfs: thisSystem.mapsNfs, hasKernelDrive: hasAddon("drive") };
  const settings = withDriveThatIsThere(asked, drivesHere);
  const clock = new RealClock();
  gate ??= new DescriptorGate(clock, Math.floor(descriptorLimit() / OWN_SHARE));
  const supplies = await suppliesOrNone(mountLog(log));
  const home = new AgentHome();
  const servers = knownHere();
  const engines: MountEngines = {
    clock,
    executor: threadExecutor(),
    disk: realDisk(gate),
    dialer: new WsDialer((place) => servers.trustOf(place), LocalSecrets.ofUserOr(settings.secretPath)),
    drive: (drive) => (settings.isUnmounted === true ? memoryDrive(drive, clock) : kernelDrive(drive)),
    log: mountLog(log),
    happened,
  };
  const mount = await openMountWith(engines, settings, {
    isReadOnly: servers.isReadOnly(settings.url),
    machine: thisMachine,
    token: () => servers.tokenFor(settings.url),
    rightChanged: (isNowReadOnly) => servers.learnRight(settings.url, isNowReadOnly),
    device: (device ??= deviceAtHome({
      home: home.folder,
      disk: engines.disk,
      clock,
      executor: engines.executor,
      software: `Runnel ${VERSION}`,
    })),
  });
  const attached = supplies?.attach((source) => mount.sources.add(source));
  void mount.ended.then(() => attached?.[Symbol.dispose]());
  return mount;
}

/** A drive does without supplies whose list cannot be read. */
async function suppliesOrNone(log: LogSupplies): Promise<Supplies | undefined> {
  try {
    return await suppliesHere(log);
  } catch (error) {
    log("The supplies could not be opened.", error);
    return undefined;
  }
}

type AccessDeps = Pick<MountDeps, "isReadOnly" | "token" | "rightChanged" | "device" | "machine">;

/** The same with other engines. */
export async function openMountWith(
  { clock, executor, disk, dialer, boot, newInstance, ...engines }: MountEngines,
  settings: MountSettings,
  { isReadOnly, token, rightChanged, device: own, machine }: AccessDeps,
): Promise<Mount> {
  const volume = volumeOf(new URL(settings.url));
  const ofBoot = boot === undefined ? {} : { boot };
  const openFolder = (path: string): Promise<DiskRoot> => disk.openRoot(path, { permissions: FOLDER_MODE });
  const opened = new AsyncDisposableStack();
  const keep = <T extends { close(): void | Promise<void> }>(one: T): T => opened.adopt(one, (each) => each.close());
  try {
    const statePath = settings.stateFolder;
    const cachePath = join(settings.cacheFolder, createHash("sha256").update(settings.url).digest("hex").slice(0, 16));
    const state = keep(await openFolder(statePath));
    const ownRoot = keep(await openFolder(cachePath));
    // A committed overlay becomes a cached content by a second name where the cache lies on the disk of the state;
    // elsewhere it is copied.
    const isShared = await isOneDisk(state, ownRoot);
    const shared = (isShared ? commonFolder(statePath, cachePath) : undefined) ?? cachePath;
    const cacheRoot = keep(await disk.openRoot(shared));
    const replica = keep(openReplica(join(statePath, "replica.sqlite"), boot));
    const journal = keep(
      await openJournal({
        root: state,
        folder: "",
        clock,
        executor,
        ...ofBoot,
        ...(newInstance === undefined ? {} : { newInstance }),
      }),
    );
    const earlyLog = readEarlyLog(join(statePath, "early"), boot ?? systemBoot());
    await journal.sweep(filesLeft(earlyLog));
    const pinList = await PinList.open(state);
    const data = keep(await openFolder(journal.dataFolder));
    const cache = keep(
      await openCache({
        root: cacheRoot,
        folder: pathBelow(shared, join(cachePath, "contents")) ?? "contents",
        path: join(cachePath, "cache.sqlite"),
        executor,
        clock,
        adoptFrom: state,
        ...ofBoot,
      }),
    );
    const driveSettings: DriveSettings = {
      mountpoint: settings.mountpoint,
      source: `runnel:${volume}`,
      overlayFolder: journal.dataFolder,
      overlayPrefix: `overlay-${process.pid}-${Math.round(clock.bootMs())}`,
      deadlinesMs: {
        lookup: READ_DEADLINE_MS,
        getattr: READ_DEADLINE_MS,
        list: READ_DEADLINE_MS,
        statfs: READ_DEADLINE_MS,
        xattrs: READ_DEADLINE_MS,
        open: READ_DEADLINE_MS,
      },
      entriesMax: ENTRIES_MAX,
      isReadOnly,
      usesFsKit: settings.usesFsKit ?? false,
      replacesDead: settings.replacesDead ?? false,
    };
    const epoch = (): string => replica.facts()?.epoch ?? "";
    const drive =
      settings.usesNfs === true
        ? nfsDrive(driveSettings, { clock, epoch, log: engines.log })
        : engines.drive(driveSettings);
    return await MountedVolume.open({
      settings,
      volume,
      clock,
      dialer,
      ...(token === undefined ? {} : { token }),
      ...(machine === undefined ? {} : { machine }),
      isReadOnly,
      ...(rightChanged === undefined ? {} : { rightChanged }),
      ...(own === undefined ? {} : { device: own }),
      executor,
      drive,
      replica,
      cache,
      journal,
      pinList,
      earlyLog,
      data,
      cacheRoot,
      software: `Runnel ${VERSION}`,
      openFolder,
      release: () => opened.disposeAsync(),
      log: engines.log,
      ...(engines.happened === undefined ? {} : { happened: engines.happened }),
    });
  } catch (error) {
    await opened.disposeAsync();
    throw error;
  }
}

async function isOneDisk(one: DiskRoot, other: DiskRoot): Promise<boolean> {
  return (await one.stat("")).dev === (await other.stat("")).dev;
}
