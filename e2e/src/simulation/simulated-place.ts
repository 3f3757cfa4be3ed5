// An agent's mount and a server in one process: the product's own parts on simulated time, network and, at the server,
// a simulated disk. The drive has no kernel; its overlays and the cache lie in a real folder.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Mount, openMountWith } from "@runnel/app/internals";
import { inlineExecutor } from "@runnel/native";
import { type MemoryDrive, memoryDrive } from "@runnel/native/drive";
import { MemoryMetaImage, type OpenedVolume, type RunningServer, openMemoryMetaStore } from "@runnel/server/internals";
import { ROOT_NODE, SeededRandom, SimulatedClock, SimulatedDisk, SimulatedNetwork, sleep } from "@runnel/shared";
import type { DiskRoot, LineConditions } from "@runnel/shared";
import { HostDisk } from "./host-disk.ts";
import { Machine } from "./machine.ts";
import { FOLDER, PORT, SERVER_URL, serveFolder } from "./serve-folder.ts";
import { TappedLine } from "./tapped-line.ts";

const TERM_MS = 20_000;
const CACHE_BYTES = 1024 * 1024 * 1024;
/** Time for which a server that starts again is away. */
const AWAY_MS = 700;
/** Longer than what is told takes over any line here. */
const HEARD_MS = 200;
const GIVE_UP_MS = 300_000;

export class SimulatedPlace {
  readonly clock = new SimulatedClock();
  private readonly executor = inlineExecutor();
  private readonly network: SimulatedNetwork;
  readonly line: TappedLine;
  /** The server's. */
  readonly disk: SimulatedDisk;
  private readonly folder = mkdtempSync(join(tmpdir(), "runnel-simulated-"));
  private image = new MemoryMetaImage();
  private server!: RunningServer;
  volume!: OpenedVolume["volume"];
  /** The served folder, as another program on the server sees it. */
  served!: DiskRoot;
  mount!: Mount;
  drive!: MemoryDrive;
  /** Time that it took to mount. */
  mountingMs = 0;
  readonly log: string[] = [];
  private restarting: Promise<void> | undefined;

  private readonly termMs: number;

  constructor(seed: number, conditions: Partial<LineConditions> = {}, termMs = TERM_MS) {
    const { clock } = this;
    this.termMs = termMs;
    this.network = new SimulatedNetwork(clock, new SeededRandom(seed));
    this.line = new TappedLine(this.network, this.network.line(conditions));
    this.disk = new SimulatedDisk({ clock, seed });
  }

  /** With these files in the served folder. */
  async open(files: Record<string, Uint8Array>): Promise<void> {
    this.served = await this.disk.openRoot(FOLDER, { permissions: 0o755 });
    await this.fill(files);
    await this.run(this.openServer());
    const startMs = this.clock.bootMs();
    await this.run(this.openMount());
    this.mountingMs = this.clock.bootMs() - startMs;
    await this.until(() => this.mount.status(false).then(({ state }) => state === "connected"));
  }

  /** Another program writes files in the served folder; resolves when the drive has heard of them. */
  async writeServed(files: Record<string, Uint8Array>): Promise<void> {
    await this.fill(files);
    for (const [path, { length }] of Object.entries(files))
      while ((await this.volume.meta.lookup(ROOT_NODE, path))?.sizeBytes !== length) await sleep(this.clock, 10);
    await sleep(this.clock, HEARD_MS);
  }

  /** The same while the drive cannot hear of it: resolves when the server has taken it in. */
  async changeServed(path: string, bytes: Uint8Array): Promise<void> {
    const file = await this.served.open(path, "write");
    await file.truncate(0);
    await file.write(0, bytes);
    await file.close();
    while ((await this.volume.meta.lookup(ROOT_NODE, path))?.sizeBytes !== bytes.length) await sleep(this.clock, 10);
  }

  private async fill(files: Record<string, Uint8Array>): Promise<void> {
    for (const [path, bytes] of Object.entries(files)) {
      const file = await this.served.open(path, "create", 0o644);
      await file.truncate(0);
      await file.write(0, bytes);
      await file.close();
    }
  }

  private async openServer(): Promise<void> {
    const { clock, disk, image } = this;
    this.server = await serveFolder({
      acceptor: this.line,
      clock,
      disk,
      termMs: this.termMs,
      warn: (message) => void this.log.push(message),
      openMeta: async (_folder, create) => openMemoryMetaStore(image, create === undefined ? {} : { create }),
      opened: (opened) => {
        this.volume = opened.volume;
        return opened;
      },
    });
  }

  private async openMount(): Promise<void> {
    const { clock, executor, folder } = this;
    const process = new Machine(clock).process();
    this.mount = await openMountWith(
      {
        clock: process,
        executor,
        disk: new HostDisk({ process, delayMs: () => 0 }),
        dialer: this.line,
        drive: (settings) => {
          this.drive = memoryDrive(settings, process);
          return this.drive;
        },
        log: (message, error) => void this.log.push(`${message} ${error instanceof Error ? error.message : ""}`),
      },
      {
        url: SERVER_URL,
        mountpoint: "",
        cacheFolder: join(folder, "cache"),
        cacheBytes: CACHE_BYTES,
        stateFolder: join(folder, "state"),
        mapOwner: false,
        isAsync: false,
      },
      { isReadOnly: false },
    );
  }

  /** The drive is unmounted, whatever is under way, and mounted again by another agent. */
  async remount(): Promise<void> {
    await this.run(this.mount.unmount(true));
    await this.run(this.openMount());
  }

  /** The server's process is killed, and after a while there is another one. Time passes by `run`. */
  restart(): void {
    // A cut may meet a server that is just starting.
    this.restarting ??= this.startAgain().finally(() => {
      this.restarting = undefined;
    });
  }

  private async startAgain(): Promise<void> {
    const { disk, server, clock } = this;
    this.network.kill(PORT);
    disk.fault = () => "Io";
    server.close().catch(() => undefined);
    await sleep(clock, AWAY_MS);
    disk.fault = undefined;
    await this.openServer();
  }

  /** Time passes until the promise settles. */
  async run<T>(promise: Promise<T>): Promise<T> {
    let isDone = false;
    const mark = (): void => {
      isDone = true;
    };
    promise.then(mark, mark);
    if (!(await this.clock.runUntil(() => isDone, GIVE_UP_MS)))
      throw new Error(`It does not end. ${this.log.join("\n")}`);
    return promise;
  }

  /** Time passes until something is so. */
  async until(condition: () => Promise<boolean>): Promise<void> {
    const wait = async (): Promise<void> => {
      while (!(await condition())) await sleep(this.clock, 50);
    };
    await this.run(wait());
  }

  /** Everything is saved and in the plain files. */
  async settle(): Promise<void> {
    await this.run(this.restarting ?? Promise.resolve());
    await this.until(async () => {
      const { state, unsentFiles } = await this.mount.status(false);
      return state === "connected" && unsentFiles === 0;
    });
    await this.run(this.mount.flush(true));
  }

  async close(): Promise<void> {
    await this.run(this.mount.unmount(true));
    await this.run(this.server.close());
    rmSync(this.folder, { recursive: true, force: true });
  }
}
