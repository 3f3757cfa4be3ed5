// A client of a simulation: what the agent composes for one mount, with the drive that has no kernel, and a kernel before it. Killed, it starts again from
// what its disk holds.
import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Mount, openMountWith } from "@runnel/app/parts";
import { inlineExecutor } from "@runnel/native";
import { type MemoryDrive, memoryDrive } from "@runnel/native/drive";
import type { Link, SimulatedClock, SimulatedLine, SimulatedNetwork } from "@runnel/shared";
import { RunnelError, SeededRandom } from "@runnel/shared";
import { HostDisk } from "../simulation/host-disk.ts";
import { Machine, type Process } from "../simulation/machine.ts";
import { Kernel } from "./kernel.ts";
import { SERVER_URL } from "./simulated-server.ts";

const CACHE_BYTES = 64 * 1024 * 1024;

/** One life of the agent. */
export interface Life {
  process: Process;
  disk: HostDisk;
  drive: MemoryDrive;
  kernel: Kernel;
  mount: Mount;
  /** Rejects when the agent is killed: programs that use its drive are cut off (ENOTCONN). */
  ended: Promise<never>;
  end(): void;
}

export class SimulatedClient {
  readonly name: string;
  readonly machine: Machine;
  readonly line: SimulatedLine;
  readonly problems: string[] = [];
  life: Life | undefined;
  private readonly folder: string;
  private readonly random: SeededRandom;
  private lives = 0;
  private instances = 0;
  /** What the machine's disk holds. */
  private state = "";
  /** Their drives still have files open. */
  private readonly former: Life[] = [];

  constructor(
    clock: SimulatedClock,
    network: SimulatedNetwork,
    random: SeededRandom,
    folder: string,
    name: string,
    delayMs = 5 + random.below(60),
  ) {
    this.name = name;
    this.folder = folder;
    this.random = random;
    this.machine = new Machine(clock);
    this.line = network.line({ delayMs, jitterMs: random.below(20) });
  }

  /** @throws what `runnel mount` would say. */
  async start(): Promise<void> {
    this.lives += 1;
    if (this.state === "") {
      this.state = join(this.folder, `${this.name}-0`);
      mkdirSync(this.state, { recursive: true });
    }
    const { state, random } = this;
    const process = this.machine.process();
    let drive: MemoryDrive | undefined;
    const disk = new HostDisk({
      process,
      delayMs: () => (random.coin(0.2) ? random.below(4) : 0),
    });
    const mount = await openMountWith(
      {
        clock: process,
        executor: inlineExecutor(),
        disk,
        dialer: { dial: (url, signal) => this.dial(process, url, signal) },
        drive: (settings) => {
          drive = memoryDrive(settings, process);
          return drive;
        },
        boot: `boot of ${this.name}`,
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
        writeMode: "sync",
        mapOwner: false,
      },
      { isReadOnly: false },
    );
    if (drive === undefined) throw new Error("The mount made no drive.");
    const { promise: ended, reject } = Promise.withResolvers<never>();
    ended.catch(() => {});
    const end = (): void => reject(new RunnelError("Interrupted", "use the drive", "The agent was killed."));
    const kernel = new Kernel(drive, process, new SeededRandom(random.below(2 ** 32)));
    this.life = { process, disk, drive, kernel, mount, ended, end };
  }

  /** A process that was killed meanwhile has no connection. */
  private async dial(process: Process, url: string, signal: AbortSignal | undefined): Promise<Link> {
    const link = await this.line.dial(url, signal);
    if (process.isDead) this.line.cut();
    await process.turn(0);
    return link;
  }

  /** SIGKILL. What the agent had told the kernel is kept: the next life begins with a copy of it. */
  kill(): void {
    const { life } = this;
    if (life === undefined) return;
    this.life = undefined;
    life.process.kill();
    this.line.cut();
    const next = join(this.folder, `${this.name}-${this.lives}`);
    cpSync(this.state, next, { recursive: true, preserveTimestamps: true });
    this.state = next;
    life.disk.closeAll();
    this.former.push(life);
    life.end();
  }

  /** The run is over. */
  end(): void {
    this.kill();
    for (const { drive } of this.former) void drive.close(true);
  }
}
