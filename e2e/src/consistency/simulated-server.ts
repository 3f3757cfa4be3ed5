// The server of a simulation: what `runnel serve` composes, on a simulated disk, clock and network, with the meta store
// in memory.
import type { Feed, MetaStore, OpenedVolume } from "@runnel/server/internals";
import { MemoryMetaImage, openMemoryMetaStore } from "@runnel/server/internals";
import type { DiskRoot, Notice, SimulatedClock, SimulatedNetwork, VersionId } from "@runnel/shared";
import { SimulatedDisk } from "@runnel/shared";
import { Machine, type Process } from "../simulation/machine.ts";
import { DATA, FOLDER, PORT, serveFolder } from "../simulation/serve-folder.ts";
import { ServerDisks } from "./server-disks.ts";
import { Truth } from "./check/truth.ts";

/** A server notices within this time that its folder is not at its path any more, on the slowest of the disks here. */
const NOTICED_MS = 3_500;

/** Instances are named so (simulated-client.ts). */
function clientOf(instance: string): string {
  return Buffer.from(instance, "hex").toString().split("/")[0] ?? "";
}

/** Refuses what a dead process still asks of the store, which is the next one's. */
function whileAlive(process: Process, store: MetaStore): MetaStore {
  return new Proxy(store, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== "function") return value;
      return async (...args: unknown[]) => {
        await process.turn(0);
        const answer: unknown = await value.apply(target, args);
        await process.turn(0);
        return answer;
      };
    },
  });
}

export class SimulatedServer {
  readonly disks: ServerDisks;
  readonly machine: Machine;
  readonly truth = new Truth(clientOf);
  readonly warnings: string[] = [];
  /** Operations accepted by a server that has not its data, or not its folder. */
  readonly nowhere: string[] = [];
  private lost: { state: SimulatedDisk; image: MemoryMetaImage } | undefined;
  private readonly network: SimulatedNetwork;
  private readonly termMs: number;
  /** Commits that could not be answered at once: somebody had to acknowledge them. */
  waited = 0;
  /** Write leases granted while another client had one. */
  heldApart = 0;
  private image = new MemoryMetaImage();
  private process: Process | undefined;
  private opened: OpenedVolume | undefined;

  constructor(clock: SimulatedClock, network: SimulatedNetwork, seed: number, termMs: number) {
    this.machine = new Machine(clock);
    this.network = network;
    this.termMs = termMs;
    this.disks = new ServerDisks(clock, seed, DATA);
  }

  get isRunning(): boolean {
    return this.process !== undefined;
  }

  /** Nothing is on its way into the plain folder. */
  get isSettled(): boolean {
    const status = this.opened?.volume.content.status();
    return status !== undefined && status.pendingCommits === 0 && !status.isScanning;
  }

  /** The served folder, as another program sees it. */
  folder(): Promise<DiskRoot> {
    return this.disks.openRoot(FOLDER);
  }

  /** Reads a version; undefined while no server runs. @throws Gone, Lost, Stale. */
  async bytesOf(version: VersionId): Promise<Uint8Array | undefined> {
    if (!this.isRunning) return undefined;
    const open = await this.opened?.volume.content.open(version);
    try {
      return await open?.read(0, open.sizeBytes);
    } finally {
      await open?.close();
    }
  }

  /** Reads the notices in the volume's status. */
  async notices(): Promise<Notice[]> {
    return (await this.opened?.volume.content.notices()) ?? [];
  }

  /** Resolves when it serves, or has crashed before it could. */
  async start(): Promise<void> {
    const process = this.machine.process();
    this.process = process;
    let failure: { error: unknown } | undefined;
    const serving = this.serve(process).catch((error: unknown) => {
      if (process.isDead) return;
      // A server that cannot serve ends.
      failure = { error };
      this.crash();
    });
    await Promise.race([serving, process.ended]);
    if (failure !== undefined) throw failure.error;
  }

  private async serve(process: Process): Promise<void> {
    await this.disks.openRoot(FOLDER, { permissions: 0o755 });
    this.opened = undefined;
    await serveFolder({
      acceptor: this.network,
      clock: process,
      disk: this.disks,
      termMs: this.termMs,
      warn: (message) => void this.warnings.push(message),
      openMeta: async (_folder, create) => {
        if (create !== undefined) this.image = new MemoryMetaImage();
        const store = await openMemoryMetaStore(this.image, create === undefined ? {} : { create });
        return whileAlive(process, this.reporting(this.lost === undefined ? this.truth.follow(store) : store));
      },
      opened: (opened) => {
        this.opened = opened;
        if (this.lost === undefined) this.truth.cutAfter(opened.volume.seq);
        this.countWaits(opened.volume.feed);
        return { ...opened, release: () => this.released(opened) };
      },
    });
  }

  /** The volume is released: its folder is away, or the server ends. */
  private async released(opened: OpenedVolume): Promise<void> {
    if (this.opened === opened) this.opened = undefined;
    await opened.release();
  }

  private countWaits(feed: Feed): void {
    const { truth } = this;
    feed.writeLeaseRanOut = ({ instance }) => truth.ranOut.push({ client: clientOf(instance), ...truth.now() });
    const { writeLeases } = feed;
    const close = writeLeases.close.bind(writeLeases);
    writeLeases.close = () => {
      // A lease that has run out counts, though nobody has asked for it since.
      writeLeases.now();
      close();
    };
    const confirm = writeLeases.confirm.bind(writeLeases);
    writeLeases.confirm = (lease) => {
      confirm(lease);
      if (new Set(writeLeases.now().map(({ holder }) => holder.instance)).size > 1) this.heldApart++;
    };
    const publish = feed.publish.bind(feed);
    feed.publish = (...args) => {
      const acknowledged = publish(...args);
      let isWaiting = true;
      void acknowledged.then(() => (isWaiting = false));
      // Nothing to wait for is settled by the next turn.
      setImmediate(() => (this.waited += isWaiting ? 1 : 0));
      return acknowledged;
    };
  }

  get hasLostData(): boolean {
    return this.lost !== undefined;
  }

  /** It starts next with data of its own that hold nothing, until `findData`. */
  loseData(): void {
    this.crash();
    const { clock } = this.machine;
    this.lost ??= { state: this.disks.state, image: this.image };
    this.disks.state = new SimulatedDisk({ clock, seed: Math.floor(clock.bootMs()) });
    this.image = new MemoryMetaImage();
  }

  findData(): void {
    if (this.lost === undefined) return;
    this.crash();
    this.disks.state = this.lost.state;
    this.image = this.lost.image;
    this.lost = undefined;
  }

  /** The store, which puts down what clients' changes it takes that should find no volume. */
  private reporting(store: MetaStore): MetaStore {
    const plan: MetaStore["plan"] = async (batch) => {
      const why = this.whyNowhere();
      for (const { id, operation } of why === undefined ? [] : batch)
        if (id !== undefined) this.nowhere.push(`nowhere: ${operation.op} of ${clientOf(id.instance)} went to ${why}`);
      return store.plan(batch);
    };
    return new Proxy(store, {
      get: (target, property) => {
        if (property === "plan") return plan;
        const value: unknown = Reflect.get(target, property, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }

  private whyNowhere(): string | undefined {
    if (this.lost !== undefined) return "a server without its data";
    const { awaySinceMs } = this.disks;
    const isAway = awaySinceMs !== undefined && this.machine.clock.bootMs() - awaySinceMs > NOTICED_MS;
    return isAway ? "a folder that is not at its path" : undefined;
  }

  /**
   * The machine loses its power; its network card falls silent, and the peers' connections break when it comes back.
   */
  crash(): void {
    this.opened?.volume.feed.writeLeases.now();
    this.process?.kill();
    this.process = undefined;
    this.network.kill(PORT);
    this.image.cutPower();
    this.disks.crash();
  }
}
