// Faults of a plan, done to clients and the server of a run; and undone.
import type { SeededRandom, SimulatedClock } from "@runnel/shared";
import { isRunnelError, sleep } from "@runnel/shared";
import type { Fault } from "./plan.ts";
import type { SimulatedClient } from "./simulated-client.ts";
import type { SimulatedServer } from "./simulated-server.ts";

const WALL_JUMP_MS = 3_600_000;
const SERVER_AWAY_MS = 3_000;
const SLOW_DISK_MS = 150;
const TRY_AGAIN_MS = 500;

export interface FaultParts {
  clock: SimulatedClock;
  random: SeededRandom;
  clients: readonly SimulatedClient[];
  server: SimulatedServer;
}

export class Faults {
  private readonly parts: FaultParts;
  /** What is not over yet. */
  private readonly toUndo = new Set<() => void>();
  /** What had to start again. */
  private readonly starting: Promise<void>[] = [];
  private readonly serverRoomBytes: number;
  /** What was done, for a person. */
  readonly log: string[] = [];

  constructor(parts: FaultParts) {
    this.parts = parts;
    this.serverRoomBytes = parts.server.disk.capacityBytes;
  }

  /** Does them, each at its time from now. */
  async all(faults: readonly Fault[]): Promise<void> {
    const { clock } = this.parts;
    const beganMs = clock.bootMs();
    for (const fault of faults.toSorted((a, b) => a.atMs - b.atMs)) {
      await sleep(clock, Math.max(0, beganMs + fault.atMs - clock.bootMs()));
      const client = this.parts.clients[fault.client];
      if (client === undefined) continue;
      this.log.push(`${Math.round(clock.bootMs())} ${client.name} ${fault.kind} ${fault.lastsMs}`);
      this.one(fault, client);
    }
  }

  /** All that lasts is over, and everybody runs. */
  async heal(): Promise<void> {
    for (const undo of this.toUndo) undo();
    await Promise.all(this.starting);
  }

  private one({ kind, lastsMs }: Fault, client: SimulatedClient): void {
    const { line, machine } = client;
    const { server, random } = this.parts;
    if (kind === "cut") line.cut();
    else if (kind === "halfCut") this.later(lastsMs, line.lose());
    else if (kind === "wallJump") machine.jumpWall((2 * random.next() - 1) * WALL_JUMP_MS);
    else if (kind === "noAcks") this.later(lastsMs, client.withholdAcks());
    else if (kind === "memoryShort") client.life?.kernel.shrink();
    else if (kind === "kill" || kind === "powerCut") this.stopClient(client, kind === "powerCut", lastsMs);
    else if (kind === "serverPowerCut") this.stopServer();
    else if (kind === "blackHole") this.later(lastsMs, client.silence());
    else if (kind === "noNetwork" && !line.isDown) {
      line.isDown = true;
      line.cut();
      this.later(lastsMs, () => (line.isDown = false));
    } else if (kind === "sleep" && !machine.isSuspended) {
      machine.suspend();
      const hear = client.silence();
      this.later(lastsMs, () => {
        hear();
        machine.resume();
      });
    } else if (kind === "diskFull") {
      client.disk.isFull = true;
      this.later(lastsMs, () => (client.disk.isFull = false));
    } else if (kind === "diskSlow") {
      client.disk.slowMs = SLOW_DISK_MS;
      this.later(lastsMs, () => (client.disk.slowMs = 0));
    } else if (kind === "serverDiskFull") {
      server.disk.capacityBytes -= server.disk.freeBytes;
      this.later(lastsMs, () => (server.disk.capacityBytes = this.serverRoomBytes));
    } else if (kind === "serverDiskSlow") {
      server.disk.delayMs = () => random.below(SLOW_DISK_MS);
      this.later(lastsMs, () => (server.disk.delayMs = () => 0));
    }
  }

  private later(lastsMs: number, undo: () => void): void {
    const once = (): void => {
      if (this.toUndo.delete(once)) undo();
    };
    this.toUndo.add(once);
    this.parts.clock.after(lastsMs, once);
  }

  private stopClient(client: SimulatedClient, losesPower: boolean, awayMs: number): void {
    if (client.life === undefined) return;
    const start = async (): Promise<void> => {
      await client.kill(losesPower);
      if (losesPower) await sleep(this.parts.clock, awayMs);
      await this.started(() => client.start());
    };
    this.keep(start());
  }

  private stopServer(): void {
    const { server, clock, random } = this.parts;
    if (!server.isRunning) return;
    server.crash();
    const start = async (): Promise<void> => {
      await sleep(clock, random.below(SERVER_AWAY_MS));
      await this.started(() => server.start());
    };
    this.keep(start());
  }

  /** Somebody starts it again until it runs. */
  private async started(start: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await start();
      } catch (error) {
        if (!isRunnelError(error, "Unreachable", "NoSpace")) throw error;
      }
      await sleep(this.parts.clock, TRY_AGAIN_MS);
    }
  }

  private keep(starting: Promise<void>): void {
    // Told by `heal`.
    starting.catch(() => undefined);
    this.starting.push(starting);
  }
}
