// The agent: the drives of one user. It opens, keeps and ends mounts and answers the control API; how a mount works is behind
// the interface Mount. One process builds one agent (main.ts).
import { join } from "node:path";
import {
  addressOf,
  type Clock,
  fromSystemError,
  isRunnelMount,
  placeOf,
  type Predicate,
  RunnelError,
  type Timer,
} from "@runnel/shared";
import type { Logger } from "pino";
import { type AgentHome, makeFolder, type MountRecord } from "./control/host/agent-home.ts";
import type { FolderView } from "./control/host/folder-view.ts";
import type { MountTable } from "./control/host/mount-table.ts";
import type { Call } from "./control/control-server.ts";
import { CONTROL_LIMITS, type Request, type RequestOf, type ResultOf } from "./control/messages.ts";
import { checkMountPoint, type ResolvedPath, resolveOwnFolder, resolvePath } from "./control/mount-point.ts";
import { quoted } from "./control/quoted.ts";
import { isUrl, volumeUrl } from "./control/volume-url.ts";
import type { FoundEntry, Mount, MountSettings, UnsentFile } from "./mount.ts";
import { serverPlace } from "./servers/server-place.ts";

export interface AgentSettings {
  version: string;
  home: AgentHome;
  clock: Clock;
  log: Logger;
  mountTable: MountTable;
  folders: FolderView;
  openMount(settings: MountSettings): Promise<Mount>;
  /** Makes this device known to a server. */
  login(request: RequestOf<"login">): Promise<ResultOf<"login">>;
  /** Forgets the server at host:port. */
  logout(place: string): Promise<ResultOf<"logout">>;
  /** Asks a volume that need not be mounted. */
  findByUrl(url: string, predicate: Predicate, secretPath?: string): AsyncIterable<FoundEntry>;
  parsePredicate(words: readonly string[]): Predicate;
  /** The mounts came to be none, or are some again. */
  changed?(): void;
}

export class Agent {
  readonly #settings: AgentSettings;
  readonly #startedMs: number;
  readonly #mounts = new Map<string, Mount>();
  /** Mount points that are being mounted or unmounted now. */
  readonly #busy = new Map<string, Promise<unknown>>();
  /** Being mounted: may be there already. */
  #coming: MountRecord[] = [];
  #lost: MountRecord[];
  #isClosing = false;

  constructor(settings: AgentSettings) {
    this.#settings = settings;
    this.#startedMs = Number(settings.clock.wallNs() / 1_000_000n);
    // The lock is ours, so whoever recorded these is dead, and so are they.
    this.#lost = settings.home.readMounts();
  }

  /** Nothing is mounted, nothing is about to be. */
  get isIdle(): boolean {
    return this.#mounts.size === 0 && this.#busy.size === 0;
  }

  /** Answers all requests but `stop`, which ends the process and is its owner's. */
  async handle(request: Exclude<Request, { verb: "stop" }>, call: Call): Promise<unknown> {
    switch (request.verb) {
      case "mount":
        return this.#mount(request);
      case "login":
        return this.#settings.login(request);
      case "logout":
        return this.#logout(request);
      case "unmount":
        return this.#unmount(request);
      case "flush":
        return this.#flush(request);
      case "unsent":
        return this.#unsent(request);
      case "status":
        return this.#status(request);
      case "statistics":
        return this.#statistics(request);
      case "find":
        return this.#find(request, call);
      case "remove":
        return this.#remove(request, call);
      case "watch":
        return this.#watch(request, call);
    }
  }

  /** Ends every mount; those that programs use stay and are Busy, unless forced. @throws RunnelError the first failure */
  async close(force: boolean): Promise<ResultOf<"stop">> {
    this.#isClosing = true;
    // What is on its way has a deadline of its own; ended in the middle it would be left behind as a dead mount.
    await Promise.allSettled(this.#busy.values());
    const mounts = [...this.#mounts.values()];
    const ends = await Promise.allSettled(mounts.map((mount) => mount.unmount(force)));
    for (const [index, end] of ends.entries()) {
      const mount = mounts[index];
      if (end.status !== "fulfilled" || mount === undefined) continue;
      this.#forget(mount, "unmounted");
      await this.#detachIfDead(mount.settings.mountpoint);
    }
    const failed = ends.find((end) => end.status === "rejected");
    if (failed !== undefined) {
      this.#isClosing = false;
      throw failed.reason;
    }
    return {
      unmounted: mounts.map(({ settings: { url, mountpoint } }) => ({ url, mountpoint })),
      unsentFiles: ends.reduce((sum, end) => sum + (end.status === "fulfilled" ? end.value.unsentFiles : 0), 0),
    };
  }

  async #mount(request: RequestOf<"mount">): Promise<ResultOf<"mount">> {
    const { home } = this.#settings;
    if (request.mode === "async") {
      throw new RunnelError("Unsupported", "mount", "Mode async comes in a later version. Use --mode sync.");
    }
    if (this.#isClosing) throw new RunnelError("Busy", "mount", "The agent is ending. Try again in a moment.");
    const url = volumeUrl(request.url);
    const { path: mountpoint } = await this.#resolve(request.mountpoint);
    return this.#exclusively(mountpoint, async () => {
      const mounted = this.#mounts.get(mountpoint)?.settings.url;
      if (mounted === url) throw new RunnelError("Exists", "mount", `${url} is already mounted at ${mountpoint}.`);
      if (mounted !== undefined) {
        const next = `Unmount it first: runnel unmount ${quoted(mountpoint)}`;
        throw new RunnelError("Exists", "mount", `${mountpoint} is the drive of ${mounted}. ${next}`);
      }
      // What is dead stays until the drive takes its place: meanwhile nobody writes into the folder beneath.
      const replacesDead = await this.#isDead(mountpoint);
      const cacheFolder = await this.#check(mountpoint, request.cache ?? home.cacheFolder, replacesDead);
      const stateFolder = home.mountFolder(url, mountpoint);
      makeFolder(cacheFolder);
      makeFolder(stateFolder);
      const {
        cacheBytes = CACHE_BYTES,
        mode: writeMode,
        mapOwner = process.getuid?.() !== 0,
        usesFsKit = false,
        secret,
      } = request;
      const how = {
        writeMode,
        mapOwner,
        usesFsKit,
        replacesDead,
        ...(secret === undefined ? {} : { secretPath: secret }),
      };
      const mount = await this.#open({ url, mountpoint, cacheFolder, cacheBytes, stateFolder, ...how });
      return { mount: await mount.status(false) };
    });
  }

  /** A drive could not connect again without what is forgotten. */
  async #logout({ server }: RequestOf<"logout">): Promise<ResultOf<"logout">> {
    const place = serverPlace(server);
    const mounted = [...[...this.#mounts.values()].map(({ settings }) => settings), ...this.#coming];
    const drive = mounted.find(({ url }) => placeOf(addressOf(url)) === place && addressOf(url).isSecure);
    if (drive === undefined) return this.#settings.logout(place);
    const next = `Unmount it first: runnel unmount ${quoted(drive.mountpoint)}`;
    throw new RunnelError("Busy", "logout", `${drive.mountpoint} is a drive of ${place}. ${next}`);
  }

  async #open(settings: MountSettings): Promise<Mount> {
    const { url, mountpoint } = settings;
    // Recorded before it is there: a crash on the way leaves a mount that the next agent knows of.
    this.#lost = this.#lost.filter((record) => record.mountpoint !== mountpoint);
    const coming = { url, mountpoint };
    this.#coming.push(coming);
    this.#record();
    try {
      const mount = await this.#settings.openMount(settings);
      this.#mounts.set(mountpoint, mount);
      this.#settings.log.info({ url, mountpoint }, "mounted");
      void mount.ended.then((reason) => this.#forget(mount, reason));
      return mount;
    } finally {
      this.#coming = this.#coming.filter((record) => record !== coming);
      this.#recordIfPossible();
    }
  }

  async #unmount(request: RequestOf<"unmount">): Promise<ResultOf<"unmount">> {
    const mountpoint = this.#lost.some((record) => record.mountpoint === request.mountpoint)
      ? request.mountpoint // its folder may be gone
      : (await this.#resolve(request.mountpoint)).path;
    return this.#exclusively(mountpoint, async () => {
      const mount = this.#mounts.get(mountpoint);
      if (mount !== undefined) {
        const { unsentFiles } = await mount.unmount(request.force);
        this.#forget(mount, "unmounted");
        await this.#detachIfDead(mountpoint);
        return { unmounted: { url: mount.settings.url, mountpoint }, wasLost: false, unsentFiles };
      }
      const lost = this.#lost.find((record) => record.mountpoint === mountpoint);
      const detached = await this.#detachIfDead(mountpoint);
      if (lost === undefined && detached === undefined) throw await this.#notOurs("unmount", mountpoint);
      this.#lost = this.#lost.filter((record) => record !== lost);
      this.#recordIfPossible();
      return { unmounted: { url: lost?.url ?? "", mountpoint }, wasLost: true, unsentFiles: null };
    });
  }

  async #flush({ mountpoint, up }: RequestOf<"flush">): Promise<ResultOf<"flush">> {
    const mount = await this.#mountAt("flush", mountpoint);
    const unsent = (await mount.flush(up)).map(({ id: _id, ...shown }) => shown);
    return { flushed: { url: mount.settings.url, mountpoint: mount.settings.mountpoint, up, unsent } };
  }

  async #unsent({ paths, exportTo, discards, all }: RequestOf<"unsent">): Promise<ResultOf<"unsent">> {
    const chosen = await this.#chooseUnsent(paths, discards && !all);
    const folder = exportTo === undefined ? undefined : await this.#outside(exportTo);
    const unsent: ResultOf<"unsent">["unsent"] = [];
    for (const [mount, files] of chosen) {
      const { url, mountpoint } = mount.settings;
      const ids = files.map(({ id }) => id);
      const exported = folder === undefined ? [] : await mount.unsentFiles.exportTo(folder, ids);
      for (const [index, { id, ...shown }] of files.entries()) {
        const copy = exported[index];
        const exportedTo = copy?.path == null ? null : join(folder ?? "", copy.path);
        const reason = copy?.reason ?? shown.reason;
        // What should be kept first, and could not be, is kept here.
        const isDiscarded = discards && (folder === undefined || exportedTo !== null);
        if (isDiscarded) await mount.unsentFiles.discard([id]);
        unsent.push({ ...shown, reason, url, mountpoint, exportedTo, isWhole: copy?.isWhole ?? null, isDiscarded });
      }
    }
    return { unsent };
  }

  /** `byName`: each path is that of a file. @throws Invalid, NotFound. */
  async #chooseUnsent(paths: readonly string[], byName: boolean): Promise<Map<Mount, UnsentFile[]>> {
    if (byName && paths.length === 0)
      throw new RunnelError("Invalid", "discard", "Name the files to be given up, or say --all for all of a drive.");
    const chosen = new Map<Mount, UnsentFile[]>();
    if (paths.length === 0) for (const mount of this.#mounts.values()) chosen.set(mount, mount.unsentFiles.list());
    for (const asked of paths) {
      const { path, runnelMount } = await this.#resolve(asked);
      const mount = await this.#mountAt("unsent", path);
      const inDrive = path.slice((runnelMount ?? path).length + 1);
      const isMeant = (file: UnsentFile): boolean =>
        file.path === inDrive || (!byName && (inDrive === "" || file.path.startsWith(`${inDrive}/`)));
      const found = mount.unsentFiles.list().filter(isMeant);
      if (byName && found.length === 0)
        throw new RunnelError("NotFound", "discard", `${asked} is no file that is unsent. List them: runnel unsent`);
      const before = chosen.get(mount) ?? [];
      chosen.set(mount, [...before, ...found.filter(({ id }) => !before.some((each) => each.id === id))]);
    }
    return chosen;
  }

  /** The agent would wait for itself on a drive. */
  async #outside(asked: string): Promise<string> {
    const { path, runnelMount } = await this.#resolve(asked);
    if (runnelMount === undefined) return path;
    throw new RunnelError("Invalid", "export", `${asked} lies inside the drive ${runnelMount}. Choose another folder.`);
  }

  async #status({ asksServer }: RequestOf<"status">): Promise<ResultOf<"status">> {
    const { version, home } = this.#settings;
    return {
      agent: { pid: process.pid, version, home: home.folder, startedMs: this.#startedMs },
      mounts: await Promise.all([...this.#mounts.values()].map((mount) => mount.status(asksServer === true))),
      lost: this.#lost,
    };
  }

  async #statistics(request: RequestOf<"statistics">): Promise<ResultOf<"statistics">> {
    const mounts = await this.#mountsAt("stats", request.mountpoint);
    const measured = measure(mounts);
    if (request.reset) for (const mount of mounts) mount.resetStatistics();
    return measured;
  }

  async #find({ target, words, secret }: RequestOf<"find">, call: Call): Promise<ResultOf<"find">> {
    const predicate = this.#settings.parsePredicate(words);
    const found = isUrl(target)
      ? this.#settings.findByUrl(volumeUrl(target), predicate, secret)
      : (await this.#mountAt("find", target)).find(predicate);
    let entries: FoundEntry[] = [];
    let bytes = 0;
    for await (const entry of found) {
      if (call.signal.aborted) throw new RunnelError("Interrupted", "find", "The search was ended before it was done.");
      entries.push(entry);
      bytes += entry.path.length;
      if (bytes < CONTROL_LIMITS.partBytes && entries.length < PART_ENTRIES) continue;
      await call.part({ entries });
      entries = [];
      bytes = 0;
    }
    if (entries.length > 0) await call.part({ entries });
    return {};
  }

  async #remove({ path: asked }: RequestOf<"remove">, call: Call): Promise<ResultOf<"remove">> {
    const { path, runnelMount } = await this.#resolve(asked);
    const mount = await this.#mountAt("remove", path);
    const { url, mountpoint } = mount.settings;
    const inDrive = path.slice((runnelMount ?? path).length + 1);
    // Who does not read them loses nothing.
    await mount.remove(inDrive, (removed, all) => void call.part({ removed, all }).catch(() => undefined));
    return { removed: { url, mountpoint, path: inDrive } };
  }

  async #watch({ mountpoint, intervalMs }: RequestOf<"watch">, call: Call): Promise<ResultOf<"watch">> {
    while (!call.signal.aborted) {
      await call.part(measure(await this.#mountsAt("watch", mountpoint)));
      await this.#pause(intervalMs, call.signal);
    }
    return {};
  }

  #pause(delayMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((done) => {
      let timer: Timer | undefined;
      const end = (): void => {
        timer?.cancel();
        signal.removeEventListener("abort", end);
        done();
      };
      timer = this.#settings.clock.after(delayMs, end);
      signal.addEventListener("abort", end);
      if (signal.aborted) end();
    });
  }

  async #resolve(path: string): Promise<ResolvedPath> {
    if (!path.startsWith("/")) throw new RunnelError("Invalid", "read a path", `${path} is not an absolute path.`);
    return resolvePath(path, await this.#settings.mountTable.read(), this.#settings.folders);
  }

  /** Resolves to the folder of the cache. */
  async #check(mountpoint: string, askedCache: string, isDead: boolean): Promise<string> {
    const { folders, home, mountTable } = this.#settings;
    const mounts = await mountTable.read();
    const point = await resolvePath(mountpoint, mounts, folders);
    const cache = await resolveOwnFolder(askedCache, mounts, folders);
    await checkMountPoint(point, mounts, folders, { home: home.folder, cache }, isDead);
    return cache;
  }

  /** Whether a dead agent's drive is on top at a mount point. */
  async #isDead(mountpoint: string): Promise<boolean> {
    const { mountTable } = this.#settings;
    const top = (await mountTable.read()).findLast((entry) => entry.mountpoint === mountpoint);
    return top !== undefined && isRunnelMount(top) && (await mountTable.probe(mountpoint)) === "dead";
  }

  /** What dead agents left at a mount point goes; resolves to undefined when there was no such thing. */
  async #detachIfDead(mountpoint: string): Promise<true | undefined> {
    const { mountTable, log } = this.#settings;
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
    this.#settings.changed?.();
    try {
      return await working;
    } finally {
      this.#busy.delete(mountpoint);
      this.#settings.changed?.();
    }
  }

  async #mountAt(operation: string, asked: string): Promise<Mount> {
    const { path, runnelMount } = await this.#resolve(asked);
    // Any place in a drive names the drive.
    const mount = this.#mounts.get(runnelMount ?? path);
    if (mount === undefined) throw await this.#notOurs(operation, runnelMount ?? path);
    return mount;
  }

  async #notOurs(operation: string, mountpoint: string): Promise<RunnelError> {
    const top = (await this.#settings.mountTable.read()).findLast((entry) => entry.mountpoint === mountpoint);
    if (top === undefined || !isRunnelMount(top)) {
      const next = 'Run "runnel status" to see the drives there are.';
      return new RunnelError("NotFound", operation, `Runnel has no drive at ${mountpoint}. ${next}`);
    }
    const sentence = `${mountpoint} is a drive of another user's agent, or of one with another RUNNEL_HOME. Ask that one.`;
    return new RunnelError("Denied", operation, sentence);
  }

  async #mountsAt(operation: string, asked: string | undefined): Promise<Mount[]> {
    return asked === undefined ? [...this.#mounts.values()] : [await this.#mountAt(operation, asked)];
  }

  #forget(mount: Mount, reason: string): void {
    const { mountpoint, url } = mount.settings;
    if (this.#mounts.get(mountpoint) !== mount) return;
    this.#mounts.delete(mountpoint);
    this.#recordIfPossible();
    this.#settings.log.info({ url, mountpoint, reason }, "mount ended");
    this.#settings.changed?.();
  }

  /** A record with a mount too many does no harm: whoever reads it looks whether the mount is there. */
  #recordIfPossible(): void {
    try {
      this.#record();
    } catch (error) {
      this.#settings.log.warn(
        { kind: fromSystemError(error, "write down mounts").kind },
        "the mounts were not recorded",
      );
    }
  }

  /** Writes down what the next agent has to know of if this one dies now. */
  #record(): void {
    const mounted = [...this.#mounts.values()].map(({ settings: { url, mountpoint } }) => ({ url, mountpoint }));
    this.#settings.home.writeMounts([...mounted, ...this.#coming, ...this.#lost]);
  }
}

/** Entries of one part of a find. */
const PART_ENTRIES = 1000;
/** What cached contents may take unless a person says otherwise. */
const CACHE_BYTES = 20 * 1024 ** 3;

function measure(mounts: readonly Mount[]): ResultOf<"statistics"> {
  return {
    mounts: mounts.map((mount) => ({
      url: mount.settings.url,
      mountpoint: mount.settings.mountpoint,
      statistics: mount.statistics(),
    })),
  };
}
