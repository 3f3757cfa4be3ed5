// A recorded run: a server and clients as processes of their own, programs at work on real mounts, lines that fail and
// processes that are killed; then all is well again, everybody must agree, and what programs saw is held to the
// guarantee by the checker of the simulation.
import { readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SeededRandom } from "@runnel/shared";
import { type Verdict, check } from "../consistency/check/checker.ts";
import { type Call, folderOf, isChange } from "../consistency/check/history.ts";
import { isMadeAgain, starvedBy } from "../consistency/check/starvation.ts";
import type { Committed, Truth } from "../consistency/check/truth.ts";
import { Sandbox } from "../harness/sandbox.ts";
import { type DisturbanceSettings, Disturbances } from "./disturbances.ts";
import { type Note, readNotes, truthOf } from "./notes.ts";
import type { CallResult } from "./program.ts";
import { RecordedClient, startPrograms } from "./recorded-client.ts";
import { RecordedServer } from "./recorded-server.ts";
import { type Habit, News, Work } from "./work.ts";

export interface RecordSettings {
  seed: number;
  termSeconds: number;
  /** Round trips of the links, one for each client. */
  rttsMs: readonly number[];
  /** Programs of each client, by what they do. */
  programs: readonly Habit[];
  disturbances: DisturbanceSettings;
  /** Duration of the programs' work; with a mutant until it has been noticed. */
  lastsMs: number;
  /** While too few opens were close, or too few changes made, they work longer: at most so much. */
  untilMs?: number;
  mutant?: string | undefined;
  /** The first client acknowledges nothing: is anybody starved? */
  isFirstMute?: boolean;
}

export interface RecordedRun extends Verdict {
  seed: number;
  /** Time that "close" means here: the longest round trip of the links. */
  closeMs: number;
  calls: readonly Call[];
  commits: readonly Committed[];
  /** Commits that waited for acknowledgements. */
  waited: number;
  disturbances: readonly string[];
  /** Problems that agents and server named. */
  problems: readonly string[];
}

/** Fewer opens soon after another client's close, or fewer commits that waited, show nothing. */
export const LEAST = 100;
/** While a run goes on; what looks like that may not count. */
const ENOUGH = 1.4 * LEAST;
/** ENOENT, EEXIST, ENOTDIR, EISDIR: somebody else was first. */
const OF_NAMES: ReadonlySet<number> = new Set([2, 17, 20, 21]);
/** Interval at which somebody looks if a run is over. */
const LOOK_MS = 1_500;
const SETTLE_MS = 90_000;
const TREES_MS = 60_000;
const SANDBOX_MS = 900_000;

/** Describes a run for a person who has to find out what was wrong; all of it is kept, since it cannot be repeated. */
export function wordsOf(run: RecordedRun): string {
  const { seed, violations, disturbances, problems } = run;
  const path = join(tmpdir(), `runnel-recorded-${seed}-${Date.now()}.json`);
  writeFileSync(path, JSON.stringify(run));
  return [`seed ${seed}, all of it in ${path}`, ...violations, ...disturbances, ...problems.slice(-20)].join("\n");
}

/** Says what a run was worth. */
export function worthOf({ seed, calls, commits, checked, close, closeMs, waited, offline }: RecordedRun): string {
  return (
    `seed ${seed}: ${calls.length} calls, ${commits.length} commits, ${checked} looks held to the guarantee; ${close} opens began within one round trip ` +
    `(${closeMs} ms) after another client's close, ${waited} commits waited for acknowledgements; ${offline} answers offline`
  );
}

export async function record(settings: RecordSettings): Promise<RecordedRun> {
  const sandbox = new Sandbox(SANDBOX_MS);
  try {
    return await new Recording(sandbox, settings).run();
  } finally {
    await sandbox.cleanup();
  }
}

class Recording {
  private readonly sandbox: Sandbox;
  private readonly settings: RecordSettings;
  private readonly random: SeededRandom;
  private readonly server: RecordedServer;
  private clients: RecordedClient[] = [];
  private readonly calls: Call[] = [];
  private readonly closeMs: number;
  /** Differences when all is well again. */
  private readonly atRest: string[] = [];

  constructor(sandbox: Sandbox, settings: RecordSettings) {
    this.sandbox = sandbox;
    this.settings = settings;
    this.random = new SeededRandom(settings.seed);
    this.server = new RecordedServer(sandbox, settings);
    this.closeMs = Math.max(...settings.rttsMs);
  }

  async run(): Promise<RecordedRun> {
    const { server, settings } = this;
    await server.start();
    this.clients = await Promise.all(settings.rttsMs.map((rttMs, index) => this.client(rttMs, index)));
    const disturbances = new Disturbances(server, this.clients, this.fork(), settings.disturbances);
    const isOver = this.clock();
    await Promise.all([this.work(isOver), disturbances.until(isOver)]);
    // A mutant may never come to rest.
    if (settings.mutant === undefined) await this.rest();
    server.note();
    const truth = this.truth();
    return {
      ...this.verdict(truth),
      seed: settings.seed,
      closeMs: this.closeMs,
      calls: this.calls,
      commits: truth.commits,
      waited: readNotes(server.notes).filter((note) => "waits" in note).length,
      disturbances: disturbances.log,
      problems: [...server.warnings, ...this.clients.flatMap((client) => logOf(client))],
    };
  }

  private verdict(truth: Truth): Verdict {
    const { calls, settings } = this;
    this.place(truth);
    const termMs = settings.termSeconds * 1000;
    const verdict = check(calls, truth, { closeMs: this.closeMs, termMs });
    const starved = settings.isFirstMute === true ? starvedBy("client0", calls, termMs) : [];
    const overdue = this.clients.flatMap((client) => client.overdue);
    return {
      ...verdict,
      violations: [...this.atRest, ...overdue, ...this.unexpected(), ...starved, ...verdict.violations],
    };
  }

  /** While nothing fails, programs hear of nothing but names. */
  private unexpected(): string[] {
    const { disturbances, mutant, isFirstMute } = this.settings;
    // A client that never acknowledges is sent away now and then.
    if (disturbances.kinds.length > 0 || mutant !== undefined || isFirstMute === true) return [];
    return this.calls.flatMap(({ client, kind, path, errno, beganMs }) =>
      errno === undefined || OF_NAMES.has(errno) || isMadeAgain({ kind, errno })
        ? []
        : [`for no reason: ${client} ${kind} ${path} [${beganMs}] failed with errno ${errno}`],
    );
  }

  private async client(rttMs: number, index: number): Promise<RecordedClient> {
    const { sandbox, settings, calls } = this;
    const link = await sandbox.startEmulator(this.server.port, { rttMs });
    const isMute = settings.isFirstMute === true && index === 0;
    const client = new RecordedClient(sandbox, `client${index}`, { link, calls, mutant: settings.mutant, isMute });
    await client.start();
    return client;
  }

  private fork(): SeededRandom {
    return new SeededRandom(this.random.below(2 ** 32));
  }

  private clock(): () => boolean {
    const { lastsMs, untilMs = lastsMs, mutant } = this.settings;
    const beganMs = performance.now();
    let nextMs = 0;
    let isOver = false;
    return () => {
      const forMs = performance.now() - beganMs;
      if (isOver || forMs < nextMs) return isOver;
      nextMs = forMs + LOOK_MS;
      const isCaught = mutant !== undefined && this.verdict(this.truth()).violations.length > 0;
      isOver = isCaught || forMs > untilMs || (forMs > lastsMs && this.hasEnough());
      return isOver;
    };
  }

  /** Estimates if the run has enough: what counts is known at the end. */
  private hasEnough(): boolean {
    const changes = this.calls.filter(({ kind, outcome }) => isChange(kind) && outcome === "ok");
    if (changes.length < ENOUGH) return false;
    const isClose = (call: Call): boolean =>
      changes.some(
        ({ client, endedMs, path, toPath = path }) =>
          client !== call.client &&
          endedMs < call.beganMs &&
          call.beganMs - endedMs < this.closeMs &&
          [path, toPath].some((changed) => changed === call.path || folderOf(changed) === call.path),
      );
    return this.calls.filter((call) => !isChange(call.kind) && call.outcome === "ok" && isClose(call)).length >= ENOUGH;
  }

  private async work(isOver: () => boolean): Promise<void> {
    const { programs } = this.settings;
    const news = new News();
    const works = this.clients.flatMap((client) =>
      programs.map((habit, index) => new Work(client, `${client.name}-${index}`, news, this.fork(), habit)),
    );
    await Promise.all(works.map((work) => work.until(isOver)));
  }

  /** All is sent, and all clients, the server's tree and the plain folder are the same. */
  private async rest(): Promise<void> {
    const { server, clients } = this;
    for (const client of clients) await client.settle(SETTLE_MS);
    const names = ["the plain folder", "the server's tree", ...clients.map(({ name }) => name)];
    const trees = await Promise.all([
      this.treeOf(server.served),
      this.truth().tree(),
      ...clients.map((client) => client.tree()),
    ]);
    const [plain = []] = trees;
    for (const [index, tree] of trees.entries()) {
      const missing = plain.filter((line) => !tree.includes(line));
      const extra = tree.filter((line) => !plain.includes(line));
      if (missing.length + extra.length === 0) continue;
      this.atRest.push(
        `at rest ${names[index]} differs from the plain folder: lacks ${missing.join(", ") || "nothing"}; has also ${extra.join(", ") || "nothing"}`,
      );
    }
  }

  private async treeOf(folder: string): Promise<string[]> {
    const { promise, resolve, reject } = Promise.withResolvers<CallResult>();
    const programs = startPrograms(this.sandbox, folder, resolve);
    const late = setTimeout(() => reject(new Error("The plain folder cannot be read.")), TREES_MS);
    programs.stdin.write(`${JSON.stringify({ id: 1, kind: "tree", path: "" })}\n`);
    const { names = [] } = await promise;
    clearTimeout(late);
    programs.stdin.end();
    return names;
  }

  private truth(): Truth {
    const owners = new Map<string, string>();
    for (const { name, notes } of this.clients)
      for (const note of readNotes(notes)) if ("instance" in note) owners.set(note.instance, name);
    return truthOf(readNotes(this.server.notes), (instance) => owners.get(instance) ?? "");
  }

  /** Places each call among the commits, and finds out if it was answered offline. */
  private place(truth: Truth): void {
    const offline = new Map(this.clients.map(({ name, notes }) => [name, readNotes(notes).filter(isOffline)]));
    for (const call of this.calls) {
      const { began, ended } = call;
      call.firstSeq = truth.commits.findLast(({ atMs }) => atMs <= began)?.seq ?? 0;
      if (ended !== Infinity) call.lastSeq = truth.commits.findLast(({ atMs }) => atMs <= ended)?.seq ?? 0;
      call.wasOffline = offline.get(call.client)?.some(({ atMs }) => atMs >= began && atMs <= ended) === true;
    }
  }
}

function isOffline(note: Note): boolean {
  return "offline" in note;
}

function logOf(client: RecordedClient): string[] {
  const lines = readFileSync(client.device.logPath, "utf8").trimEnd().split("\n");
  return lines.map((line) => `${client.name}: ${line}`);
}
