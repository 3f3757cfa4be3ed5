// The agent: the drives of one user. It opens, keeps and ends mounts, and finds the one that a path leads into. What it
// is asked is in src/verbs/; how a mount works is behind the interface Mount. One process builds one agent (main.ts).
import {
  type Clock,
  type Disk,
  fromSystemError,
  isRunnelMount,
  type MountTableEntry,
  pause,
  type Predicate,
  RunnelError,
  servedDrive,
  type ViewItem,
} from "@runnel/shared";
import type { Pages } from "@runnel/shared/page";
import type { Logger } from "pino";
import { type AgentHome, makeFolder, type MountRecord } from "./control/host/agent-home.ts";
import type { LineCost } from "./control/host/line-cost/line-cost.ts";
import type { FolderView } from "./control/host/folder-view.ts";
import type { MountTable } from "./control/host/mount-table.ts";
import { checkMountPoint, type ResolvedPath, resolveOwnFolder, resolvePath } from "./control/mount-point.ts";
import { quoted } from "./control/quoted.ts";
import { placeOf, recordOf } from "./mount-record.ts";
import type { Mount, MountSettings, Unsent } from "./mount.ts";
import type { FoundEntry } from "./mount-status.ts";
import { LocalFiles } from "./objects/local-files.ts";
import { OpenVolumes } from "./objects/open-volumes.ts";
import type { Checked } from "./control/host/checked.ts";
import type { KnownPlace, LoggedIn, LoggedOut, LoginRequest } from "./servers/login-schemas.ts";
import type { LoginStart } from "./start/login-start.ts";
import type { SuppliesOfAgent } from "./supply/supply-status.ts";
import type { CarrierOfAgent } from "./carry/carried.ts";
import type { HistoryStore } from "./view/history-store.ts";
import { History } from "./view/history.ts";
import type { Happening } from "./view/mount-watch.ts";
import { Views } from "./view/views.ts";

export interface AgentDeps {
  version: string;
  home: AgentHome;
  clock: Clock;
  log: Logger;
  mountTable: MountTable;
  folders: FolderView;
  lineCost: LineCost;
  /** `happened` takes what a person may want to know later. */
  openMount(settings: MountSettings, happened: (happening: Happening) => void): Promise<Mount>;
  /** Opens what is kept of activity and savings. */
  openHistory(): Promise<HistoryStore>;
  /** Makes this device known to a server. */
  login(request: LoginRequest): Promise<LoggedIn>;
  /** Forgets the server at host:port. */
  logout(place: string): Promise<LoggedOut>;
  /** Looks where the tokens of servers lie, and whether they can be had. */
  checkLogins(): Promise<Checked[]>;
  /** Finds what the system starts when this user logs in. */
  loginStart(): Promise<LoginStart>;
  /** Lists the servers that know this device. */
  servers(): Promise<KnownPlace[]>;
  /** Opens the supplies where they are not open yet. @throws RunnelError */
  supplies(log: Logger): Promise<SuppliesOfAgent>;
  /** Carries on sticks. */
  carrier(): Promise<CarrierOfAgent>;
  /** Asks a volume that need not be mounted. */
  findByUrl(url: string, predicate: Predicate, secretPath?: string): AsyncIterable<FoundEntry>;
  parsePredicate(words: readonly string[]): Predicate;
  /** Files of this computer. */
  disk(): Promise<Disk>;
  /** Pages in this user's browser. */
  pages: Pages<void>;
  /** Called when the mounts came to be none, or are some again. */
  changed?(): void;
  /** Called when all was unmounted since a face asked for the agent's end. */
  stopped(): void;
}

/** Settings of a mount that are the asker's; `cacheFolder` is followed to where it leads. */
export type MountRequest = Omit<MountSettings, "stateFolder" | "replacesDead">;

/** Settings that may change while the drive is there; null: as is usual. */
type ChangedSettings = Partial<Pick<MountSettings, "cacheBytes" | "isKept" | "colleagues">> & {
  [Name in "colleaguesUpBytes" | "isMetered"]?: MountSettings[Name] | null;
};

/** Drives that ended, and what of them is kept here, and sent when they are mounted at the same place again. */
export interface DrivesEnded extends Unsent {
  unmounted: MountRecord[];
}

export class Agent {
  readonly deps: AgentDeps;
  /** Wall clock. */
  readonly startedMs: number;
  /** Shows its state to those who follow the agent. */
  readonly views: Views;
  /** Remembers what happened and what was saved. */
  readonly history: History;
  /** Volumes that it works in itself, mounted or not. */
  readonly volumes: OpenVolumes;
  readonly #mounts = new Map<string, Mount>();
  /** Drives that the system's table of mounts had. */
  readonly #shown = new WeakSet<Mount>();
  /** Mount points that are being mounted or unmounted now. */
  readonly #busy = new Map<string, Promise<unknown>>();
  /** Drives that are being mounted: they may be there already. */
  #mounting: MountRecord[] = [];
  #lost: MountRecord[];
  #resting: MountRecord[];
  #isClosing = false;

  constructor(deps: AgentDeps) {
    this.deps = deps;
    this.startedMs = Number(deps.clock.wallNs() / 1_000_000n);
    // The lock is ours, so whoever recorded these is dead, and so are they.
    const records = deps.home.readMounts();
    this.#lost = records.filter(({ isResting }) => isResting !== true);
    const isLost = (place: string): boolean => this.#lost.some(({ mountpoint }) => mountpoint === place);
    this.#resting = records.filter(({ isResting, mountpoint }) => isResting === true && !isLost(mountpoint));
    const { clock, log } = deps;
    const mounts = (): Mount[] => [...this.#mounts.values()];
    const open = (): Promise<HistoryStore> => deps.openHistory();
    const failed = (error: RunnelError): void => log.warn({ kind: error.kind }, "the history is not kept");
    this.history = new History({ clock, mounts, open, failed });
    this.volumes = new OpenVolumes({
      clock,
      mounts,
      servers: () => deps.servers(),
      open: (url) => this.#openUnmounted(url),
      idle: () => deps.changed?.(),
    });
    const lately = (limit: number): ViewItem[] => this.history.lately(limit);
    this.views = new Views({ clock, mounts, lost: () => this.#lost, resting: () => this.#resting, lately });
  }

  /** True while nothing is mounted, and nothing is about to be. */
  get isIdle(): boolean {
    return this.#mounts.size === 0 && this.#busy.size === 0 && this.volumes.isIdle;
  }

  /** Drives that are mounted or being mounted. */
  get drives(): readonly MountRecord[] {
    return [...[...this.#mounts.values()].map(recordOf), ...this.#mounting];
  }

  /** Drives of an agent that ended without unmounting them. */
  get lost(): readonly MountRecord[] {
    return this.#lost;
  }

  /** Drives that are kept, and were unmounted when an agent ended. */
  get resting(): readonly MountRecord[] {
    return this.#resting;
  }

  /** Returns what is known of a drive that is not there. */
  recordAt(url: string, mountpoint: string): MountRecord | undefined {
    return [...this.#lost, ...this.#resting].find((each) => each.url === url && each.mountpoint === mountpoint);
  }

  /**
   * Ends every mount; those that programs use stay and are Busy, unless forced. @throws RunnelError the first failure
   */
  async close(force: boolean): Promise<DrivesEnded> {
    this.#isClosing = true;
    // A mount on its way has a deadline of its own; ended in the middle it would be left behind as a dead mount.
    await Promise.allSettled(this.#busy.values());
    await this.volumes.close();
    const mounts = [...this.#mounts.values()];
    // Before they end: whoever reads the records meanwhile finds each at least once.
    const kept = mounts.filter(({ settings }) => settings.isKept === true);
    this.#resting.push(...kept.map((mount) => ({ ...recordOf(mount), isResting: true })));
    const ends = await Promise.allSettled(mounts.map((mount) => mount.unmount(force)));
    for (const [index, end] of ends.entries()) {
      const mount = mounts[index];
      if (end.status !== "fulfilled" || mount === undefined) continue;
      this.#forget(mount, "unmounted");
      await this.#detachIfDead(mount.settings.mountpoint);
    }
    this.#resting = this.#resting.filter(({ mountpoint }) => !this.#mounts.has(mountpoint));
    this.#recordIfPossible();
    const failed = ends.find((end) => end.status === "rejected");
    if (failed !== undefined) {
      this.#isClosing = false;
      throw failed.reason;
    }
    return {
      unmounted: mounts.map(placeOf),
      unsentFiles: ends.reduce((sum, end) => sum + (end.status === "fulfilled" ? end.value.unsentFiles : 0), 0),
      unsentNames: ends.reduce((sum, end) => sum + (end.status === "fulfilled" ? end.value.unsentNames : 0), 0),
    };
  }

  /** @throws RunnelError Busy, Exists; of checkMountPoint and openMount */
  async mount(request: MountRequest): Promise<Mount> {
    if (this.#isClosing) throw new RunnelError("Busy", "mount", "The agent is ending. Try again in a moment.");
    const { url } = request;
    const { path: mountpoint } = await this.resolve(request.mountpoint);
    return this.#exclusively(mountpoint, async () => {
      const mounted = await this.#driveAt(mountpoint);
      if (mounted === url) throw new RunnelError("Exists", "mount", `${url} is already mounted at ${mountpoint}.`);
      if (mounted !== undefined) {
        const next = `Unmount it first: runnel unmount ${quoted(mountpoint)}`;
        throw new RunnelError("Exists", "mount", `${mountpoint} is the drive of ${mounted}. ${next}`);
      }
      // A dead mount stays until the drive takes its place: meanwhile nobody writes into the folder beneath.
      const replacesDead = await this.#isDead(mountpoint);
      const cacheFolder = await this.#check(mountpoint, request.cacheFolder, replacesDead);
      const stateFolder = this.deps.home.mountFolder(url, mountpoint);
      makeFolder(cacheFolder);
      makeFolder(stateFolder);
      return this.#open({ ...request, mountpoint, cacheFolder, stateFolder, replacesDead });
    });
  }

  /** Returns the URL of the drive there; one that the system unmounted may end first. @throws Busy while it does not */
  async #driveAt(mountpoint: string): Promise<string | undefined> {
    const mount = this.#mounts.get(mountpoint);
    if (mount === undefined) return undefined;
    if (!this.#shown.has(mount) || (await this.#isShown(mountpoint))) return mount.settings.url;
    const ended = new AbortController();
    void mount.ended.then(() => ended.abort());
    await pause(this.deps.clock, ENDS_WITHIN_MS, ended.signal);
    if (ended.signal.aborted) return undefined;
    const sentence = `The drive at ${mountpoint} was unmounted, and has not ended yet: programs have files of it open.`;
    throw new RunnelError("Busy", "mount", sentence);
  }

  async #isShown(mountpoint: string): Promise<boolean> {
    return (await this.#mountsThere()).some((entry) => entry.mountpoint === mountpoint);
  }

  async #open(settings: MountSettings): Promise<Mount> {
    const { url, mountpoint } = settings;
    // Recorded before it is there: a crash on the way leaves a mount that the next agent knows of.
    const left = this.#lost.filter((record) => record.mountpoint === mountpoint);
    this.#lost = this.#lost.filter((record) => !left.includes(record));
    const place = placeOf({ settings });
    const mounting = recordOf({ settings });
    this.#mounting.push(mounting);
    this.#record();
    try {
      await this.history.open();
      const mount = await this.deps.openMount(settings, (happening) => this.history.happened(place, happening));
      this.#mounts.set(mountpoint, mount);
      this.#resting = this.#resting.filter((record) => record.mountpoint !== mountpoint);
      this.history.happened(place, { ...ABOUT_DRIVE, kind: "mounted" });
      this.deps.log.info({ url, mountpoint }, "mounted");
      void mount.ended.then((reason) => this.#forget(mount, reason));
      await this.#guard(mount);
      if (await this.#isShown(mountpoint)) this.#shown.add(mount);
      return mount;
    } catch (error) {
      this.#lost.push(...left);
      throw error;
    } finally {
      this.#mounting = this.#mounting.filter((record) => record !== mounting);
      this.#recordIfPossible();
    }
  }

  /** Opens a volume that no kernel shows, with a cache of its own: a drive of the same volume may come at any time. */
  async #openUnmounted(url: string): Promise<Mount> {
    if (this.#isClosing) throw new RunnelError("Busy", "open a volume", "The agent is ending. Try again in a moment.");
    const { home } = this.deps;
    const stateFolder = home.unmountedFolder(url);
    const cacheFolder = `${stateFolder}/cache`;
    makeFolder(cacheFolder);
    const settings: MountSettings = {
      url,
      mountpoint: stateFolder,
      cacheFolder,
      cacheBytes: UNMOUNTED_CACHE_BYTES,
      stateFolder,
      mapOwner: false,
      isAsync: false,
      isUnmounted: true,
    };
    await this.history.open();
    const mount = await this.deps.openMount(settings, () => undefined);
    this.history.countUnmounted(url, mount);
    return mount;
  }

  /** Resolves to the files of this computer, outside of all drives. */
  async localFiles(): Promise<LocalFiles> {
    return new LocalFiles(await this.deps.disk());
  }

  /** Changes a drive's settings, for this mount and those after it. */
  change(mount: Mount, change: ChangedSettings): void {
    const { colleaguesUpBytes, isMetered, ...others } = change;
    const { settings } = mount;
    Object.assign(settings, others);
    if (colleaguesUpBytes === null) delete settings.colleaguesUpBytes;
    else if (colleaguesUpBytes !== undefined) settings.colleaguesUpBytes = colleaguesUpBytes;
    if (isMetered === null) delete settings.isMetered;
    else if (isMetered !== undefined) settings.isMetered = isMetered;
    if (change.colleagues !== undefined || isMetered !== undefined) mount.colleaguesChanged();
    this.#record();
  }

  /**
   * Pauses drives, or ends their pauses, over a restart too where that can be written down; `untilMs` undefined: not
   * paused.
   */
  async pause(mounts: readonly Mount[], untilMs: number | null | undefined): Promise<void> {
    const sinceMs = Number(this.deps.clock.wallNs() / 1_000_000n);
    for (const { settings } of mounts) {
      if (untilMs === undefined) delete settings.pause;
      else settings.pause = { sinceMs, untilMs };
    }
    this.#recordIfPossible();
    await Promise.all(mounts.map((mount) => mount.pauseChanged()));
  }

  /**
   * Pauses a folder or file in a drive, or ends its pause, over a restart too where that can be written down.
   * @returns false where there was none to end. @throws NotFound
   */
  async pauseFolder(mount: Mount, path: string, untilMs: number | null | undefined): Promise<boolean> {
    const sinceMs = Number(this.deps.clock.wallNs() / 1_000_000n);
    const isDone = untilMs === undefined ? mount.resumeFolder(path) : true;
    if (untilMs !== undefined) await mount.pauseFolder(path, { sinceMs, untilMs });
    this.#recordIfPossible();
    return isDone;
  }

  /** A drive that cannot be guarded is one all the same. */
  async #guard({ settings: { mountpoint }, ended }: Mount): Promise<void> {
    try {
      const guard = await this.deps.mountTable.endWithProcess(mountpoint);
      void ended.then(() => guard[Symbol.dispose]());
    } catch (error) {
      this.deps.log.warn(
        { mountpoint, kind: fromSystemError(error, "guard a drive").kind },
        "the drive is not guarded",
      );
    }
  }

  /**
   * Takes away, too, what an earlier agent left at a mount point (`wasLost`). @throws RunnelError Busy, NotFound,
   * Denied
   */
  async unmount(
    asked: string,
    force: boolean,
  ): Promise<{ unmounted: MountRecord; wasLost: boolean } & (Unsent | { unsentFiles: null; unsentNames: null })> {
    const mountpoint = [...this.#lost, ...this.#resting].some((record) => record.mountpoint === asked)
      ? asked // its folder may be gone
      : (await this.resolve(asked)).path;
    return this.#exclusively(mountpoint, async () => {
      const mount = this.#mounts.get(mountpoint);
      if (mount !== undefined) {
        const unsent = await mount.unmount(force);
        this.#forget(mount, "unmounted");
        await this.#detachIfDead(mountpoint);
        return { unmounted: { url: mount.settings.url, mountpoint }, wasLost: false, ...unsent };
      }
      const isHere = (record: MountRecord): boolean => record.mountpoint === mountpoint;
      const lost = this.#lost.find(isHere) ?? this.#resting.find(isHere);
      const detached = await this.#detachIfDead(mountpoint);
      if (lost === undefined && detached === undefined) throw await this.#notOurs("unmount", mountpoint);
      this.#lost = this.#lost.filter((record) => record !== lost);
      this.#resting = this.#resting.filter((record) => record !== lost);
      this.#recordIfPossible();
      return { unmounted: { url: lost?.url ?? "", mountpoint }, wasLost: true, unsentFiles: null, unsentNames: null };
    });
  }

  /** Follows an absolute path up to the first drive on it. @throws RunnelError of resolvePath */
  async resolve(path: string): Promise<ResolvedPath> {
    const { folders } = this.deps;
    if (!folders.paths.isAbsolute(path))
      throw new RunnelError("Invalid", "read a path", `${path} is not an absolute path.`);
    return resolvePath(path, await this.#mountsThere(), folders);
  }

  /** Lists what is mounted, with those drives that the system does not know as such. */
  async #mountsThere(): Promise<MountTableEntry[]> {
    const served = [...this.#mounts.values()].filter(({ settings }) => settings.usesNfs === true);
    const mounts = await this.deps.mountTable.read();
    return [...mounts, ...served.map(({ settings }) => servedDrive(settings.mountpoint))];
  }

  /** Resolves to the folder of the cache. */
  async #check(mountpoint: string, askedCache: string, isDead: boolean): Promise<string> {
    const { folders, home } = this.deps;
    const mounts = await this.#mountsThere();
    const point = await resolvePath(mountpoint, mounts, folders);
    const cache = await resolveOwnFolder(askedCache, mounts, folders);
    await checkMountPoint(point, mounts, folders, { home: home.folder, cache }, isDead);
    return cache;
  }

  /** Returns whether a dead agent's drive is on top at a mount point. */
  async #isDead(mountpoint: string): Promise<boolean> {
    const { mountTable } = this.deps;
    const top = (await mountTable.read()).findLast((entry) => entry.mountpoint === mountpoint);
    return top !== undefined && isRunnelMount(top) && (await mountTable.probe(mountpoint)) === "dead";
  }

  /** Removes what dead agents left at a mount point. @returns undefined when there was no such thing. */
  async #detachIfDead(mountpoint: string): Promise<true | undefined> {
    const { mountTable, log } = this.deps;
    // Several may lie one over another.
    let detached: true | undefined;
    for (;;) {
      if (!(await this.#isDead(mountpoint))) return detached;
      await mountTable.detach(mountpoint);
      log.info({ mountpoint }, "detached what an earlier agent left");
      detached = true;
    }
  }

  async #exclusively<T>(mountpoint: string, work: () => Promise<T>): Promise<T> {
    if (this.#busy.has(mountpoint)) {
      throw new RunnelError(
        "Busy",
        "mount",
        `${mountpoint} is just being mounted or unmounted. Try again in a moment.`,
      );
    }
    const working = work();
    this.#busy.set(mountpoint, working);
    this.deps.changed?.();
    try {
      return await working;
    } finally {
      this.#busy.delete(mountpoint);
      this.deps.changed?.();
    }
  }

  /** Any place in a drive names the drive. @throws RunnelError NotFound, Denied */
  async mountAt(operation: string, asked: string): Promise<Mount> {
    return (await this.locate(operation, asked)).mount;
  }

  /**
   * The drive that a path leads into, and the path in it; "" is the drive itself. @throws RunnelError NotFound, Denied
   */
  async locate(operation: string, asked: string): Promise<{ mount: Mount; path: string }> {
    const { path, runnelMount = path } = await this.resolve(asked);
    const mount = this.#mounts.get(runnelMount);
    if (mount === undefined) throw await this.#notOurs(operation, runnelMount);
    return { mount, path: this.deps.folders.paths.inVolume(runnelMount, path) };
  }

  /** The mount at a path, or all. @throws RunnelError NotFound, Denied */
  async mountsAt(operation: string, asked?: string): Promise<Mount[]> {
    return asked === undefined ? [...this.#mounts.values()] : [await this.mountAt(operation, asked)];
  }

  async #notOurs(operation: string, mountpoint: string): Promise<RunnelError> {
    const top = (await this.deps.mountTable.read()).findLast((entry) => entry.mountpoint === mountpoint);
    if (top === undefined || !isRunnelMount(top)) {
      const next = 'Run "runnel status" to see the drives there are.';
      return new RunnelError("NotFound", operation, `Runnel has no drive at ${mountpoint}. ${next}`);
    }
    const sentence = `${mountpoint} is a drive of another user's agent, or of one with another RUNNEL_HOME. Ask that one.`;
    return new RunnelError("Denied", operation, sentence);
  }

  #forget(mount: Mount, reason: string): void {
    const { mountpoint, url } = mount.settings;
    if (this.#mounts.get(mountpoint) !== mount) return;
    this.#mounts.delete(mountpoint);
    this.history.ended(mount);
    const detail = reason === "unmounted" ? "" : reason;
    this.history.happened(placeOf(mount), { ...ABOUT_DRIVE, kind: "unmounted", detail });
    this.#recordIfPossible();
    this.deps.log.info({ url, mountpoint, reason }, "mount ended");
    this.deps.changed?.();
  }

  /** A record with a mount too many does no harm: whoever reads it looks whether the mount is there. */
  #recordIfPossible(): void {
    try {
      this.#record();
    } catch (error) {
      this.deps.log.warn({ kind: fromSystemError(error, "write down mounts").kind }, "the mounts were not recorded");
    }
  }

  /** Writes down what the next agent has to know of if this one dies now. */
  #record(): void {
    this.deps.home.writeMounts([...this.drives, ...this.#lost, ...this.#resting]);
  }
}

/** Longer than a drive takes to send what waits, once the system has unmounted it. */
const ENDS_WITHIN_MS = 10_000;

/** Cache of a volume that no drive shows. */
const UNMOUNTED_CACHE_BYTES = 4 * 1024 ** 3;

const ABOUT_DRIVE = { path: "", files: 0, bytes: 0, detail: "" };
