// A client of a simulation: what the agent composes for one mount, with the drive that has no kernel, and a kernel
// before it. Killed, it starts again from what its disk holds.
import { cpSync, existsSync, mkdirSync, readdirSync, statSync, truncateSync } from "node:fs";
import { dirname, join } from "node:path";
import { type ChunkSource, type ColleagueSource, type Mount, type Offer, openMountWith } from "@runnel/app/internals";
import { inlineExecutor } from "@runnel/native";
import { type MemoryDrive, memoryDrive } from "@runnel/native/drive";
import type { Channel, Link, SimulatedClock, SimulatedLine, SimulatedNetwork } from "@runnel/shared";
import { RunnelError, SeededRandom } from "@runnel/shared";
import { HostDisk } from "../simulation/host-disk.ts";
import { LateLink } from "../simulation/late-link.ts";
import { Machine, type Process } from "../simulation/machine.ts";
import { ShadowDisk } from "../simulation/shadow-disk.ts";
import { type HostileParts, makeHostile } from "./colleagues/hostile-offer.ts";
import type { LocalNetwork, SimulatedDevice } from "./colleagues/local-network.ts";
import { Kernel } from "./kernel/kernel.ts";
import { tellLate } from "./late-drive.ts";
import { SERVER_URL } from "../simulation/serve-folder.ts";

const FITS = 0.15;
const CACHE_BYTES = 64 * 1024 * 1024;
const BUSY_EVERY_MS = 8;
/** Time for which a busy agent does something else before it hears of a request. */
const LATE_MS = 120;

/** The agent from a start to its end. */
export interface RunningAgent {
  process: Process;
  disk: HostDisk;
  drive: MemoryDrive;
  kernel: Kernel;
  mount: Mount;
  device?: SimulatedDevice;
  /** Rejects when the agent is killed: programs that use its drive are cut off (ENOTCONN). */
  ended: Promise<never>;
  end(): void;
}

export interface SimulatedClientParts {
  clock: SimulatedClock;
  network: SimulatedNetwork;
  random: SeededRandom;
  line: { delayMs: number; jitterMs: number };
  /** It may, in this run: its disk is kept track of. */
  losesPower: boolean;
  /** Mode of its drive: async, or sync. */
  isAsync?: boolean;
  /** Makes a source of chunks for each of its mounts. */
  source?: () => ChunkSource;
  /** Network over which its drives share what is cached with others. */
  colleagues?: { network: LocalNetwork; hostile?: Omit<HostileParts, "cache" | "clock" | "leave"> };
}

/** Parts of a mount that are reached into here. */
interface Reached {
  deps: {
    session: { feed: Channel | undefined };
    replica: { facts(): { seq: number } | undefined };
    writeBack: { outbox: { programAsks(): void } };
    changes: { saves(): ReadonlySet<unknown>; treeChanges(): ReadonlySet<unknown> };
    cache: HostileParts["cache"];
    colleagues: { offer: Offer; source: Pick<ColleagueSource, "broughtBytes"> };
  };
}

export class SimulatedClient {
  readonly name: string;
  readonly machine: Machine;
  readonly line: SimulatedLine;
  readonly problems: string[] = [];
  agent: RunningAgent | undefined;
  private readonly folder: string;
  private readonly random: SeededRandom;
  private starts = 0;
  private instances = 0;
  private boots = 1;
  private silences = 0;
  /** Path of what the machine's disk holds. */
  private state = "";
  private readonly shadow: ShadowDisk | undefined;
  private readonly isAsync: boolean;
  private readonly source: (() => ChunkSource) | undefined;
  private readonly colleagues: SimulatedClientParts["colleagues"];
  /** The machine's disk, for all agents that run there. */
  readonly disk = { isFull: false, slowMs: 0 };
  private busy = 0;
  /** A source of chance of its own: seeds stay what they are. */
  private readonly late: SeededRandom;
  /** Their drives still have files open. */
  private readonly former: RunningAgent[] = [];

  constructor(name: string, folder: string, parts: SimulatedClientParts) {
    const { clock, network, random, line, losesPower } = parts;
    this.isAsync = parts.isAsync === true;
    this.source = parts.source;
    this.colleagues = parts.colleagues;
    this.name = name;
    this.folder = folder;
    this.random = random;
    this.late = new SeededRandom(name.charCodeAt(name.length - 1));
    this.machine = new Machine(clock);
    this.line = network.line(line);
    this.line.backsOff = true;
    if (losesPower) this.shadow = new ShadowDisk(clock, random.below(2 ** 32));
  }

  /** @throws what `runnel mount` would say. */
  async start(): Promise<void> {
    this.starts += 1;
    if (this.state === "") {
      this.state = join(this.folder, `${this.name}-0`);
      mkdirSync(this.state, { recursive: true });
      if (this.shadow !== undefined) this.shadow.folder = this.state;
    }
    const { state, random, shadow } = this;
    const process = this.machine.process();
    // Now and then something small still fits.
    const isFull = (): boolean => this.disk.isFull && !random.coin(FITS);
    const device = this.colleagues?.network.device(this.name, process, inlineExecutor());
    let drive: MemoryDrive | undefined;
    const disk = new HostDisk({
      process,
      delayMs: () => random.below(this.disk.slowMs) + (random.coin(0.2) ? random.below(4) : 0),
      isFull,
      shadow,
    });
    const mount = await openMountWith(
      {
        clock: process,
        executor: inlineExecutor(),
        disk,
        dialer: { dial: (url, signal) => this.dial(process, url, signal) },
        drive: (settings) => {
          drive = memoryDrive(settings, process, () => this.machine.awakeMs());
          return tellLate(drive, process, () => (this.busy > 0 ? this.late.below(LATE_MS) : 0));
        },
        boot: `boot ${this.boots} of ${this.name}`,
        newInstance: () =>
          Buffer.from(`${this.name}/${++this.instances}`)
            .toString("hex")
            .padEnd(32, "0"),
        log: (message, error) => void this.problems.push(`${message} ${String(error ?? "")}`),
      },
      {
        url: SERVER_URL,
        mountpoint: "/drive",
        cacheFolder: join(state, "cache"),
        cacheBytes: CACHE_BYTES,
        stateFolder: join(state, "state"),
        mapOwner: false,
        isAsync: this.isAsync,
        ...(device === undefined ? {} : { colleagues: "everyone" }),
        ...(this.paused === undefined ? {} : { pausedFolders: this.paused }),
      },
      { isReadOnly: false, ...(device === undefined ? {} : { device }) },
    );
    if (drive === undefined) throw new Error("The mount made no drive.");
    const hostile = this.colleagues?.hostile;
    if (hostile !== undefined && device !== undefined) {
      const { cache, colleagues } = (mount as unknown as Reached).deps;
      makeHostile(colleagues.offer, { ...hostile, clock: process, cache, leave: () => device.cut() });
    }
    if (this.source !== undefined) mount.sources.add(this.source());
    const { promise: ended, reject } = Promise.withResolvers<never>();
    ended.catch(() => {});
    const end = (): void => reject(new RunnelError("Interrupted", "use the drive", "The agent was killed."));
    const kernel = new Kernel(drive, process, new SeededRandom(random.below(2 ** 32)), isFull);
    this.agent = { process, disk, drive, kernel, mount, ...(device && { device }), ended, end };
  }

  /**
   * Programs here ask for things that change nothing, and the agent hears late of what others do, until the function
   * that this returns is called.
   */
  keepBusy(): () => void {
    let isOver = false;
    this.busy++;
    const ask = (): void => {
      if (!this.machine.isSuspended) this.reached?.writeBack.outbox.programAsks();
      if (!isOver) this.machine.clock.after(BUSY_EVERY_MS, ask);
    };
    ask();
    return () => {
      if (!isOver) this.busy--;
      isOver = true;
    };
  }

  /** Makes its line swallow everything until the function that this returns is called; so do others until theirs. */
  silence(): () => void {
    this.silences += 1;
    this.line.isBlackHole = true;
    return () => {
      this.silences -= 1;
      if (this.silences === 0) this.line.isBlackHole = false;
    };
  }

  /** This agent asks for its lease as ever, but acknowledges nothing until the function is called that this returns. */
  withholdAcks(): () => void {
    if (this.reached === undefined) return () => undefined;
    const { session } = this.reached;
    const withheld = new Map<Channel, unknown>();
    let { feed } = session;
    const withhold = (): void => {
      const of = feed;
      if (of === undefined || withheld.has(of)) return;
      const send = of.send.bind(of);
      withheld.set(of, undefined);
      of.send = (message) => {
        if (Array.isArray(message) && message[0] === "ack") withheld.set(of, message);
        else send(message);
      };
    };
    withhold();
    const set = (next: Channel | undefined): void => {
      feed = next;
      withhold();
    };
    Object.defineProperty(session, "feed", { configurable: true, get: () => feed, set });
    return () => {
      Object.defineProperty(session, "feed", { configurable: true, writable: true, value: feed });
      for (const each of withheld.keys()) Reflect.deleteProperty(each, "send");
      const last = feed && withheld.get(feed);
      if (last !== undefined) feed?.send(last);
    };
  }

  /** Says whether something that a program changed is on its way to the server, or waits to be sent. */
  get hasInFlight(): boolean {
    if (this.reached === undefined) return false;
    const { changes } = this.reached;
    return changes.saves().size + changes.treeChanges().size > 0;
  }

  private paused: Mount["settings"]["pausedFolders"];

  /** Seq of the server's tree up to which it has heard of changes. */
  get heardSeq(): number | undefined {
    return this.reached?.replica.facts()?.seq;
  }

  private get reached(): Reached["deps"] | undefined {
    return (this.agent?.mount as unknown as Reached | undefined)?.deps;
  }

  /** A process that was killed meanwhile has no connection. */
  private async dial(process: Process, url: string, signal: AbortSignal | undefined): Promise<Link> {
    const link = await this.line.dial(url, signal);
    if (process.isDead) this.line.cut();
    await process.turn(0);
    return new LateLink(link, process);
  }

  /**
   * SIGKILL: the next process begins with a copy of what the agent had told the kernel. With `losesPower` the machine
   * stops: the next process begins with what was on its disk, and of the indexes, which are never synced, with
   * anything.
   */
  async kill(losesPower: boolean): Promise<void> {
    const { agent, shadow } = this;
    if (agent === undefined) return;
    this.stop(agent);
    const next = join(this.folder, `${this.name}-${this.starts}`);
    if (losesPower && shadow !== undefined) {
      this.boots += 1;
      await shadow.cutPower(next);
      const paths = readdirSync(this.state, { recursive: true, encoding: "utf8" });
      for (const path of paths.toSorted())
        if (path.endsWith(".sqlite")) this.damage(join(this.state, path), join(next, path));
    } else {
      cpSync(this.state, next, { recursive: true, preserveTimestamps: true });
      if (shadow !== undefined) shadow.folder = next;
    }
    this.state = next;
    agent.disk.closeAll();
  }

  /** A person pauses a folder of the drive, if there is one. */
  async pauseFolder(path: string): Promise<void> {
    const pause = { sinceMs: 0, untilMs: null };
    await this.agent?.mount.pauseFolder(path, pause).catch(() => undefined);
  }

  /** Ends all pauses, wherever what was paused lies by now. */
  resumeFolders(): void {
    const { mount } = this.agent ?? {};
    for (const { path } of mount?.settings.pausedFolders ?? []) mount?.resumeFolder(path);
    this.paused = undefined;
  }

  private stop(agent: RunningAgent): void {
    // The agent's list of its mounts has them.
    this.paused = agent.mount.settings.pausedFolders;
    this.agent = undefined;
    agent.process.kill();
    agent.device?.end();
    this.line.cut();
    this.former.push(agent);
    agent.end();
  }

  private damage(from: string, to: string): void {
    const how = this.random.below(4);
    if (how === 0) return;
    mkdirSync(dirname(to), { recursive: true });
    cpSync(from, to);
    if (how === 1 && existsSync(`${from}-wal`)) cpSync(`${from}-wal`, `${to}-wal`);
    if (how === 2) truncateSync(to, Math.floor(statSync(to).size / 2));
  }

  /** Count of what the kernels of all agents answered by themselves. */
  get fromKernel(): number {
    const agents = [...this.former, ...(this.agent === undefined ? [] : [this.agent])];
    return agents.reduce(
      (sum, { kernel: { answered } }) => sum + answered.names + answered.attributes + answered.pages,
      0,
    );
  }

  /** Bytes that colleagues have brought to all agents. */
  get fromColleagues(): number {
    const agents = [...this.former, ...(this.agent === undefined ? [] : [this.agent])];
    const counts = agents.flatMap(({ mount }) => [
      ...(mount as unknown as Reached).deps.colleagues.source.broughtBytes.values(),
    ]);
    return counts.reduce((sum, bytes) => sum + bytes, 0);
  }

  /** The run is over. */
  end(): void {
    if (this.agent !== undefined) {
      this.agent.disk.closeAll();
      this.stop(this.agent);
    }
    for (const { drive } of this.former) void drive.close(true);
  }
}
