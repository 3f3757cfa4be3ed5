// One run: clients work, faults happen, then all is well again, and everybody must agree.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inlineExecutor } from "@runnel/native";
import { type DiskRoot, SeededRandom, SimulatedClock, SimulatedNetwork } from "@runnel/shared";
import type { MountStatus } from "@runnel/app/parts";
import { type Verdict, check } from "./checker.ts";
import { History } from "./history.ts";
import { SimulatedClient } from "./simulated-client.ts";
import { SimulatedServer } from "./simulated-server.ts";
import { keyOf } from "./truth.ts";
import { runProgram } from "./workload.ts";

export interface SimulationSettings {
  seed: number;
  clients?: number;
  programs?: number;
  /** How long programs work. */
  workMs?: number;
  faults?: boolean;
  termMs?: number;
  /** One way, of every line; else each has its own. */
  delayMs?: number;
}

export interface Report extends Verdict {
  seed: number;
  calls: number;
  commits: number;
  faults: string[];
  /** What agents and server noted down. */
  problems: string[];
  /** All that happened, line by line: equal for equal seeds. */
  trace: string;
}

const TERM_MS = 20_000;
const HEAL_MS = 240_000;
const PAUSE_MS = 400;

export async function simulate(settings: SimulationSettings): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), "runnel-simulation-"));
  const world = new World(settings, folder);
  try {
    return await world.run();
  } finally {
    world.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

class World {
  private readonly settings: SimulationSettings;
  private readonly clock = new SimulatedClock();
  private readonly random: SeededRandom;
  private readonly server: SimulatedServer;
  private readonly clients: SimulatedClient[];
  private readonly history: History;
  private readonly faults: string[] = [];
  private readonly executor = inlineExecutor();
  private readonly violations: string[] = [];
  private isOver = false;

  constructor(settings: SimulationSettings, folder: string) {
    this.settings = settings;
    const { clock } = this;
    this.random = new SeededRandom(settings.seed);
    const network = new SimulatedNetwork(clock, this.fork());
    this.server = new SimulatedServer(clock, network, settings.seed, settings.termMs ?? TERM_MS);
    const { truth } = this.server;
    this.history = new History(
      () => clock.bootMs(),
      () => truth.seq,
    );
    truth.now = () => ({ atMs: clock.bootMs(), step: this.history.step });
    this.clients = Array.from(
      { length: settings.clients ?? 2 },
      (_, index) => new SimulatedClient(clock, network, this.fork(), folder, `client${index}`, settings.delayMs),
    );
  }

  private fork(): SeededRandom {
    return new SeededRandom(this.random.below(2 ** 32));
  }

  async run(): Promise<Report> {
    const { settings, clients, history, executor } = this;
    await this.until(this.server.start(), "the server");
    for (const client of clients) await this.until(client.start(), client.name);
    const workMs = settings.workMs ?? 60_000;
    const endMs = this.clock.bootMs() + workMs;
    const isOver = (): boolean => this.isOver || this.clock.bootMs() >= endMs;
    const programs = clients.flatMap((client) =>
      Array.from({ length: settings.programs ?? 2 }, () =>
        runProgram({ client, history, random: this.fork(), executor, pauseMs: PAUSE_MS }, isOver),
      ),
    );
    const working = Promise.all(programs);
    if (settings.faults !== false) await this.harm(endMs);
    await this.until(working, "the programs", workMs + HEAL_MS);
    await this.heal();
    await this.agree();
    const verdict = check(history, this.server.truth);
    return {
      ...verdict,
      violations: [...this.violations, ...verdict.violations],
      seed: settings.seed,
      calls: history.calls.length,
      commits: this.server.truth.commits.length,
      faults: this.faults,
      problems: [
        ...this.server.warnings,
        ...this.clients.flatMap(({ name, problems }) => problems.map((each) => `${name}: ${each}`)),
      ],
      trace: this.trace(),
    };
  }

  end(): void {
    for (const client of this.clients) client.end();
    if (this.server.isRunning) this.server.crash();
  }

  /** Lets time pass until the promise settles. */
  private async until<T>(promise: Promise<T>, what: string, withinMs = HEAL_MS): Promise<T> {
    let isDone = false;
    const mark = (): void => {
      isDone = true;
    };
    promise.then(mark, mark);
    if (!(await this.clock.runUntil(() => isDone, withinMs))) throw new Error(`${what}: no end within ${withinMs} ms`);
    return promise;
  }

  private async harm(endMs: number): Promise<void> {
    const { random, clock } = this;
    while (clock.bootMs() < endMs) {
      await clock.advance(1 + random.below(8000));
      const client = this.clients[random.below(this.clients.length)];
      if (client === undefined) return;
      await this.one(random.below(7), client);
    }
  }

  /** Some last long, most do not: much of a run is to be within leases. */
  private async one(kind: number, client: SimulatedClient): Promise<void> {
    const { random, clock, server } = this;
    const lastsMs = random.below(random.coin(0.15) ? 60_000 : 4_000);
    const note = (what: string): void => void this.faults.push(`${Math.round(clock.bootMs())} ${client.name} ${what}`);
    const later = (undo: () => void): void => void clock.after(lastsMs, undo);
    if (kind === 0) {
      note("cut");
      client.line.cut();
    } else if (kind === 1 && !client.line.isBlackHole) {
      note(`black hole ${lastsMs}`);
      client.line.isBlackHole = true;
      later(() => (client.line.isBlackHole = false));
    } else if (kind === 2 && !client.line.isDown) {
      note(`no network ${lastsMs}`);
      client.line.isDown = true;
      client.line.cut();
      later(() => (client.line.isDown = false));
    } else if (kind === 3 && client.life !== undefined) {
      note("killed");
      client.kill();
      await this.again(client);
    } else if (kind === 4 && server.isRunning) {
      note("server loses its power");
      server.crash();
      await clock.advance(random.below(3000));
      await this.until(server.start(), "the server");
    } else if (kind === 5 && !client.machine.isSuspended) {
      note(`sleeps ${lastsMs}`);
      client.machine.suspend();
      const before = client.line.isBlackHole;
      client.line.isBlackHole = true;
      later(() => {
        client.line.isBlackHole = before;
        client.machine.resume();
      });
    } else if (kind === 6) {
      note("wall clock jumps");
      client.machine.jumpWall((random.next() - 0.5) * 7_200_000);
    }
  }

  private async again(client: SimulatedClient): Promise<void> {
    const start = async (): Promise<void> => {
      for (;;) {
        try {
          return await client.start();
        } catch (error) {
          if ((error as { kind?: string }).kind !== "Unreachable") throw error;
        }
        await new Promise<void>((resolve) => void this.clock.after(500, resolve));
      }
    };
    await this.until(start(), `${client.name} again`);
  }

  private async heal(): Promise<void> {
    const { clients, clock, server } = this;
    await clock.advance(60_000);
    for (const client of clients) {
      client.line.isBlackHole = client.line.isDown = false;
      if (client.machine.isSuspended) client.machine.resume();
    }
    for (let turn = 0; turn < HEAL_MS / 1000; turn++) {
      await clock.advance(1000);
      const states = await this.states();
      const isWell = states.every((state) => state?.state === "connected" && state.unsentFiles === 0);
      if (isWell && server.isSettled) return;
    }
    const states = await this.states();
    this.violations.push(
      `never at rest: ${states.map((state) => `${state?.state} ${state?.unsentFiles} unsent ${state?.problems.join(" ")}`).join(", ")}`,
    );
  }

  private states(): Promise<(MountStatus | undefined)[]> {
    return this.until(Promise.all(this.clients.map((client) => client.life?.mount.status(false))), "the status");
  }

  /** At rest all clients, the server's tree and the plain folder are the same. */
  private async agree(): Promise<void> {
    const trees = await this.until(
      Promise.all([
        this.server.folder().then((root) => this.plainTree(root, "")),
        ...this.clients.map((client) => this.driveTree(client, "")),
      ]),
      "the trees",
    );
    const [plain = []] = trees;
    const truth = this.truthTree("");
    for (const [index, tree] of [truth, ...trees.slice(1)].entries()) {
      if (tree.join("\n") === plain.join("\n")) continue;
      const whose = index === 0 ? "the server's tree" : `client${index - 1}`;
      const missing = plain.filter((line) => !tree.includes(line));
      const extra = tree.filter((line) => !plain.includes(line));
      this.violations.push(
        `at rest ${whose} differs from the plain folder: lacks ${missing.join(", ") || "nothing"}; has also ${extra.join(", ") || "nothing"}`,
      );
    }
  }

  private truthTree(path: string): string[] {
    const { truth } = this.server;
    return (truth.list(path, truth.seq) ?? []).flatMap((name) => {
      const below = path === "" ? name : `${path}/${name}`;
      const what = truth.at(below, truth.seq);
      return what === "folder" ? [`${below}/`, ...this.truthTree(below)] : [`${below} ${what}`];
    });
  }

  private async plainTree(root: DiskRoot, path: string): Promise<string[]> {
    const names: string[] = [];
    await root.list(path, (entries) => void names.push(...entries.flatMap(({ name }) => name ?? [])));
    const lines: string[] = [];
    for (const name of names.toSorted()) {
      if (name === ".runnel-store") continue;
      const below = path === "" ? name : `${path}/${name}`;
      if ((await root.stat(below)).type === "folder") {
        lines.push(`${below}/`, ...(await this.plainTree(root, below)));
        continue;
      }
      const file = await root.open(below, "read");
      const { sizeBytes } = await file.stat();
      lines.push(`${below} ${keyOf(await this.executor.chunkBytes(await file.read(0, sizeBytes)))}`);
      await file.close();
    }
    return lines;
  }

  private async driveTree(client: SimulatedClient, path: string): Promise<string[]> {
    const program = client.life?.kernel.program();
    if (program === undefined) return [];
    const lines: string[] = [];
    for (const name of (await program.readdir(path)).toSorted()) {
      const below = path === "" ? name : `${path}/${name}`;
      const { mode, sizeBytes } = await program.stat(below);
      if ((mode & 0o170000) === 0o040000) {
        lines.push(`${below}/`, ...(await this.driveTree(client, below)));
        continue;
      }
      const fd = await program.open(below, 0);
      const bytes = sizeBytes === 0 ? new Uint8Array() : await program.read(fd, 0, sizeBytes);
      await program.close(fd);
      lines.push(`${below} ${keyOf(await this.executor.chunkBytes(bytes))}`);
    }
    return lines;
  }

  private trace(): string {
    const calls = this.history.calls.map((call) => JSON.stringify(call));
    return [...this.faults, ...calls].join("\n");
  }
}
