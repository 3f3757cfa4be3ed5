// Runs a plan: clients work, faults happen, then all is well again, and everybody must agree.
import { constants, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { inlineExecutor } from "@runnel/native";
import type { Program } from "@runnel/native/drive";
import { type DiskRoot, SeededRandom, SimulatedClock, SimulatedNetwork, type VersionId } from "@runnel/shared";
import type { MountStatus } from "@runnel/app/internals";
import { type Verdict, check } from "./check/checker.ts";
import { LocalNetwork } from "./colleagues/local-network.ts";
import { HostileSource } from "./hostile-source.ts";
import { givenUp, starvedBy } from "./check/starvation.ts";
import { Faults } from "./faults.ts";
import { type Call, History } from "./check/history.ts";
import { type Resting, pathsSince } from "./check/durability.ts";
import { memoryFolder } from "./memory-folder.ts";
import { Outside } from "./outside.ts";
import type { Plan, Step } from "./plan.ts";
import { SimulatedClient } from "./simulated-client.ts";
import { FOLDER } from "../simulation/serve-folder.ts";
import { SimulatedServer } from "./simulated-server.ts";
import { UNKNOWN, keyOf } from "./check/truth.ts";
import { runProgram } from "./workload.ts";

export interface Report extends Verdict {
  seed: number;
  calls: number;
  commits: number;
  faults: string[];
  /** Commits that waited for acknowledgements. */
  waited: number;
  /** Write leases granted while another client had one. */
  heldApart: number;
  /** Kills and power cuts of clients that had something on its way to the server. */
  stopsInFlight: number;
  /** Names, attributes and pages that kernels answered by themselves. */
  fromKernels: number;
  /** Bytes that clients had from each other. */
  fromColleagues: number;
  /** Problems that agents and server noted down, and what status says of them at rest. */
  problems: string[];
  /** All that happened, line by line: equal for equal seeds. */
  trace: string;
}

/** Time that counts as "within one round trip". */
const CLOSE_MS = 150;
/** A source of chance of its own, that other seeds stay what they are. */
const HOSTILE_SEED = 0x61c88647;
const CHANCE_SEED = 0x7feb352d;
const LOCAL_SEED = 0x165667b1;
/** Longer than all that an agent waits for before it tries again. */
const REPAIR_MS = 240_000;

export async function simulate(plan: Plan): Promise<Report> {
  const folder = mkdtempSync(join(memoryFolder(), "runnel-simulation-"));
  // Colleagues choose by chance whom they ask.
  const chance = new SeededRandom(plan.seed ^ CHANCE_SEED);
  const { random } = Math;
  Math.random = () => chance.below(2 ** 31) / 2 ** 31;
  const world = new World(plan, folder);
  try {
    return await world.run();
  } finally {
    world.end();
    Math.random = random;
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Lists what is said of edits whose base nobody has any more: a power cut took it from the client's cache, and a full
 * disk or another's removal from the server. They are kept, and said so.
 */
function hopelessIn({ problems }: MountStatus): string[] {
  return problems.filter((problem) => /is not saved.*(no longer here|was destroyed)/.test(problem));
}

class World {
  private readonly plan: Plan;
  private readonly clock = new SimulatedClock();
  private readonly random: SeededRandom;
  private readonly server: SimulatedServer;
  private readonly clients: SimulatedClient[];
  private readonly history: History;
  private readonly faults: Faults;
  private readonly outside: Outside;
  private readonly executor = inlineExecutor();
  private readonly violations: string[] = [];

  constructor(plan: Plan, folder: string) {
    this.plan = plan;
    const { clock } = this;
    this.random = new SeededRandom(plan.seed);
    const network = new SimulatedNetwork(clock, this.fork());
    const local =
      plan.colleagues === undefined ? undefined : new LocalNetwork(clock, new SeededRandom(plan.seed ^ LOCAL_SEED));
    this.server = new SimulatedServer(clock, network, plan.seed, plan.termMs);
    const { server } = this;
    this.history = new History(
      () => clock.bootMs(),
      () => server.truth.seq,
    );
    server.truth.now = () => ({ atMs: clock.bootMs(), step: this.history.step });
    this.clients = plan.clients.map((line, index) => {
      const losesPower = plan.faults.some(({ kind, client }) => kind === "powerCut" && client === index);
      const isAsync = plan.isAsync === true;
      const hostile = new SeededRandom(plan.seed ^ HOSTILE_SEED ^ index);
      const source = (): HostileSource =>
        new HostileSource({
          clock,
          random: hostile,
          mayRot: hostile.coin(0.8),
          bytesOf: (version) => server.bytesOf(version),
        });
      const { colleagues } = plan;
      const others =
        colleagues === undefined || local === undefined
          ? { source }
          : {
              colleagues: {
                network: local,
                ...(colleagues.hostile.includes(index)
                  ? {
                      hostile: {
                        random: hostile,
                        lies: colleagues.lies,
                        bytesOf: (version: VersionId) => server.bytesOf(version),
                      },
                    }
                  : {}),
              },
            };
      const parts = { clock, network, random: this.fork(), line, losesPower, isAsync, ...others };
      return new SimulatedClient(`client${index}`, folder, parts);
    });
    const { serverDiskMs = 0 } = plan;
    const slowness = this.fork();
    if (serverDiskMs > 0) for (const disk of server.disks.both) disk.delayMs = () => slowness.below(serverDiskMs);
    const stopsInFlight = plan.stopsInFlight === true;
    const { clients } = this;
    this.faults = new Faults({ clock, random: this.fork(), clients, server, truth: server.truth, stopsInFlight });
    this.outside = new Outside({
      clock,
      random: this.fork(),
      disk: server.disks.served,
      folder: FOLDER,
      history: this.history,
      executor: this.executor,
      isRunning: () => server.isRunning,
    });
  }

  private fork(): SeededRandom {
    return new SeededRandom(this.random.below(2 ** 32));
  }

  async run(): Promise<Report> {
    const { plan, clients, history } = this;
    await this.until(this.server.start(), "the server");
    for (const client of clients) await this.until(client.start(), client.name);
    const outside = this.outside.all(plan.outside ?? []);
    await this.until(Promise.all([this.work(), this.faults.all(plan.faults), outside]), "the programs", 2 * REPAIR_MS);
    await this.restore();
    await this.agree();
    const resting = await this.until(this.resting(), "what lies where");
    const followsUnsent = plan.followsUnsent === true;
    const kept = { outside: this.outside.writes, resting, followsUnsent };
    const times = { closeMs: CLOSE_MS, termMs: plan.termMs, isAsync: plan.isAsync === true };
    const verdict = check(history.calls, this.server.truth, times, kept);
    return {
      ...verdict,
      violations: [...this.violations, ...this.server.nowhere, ...this.starved(), ...verdict.violations],
      seed: plan.seed,
      calls: history.calls.length,
      commits: this.server.truth.commits.length,
      faults: [...this.faults.log, ...this.outside.log].toSorted((a, b) => Number.parseInt(a) - Number.parseInt(b)),
      problems: [
        ...this.server.warnings,
        ...this.clients.flatMap(({ name, problems }) => problems.map((each) => `${name}: ${each}`)),
        ...[...resting.unsent].flatMap(([name, said]) => (said === "" ? [] : [`${name} at rest: ${said}`])),
      ],
      waited: this.server.waited,
      heldApart: this.server.heldApart,
      stopsInFlight: this.faults.stopsInFlight,
      fromKernels: this.clients.reduce((sum, { fromKernel }) => sum + fromKernel, 0),
      fromColleagues: this.clients.reduce((sum, each) => sum + each.fromColleagues, 0),
      trace: this.trace(),
    };
  }

  private starved(): string[] {
    const { faults, termMs } = this.plan;
    const [only] = faults;
    const isWell = faults.length === 0 || (only?.kind === "slowAgent" && faults.length === 1);
    if (isWell && this.plan.outside === undefined) return givenUp(this.history.calls);
    if (only?.kind !== "noAcks" || faults.length > 1) return [];
    return starvedBy(`client${only.client}`, this.history.calls, termMs);
  }

  private async work(): Promise<void> {
    const { plan, history, executor, clients } = this;
    const programs = new Map<string, Step[]>();
    for (const step of plan.steps) {
      const key = `${step.client} ${step.program}`;
      programs.set(key, [...(programs.get(key) ?? []), step]);
    }
    const beginMs = this.clock.bootMs();
    await Promise.all(
      [...programs.values()].map(async (steps) => {
        const client = clients[steps[0]?.client ?? 0];
        if (client !== undefined) await runProgram({ client, history, executor, seed: plan.seed, beginMs }, steps);
      }),
    );
  }

  end(): void {
    for (const client of this.clients) client.end();
    if (this.server.isRunning) this.server.crash();
  }

  /** Lets time pass until the promise settles. */
  private async until<T>(promise: Promise<T>, what: string, withinMs = REPAIR_MS): Promise<T> {
    let isDone = false;
    const mark = (): void => {
      isDone = true;
    };
    promise.then(mark, mark);
    if (!(await this.clock.runUntil(() => isDone, withinMs))) throw new Error(`${what}: no end within ${withinMs} ms`);
    return promise;
  }

  private async restore(): Promise<void> {
    const { clock, server } = this;
    await this.until(this.faults.restore(), "everybody again");
    for (let turn = 0, well = 0; turn < REPAIR_MS / 1000; turn++) {
      await clock.advance(1000);
      const states = await this.states();
      const isWell = states.every(
        (state) =>
          state?.state === "connected" && state.unsentFiles <= hopelessIn(state).length && state.unsentNames === 0,
      );
      well = isWell && server.isSettled ? well + 1 : 0;
      // Everything that is held back for a moment has come by then.
      if (well >= 3) return;
    }
    const states = await this.states();
    this.violations.push(
      `never at rest: ${states.map((state) => `${state?.state} ${state?.unsentFiles} and ${state?.unsentNames} unsent ${state?.problems.join(" ")}`).join(", ")}`,
    );
  }

  private states(): Promise<(MountStatus | undefined)[]> {
    return this.until(Promise.all(this.clients.map((client) => client.agent?.mount.status(false))), "the status");
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
    const truth = this.server.truth.tree();
    for (const [index, tree] of [truth, ...trees.slice(1)].entries()) {
      if (tree.join("\n") === plain.join("\n") || isAlike(tree, plain)) continue;
      const whose = index === 0 ? "the server's tree" : `client${index - 1}`;
      const missing = plain.filter((line) => !tree.includes(line));
      const extra = tree.filter((line) => !plain.includes(line));
      this.violations.push(
        `at rest ${whose} differs from the plain folder: lacks ${missing.join(", ") || "nothing"}; has also ${extra.join(", ") || "nothing"}`,
      );
    }
  }

  private async resting(): Promise<Resting> {
    const contents = await this.keysBelow(await this.server.folder(), "");
    for (const bytes of this.server.disks.dropped) contents.push(keyOf(await this.executor.chunkBytes(bytes)));
    const notices = await this.server.notices();
    const states = await this.states();
    const { clients } = this;
    const { calls } = this.history;
    const lost = new Set(notices.flatMap((notice) => (notice.kind === "lost" ? [notice.node] : [])));
    return {
      contents: new Set(contents),
      isNamedLost: ({ client, atMs }, node) => lost.has(node) && this.faults.hasHurt(client, atMs),
      isRefused: (call) => this.isRefused(call),
      isHopeless: (call) => {
        const state = states[clients.findIndex(({ name }) => name === call.client)];
        const paths = pathsSince(call, calls);
        const said = state === undefined ? [] : hopelessIn(state);
        return call.kind === "write" && said.some((each) => paths.has(each.slice(0, each.indexOf(" is not saved"))));
      },
      unsent: new Map(this.clients.map(({ name }, index) => [name, states[index]?.problems.join("\n") ?? ""])),
    };
  }

  private isRefused(call: Call): boolean {
    const { clients, faults } = this;
    const { client, path, toPath = path, beganMs, endedMs } = call;
    const refusals = [
      `The file ${path.slice(path.lastIndexOf("/") + 1)} could not be created`,
      `${path} could not be `,
      `${toPath} could not be linked`,
    ];
    const isTold = clients.some(
      ({ name, problems }) =>
        name === client && problems.some((said) => refusals.some((refusal) => said.includes(refusal))),
    );
    return (
      isTold ||
      faults.hasStopped(client, call) ||
      faults.full.some((each) => each.client === client && each.fromMs <= endedMs && each.untilMs >= beganMs)
    );
  }

  /** Reads the keys of all files, old versions and what else the server keeps with it. */
  private async keysBelow(root: DiskRoot, path: string): Promise<string[]> {
    const keys: string[] = [];
    for (const name of await namesIn(root, path)) {
      const below = path === "" ? name : `${path}/${name}`;
      const { type } = await root.stat(below);
      if (type === "folder") keys.push(...(await this.keysBelow(root, below)));
      else if (type === "file") keys.push(await this.keyAt(root, below));
    }
    return keys;
  }

  private async keyAt(root: DiskRoot, path: string): Promise<string> {
    const file = await root.open(path, "read");
    const { sizeBytes } = await file.stat();
    const key = keyOf(await this.executor.chunkBytes(await file.read(0, sizeBytes)));
    await file.close();
    return key;
  }

  private async plainTree(root: DiskRoot, path: string): Promise<string[]> {
    const lines: string[] = [];
    for (const name of await namesIn(root, path)) {
      if (name === ".runnel-store") continue;
      const below = path === "" ? name : `${path}/${name}`;
      if ((await root.stat(below)).type === "folder") {
        lines.push(`${below}/`, ...(await this.plainTree(root, below)));
        continue;
      }
      lines.push(`${below} ${await this.keyAt(root, below)}`);
    }
    return lines;
  }

  private async driveTree(client: SimulatedClient, path: string): Promise<string[]> {
    const program = client.agent?.kernel.program();
    if (program === undefined) return [];
    const lines: string[] = [];
    for (const name of (await program.readdir(path)).toSorted()) {
      const below = path === "" ? name : `${path}/${name}`;
      const { mode, sizeBytes } = await program.stat(below);
      if ((mode & 0o170000) === 0o040000) {
        lines.push(`${below}/`, ...(await this.driveTree(client, below)));
        continue;
      }
      lines.push(`${below} ${await this.driveContent(program, below, sizeBytes)}`);
    }
    return lines;
  }

  private async driveContent(program: Program, path: string, sizeBytes: number): Promise<string> {
    try {
      const fd = await program.open(path, constants.O_RDONLY);
      const parts: Uint8Array[] = [];
      for (let at = 0; at < sizeBytes;) {
        // A call may bring less than it asked for.
        const part = await program.read(fd, at, sizeBytes - at);
        if (part.length === 0) break;
        parts.push(part);
        at += part.length;
      }
      await program.close(fd);
      return keyOf(await this.executor.chunkBytes(Buffer.concat(parts)));
    } catch (error) {
      return error instanceof Error ? error.message : "cannot be read";
    }
  }

  private trace(): string {
    const calls = this.history.calls.map((call) => JSON.stringify(call));
    return [...this.faults.log, ...this.outside.log, ...calls].join("\n");
  }
}

async function namesIn(root: DiskRoot, path: string): Promise<string[]> {
  const names: string[] = [];
  await root.list(path, (entries) => void names.push(...entries.flatMap(({ name }) => name ?? [])));
  return names.toSorted();
}

/** But for contents that the server does not know yet. */
function isAlike(tree: readonly string[], plain: readonly string[]): boolean {
  return (
    tree.length === plain.length &&
    tree.every(
      (line, index) =>
        line === plain[index] || (line.endsWith(` ${UNKNOWN}`) && plain[index]?.startsWith(line.slice(0, -1))),
    )
  );
}
