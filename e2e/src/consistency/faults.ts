// Faults of a plan, done to clients and the server of a run; and undone.
import type { SeededRandom, SimulatedClock } from "@runnel/shared";
import { isRunnelError, sleep } from "@runnel/shared";
import type { Truth } from "./check/truth.ts";
import type { Fault } from "./plan.ts";
import type { SimulatedClient } from "./simulated-client.ts";
import { FOLDER } from "../simulation/serve-folder.ts";
import type { SimulatedServer } from "./simulated-server.ts";

const WALL_JUMP_MS = 3_600_000;
const SERVER_AWAY_MS = 3_000;
const SLOW_DISK_MS = 150;
/** The content that a close was given is on disk by then (docs/FORMAT.md). */
const DURABLE_WITHIN_MS = 1_000;
/** The consequences of a fault may last so long. */
const HURTS_MS = 60_000;
/**
 * Usual time of a piece of an agent's work with a fifth of a processor; some (a listing is stored, memory is collected)
 * take longer.
 */
const WORK_MS = 12;
const WORKS_LONG = 0.02;
const WORK_MS_MAX = 2_400;
const TRY_AGAIN_MS = 500;
const PAUSED = ["d", "e", "a", "b", "c"];
const PAUSED_LONGER = 4;
/** Time that a stop waits for something to be on its way, looking so often. */
const IN_FLIGHT_MS = 8_000;
const LOOK_MS = 7;

export interface FaultParts {
  clock: SimulatedClock;
  random: SeededRandom;
  clients: readonly SimulatedClient[];
  server: SimulatedServer;
  truth: Pick<Truth, "ranOut" | "now">;
  /** Clients are stopped, mostly, while they have something on its way. */
  stopsInFlight: boolean;
}

export class Faults {
  private readonly parts: FaultParts;
  /** Ends of the faults that are not over yet. */
  private readonly toUndo = new Set<() => void>();
  /** Starts of the processes that had to start again. */
  private readonly starting: Promise<void>[] = [];
  /** Faults that were done, in order. */
  private readonly done: { kind: Fault["kind"]; client: string; atMs: number }[] = [];
  /** When clients' disks were full. */
  readonly full: { client: string; fromMs: number; untilMs: number }[] = [];
  /** Count of stops of a client that had something on its way. */
  stopsInFlight = 0;
  /** Sentences about what was done, for a person. */
  readonly log: string[] = [];

  constructor(parts: FaultParts) {
    this.parts = parts;
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
      const done = { kind: fault.kind, client: client.name, atMs: clock.bootMs() };
      if (fault.kind !== "programsBusy") this.done.push(done);
      this.one(fault, client, done);
    }
  }

  /** All that lasts is over, and everybody runs. */
  async restore(): Promise<void> {
    for (const undo of this.toUndo) undo();
    await Promise.all(this.starting);
    // Pauses that began meanwhile, or were taken over by who had to start again.
    for (const client of this.parts.clients) client.resumeFolders();
  }

  /** Something happened to the server or this client soon before or after a moment. */
  hasHurt(client: string, atMs: number): boolean {
    return this.done.some(
      (each) =>
        (each.client === client || each.kind.startsWith("server")) &&
        Math.abs(each.atMs - atMs - HURTS_MS / 2) <= HURTS_MS,
    );
  }

  /** Returns true when the client's machine stopped in the middle of that, or within a second of it. */
  hasStopped(client: string, { beganMs, endedMs }: { beganMs: number; endedMs: number }): boolean {
    return this.done.some(
      (each) =>
        each.client === client &&
        each.kind === "powerCut" &&
        each.atMs >= beganMs &&
        each.atMs <= endedMs + DURABLE_WITHIN_MS,
    );
  }

  private one({ kind, lastsMs }: Fault, client: SimulatedClient, done: { atMs: number }): void {
    const { line, machine } = client;
    const { server, random } = this.parts;
    if (kind === "cut") line.cut();
    else if (kind === "halfCut") this.later(lastsMs, line.lose());
    else if (kind === "wallJump") machine.jumpWall((2 * random.next() - 1) * WALL_JUMP_MS);
    else if (kind === "noAcks") this.later(lastsMs, client.withholdAcks());
    else if (kind === "folderPaused") this.pauseFolder(client, lastsMs);
    else if (kind === "memoryShort") client.agent?.kernel.shrink();
    else if (kind === "programsBusy") this.later(lastsMs, client.keepBusy());
    else if (kind === "kill" || kind === "powerCut") this.stopClient(client, kind === "powerCut", lastsMs, done);
    else if (kind === "serverPowerCut") this.stopServer(() => server.crash());
    else if (kind === "dataLost") this.loseData(lastsMs);
    else if (kind === "folderAway") this.takeFolder(lastsMs);
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
    } else if (kind === "slowAgent") {
      machine.workMs = () => random.below(random.coin(WORKS_LONG) ? WORK_MS_MAX : WORK_MS);
      this.later(lastsMs, () => (machine.workMs = undefined));
    } else if (kind === "diskFull") {
      client.disk.isFull = true;
      const full = { client: client.name, fromMs: this.parts.clock.bootMs(), untilMs: Infinity };
      this.full.push(full);
      this.later(lastsMs, () => {
        client.disk.isFull = false;
        full.untilMs = this.parts.clock.bootMs();
      });
    } else if (kind === "diskSlow") {
      client.disk.slowMs = SLOW_DISK_MS;
      this.later(lastsMs, () => (client.disk.slowMs = 0));
    } else if (kind === "serverDiskFull") {
      const { disks } = server;
      const full = random.coin(0.3) ? disks.both : random.coin() ? [disks.served] : [disks.state];
      for (const disk of full) disks.fill(disk);
      this.later(lastsMs, () => {
        for (const disk of full) disks.empty(disk);
      });
    } else if (kind === "serverDiskSlow") {
      this.later(
        lastsMs,
        server.disks.slow(() => random.below(SLOW_DISK_MS)),
      );
    }
  }

  /** A person pauses a folder or file; changes of it come late for others. */
  private pauseFolder(client: SimulatedClient, lastsMs: number): void {
    const path = PAUSED[this.parts.random.below(PAUSED.length)] ?? "";
    const end = (): void => {
      client.resumeFolders();
      this.parts.truth.ranOut.push({ client: client.name, ...this.parts.truth.now() });
    };
    this.keep(client.pauseFolder(path).then(() => this.later(PAUSED_LONGER * lastsMs, end)));
  }

  private later(lastsMs: number, undo: () => void): void {
    const once = (): void => {
      if (this.toUndo.delete(once)) undo();
    };
    this.toUndo.add(once);
    this.parts.clock.after(lastsMs, once);
  }

  private stopClient(client: SimulatedClient, losesPower: boolean, awayMs: number, done: { atMs: number }): void {
    const start = async (): Promise<void> => {
      if (this.parts.stopsInFlight) await this.inFlight(client);
      // Another fault may have stopped it.
      if (client.agent === undefined) return;
      if (client.hasInFlight) this.stopsInFlight += 1;
      done.atMs = this.parts.clock.bootMs();
      await client.kill(losesPower);
      if (losesPower) await sleep(this.parts.clock, awayMs);
      await this.started(() => client.start());
    };
    this.keep(start());
  }

  /** Resolves within milliseconds of something that a program did, if anything is done in the next seconds. */
  private async inFlight(client: SimulatedClient): Promise<void> {
    const { clock, random } = this.parts;
    const untilMs = clock.bootMs() + IN_FLIGHT_MS;
    while (!client.hasInFlight && clock.bootMs() < untilMs) await sleep(clock, LOOK_MS);
    await sleep(clock, random.below(LOOK_MS));
  }

  /** Whoever has lost both folder and data has a volume that was never served, for all that a server can know. */
  private takeFolder(lastsMs: number): void {
    const { server, random } = this.parts;
    if (server.disks.awaySinceMs !== undefined || server.hasLostData) return;
    this.later(lastsMs, server.disks.moveAway(FOLDER, random.coin()));
  }

  private loseData(lastsMs: number): void {
    const { server } = this.parts;
    if (!server.isRunning || server.disks.awaySinceMs !== undefined) return;
    this.stopServer(() => server.loseData());
    this.later(lastsMs, () => {
      // The first that ends brings it back, where several such times overlap.
      if (server.hasLostData) this.stopServer(() => server.findData());
    });
  }

  /** `how` stops it, if it runs. */
  private stopServer(how: () => void): void {
    const { server, clock, random } = this.parts;
    const isStarting = !server.isRunning;
    how();
    if (isStarting) return;
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
        if (!isRunnelError(error, "Unreachable", "Unavailable", "Busy", "NoSpace")) throw error;
      }
      await sleep(this.parts.clock, TRY_AGAIN_MS);
    }
  }

  private keep(starting: Promise<void>): void {
    // `restore` reports it.
    starting.catch(() => undefined);
    this.starting.push(starting);
  }
}
