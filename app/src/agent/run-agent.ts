// Lifecycle of an agent's process: one per home, found through agent.json and its socket, ended by a signal, by `stop`,
// or by itself when it has had nothing to do for a while. What an agent does is in agent.ts.
import {
  type CallSchemas,
  type CallServerSettings,
  type Clock,
  isRunnelError,
  RealClock,
  RunnelError,
  sleep,
  type Timer,
} from "@runnel/shared";
import { LocalPages, PageSessions } from "@runnel/shared/page";
import { parse } from "node:path";
import { fileURLToPath } from "node:url";
import { type Logger, pino } from "pino";
import { Agent, type AgentDeps } from "./agent.ts";
import { thisLineCost } from "./control/host/line-cost/this-line-cost.ts";
import type { Mount, MountSettings } from "./mount.ts";
import {
  AgentHome,
  type AgentLock,
  connectAgent,
  ControlServer,
  homeFolder,
  LogFile,
  prepareHome,
  systemFolders,
  takeLock,
  thisSystem,
} from "./control/index.ts";
import { pageTable } from "./page-table.ts";
import type { Happening } from "./view/mount-watch.ts";
import { AGENT_VERBS } from "../verbs/index.ts";
import type { AgentVerb } from "../verbs/verb.ts";

/** Time for a person to mount again without a new start, and for tests to leave nothing behind. */
const IDLE_MS = 60_000;
/** An agent that is ending holds the lock for at most so long. */
const LOCK_WAIT_MS = 10_000;
const LOCK_POLL_MS = 50;
/** Folder where the pages of the browser are built. */
const BUILT_FOLDER = fileURLToPath(new URL("../../ui/dist", import.meta.url));

export interface AgentEngines extends Pick<
  AgentDeps,
  | "carrier"
  | "checkLogins"
  | "disk"
  | "findByUrl"
  | "login"
  | "loginStart"
  | "logout"
  | "parsePredicate"
  | "servers"
  | "supplies"
> {
  openMount(settings: MountSettings, log: Logger, happened: (happening: Happening) => void): Promise<Mount>;
  /** Ends what the supplies do; they may be opened again. */
  closeSupplies(): Promise<void>;
}

export interface RunningAgent {
  socket: string;
  /** Resolves when all is unmounted and the next agent may start. */
  ended: Promise<void>;
  /** Unmounts all, also what programs use. */
  end(reason: string): Promise<void>;
}

interface AgentSettings {
  version: string;
  engines: AgentEngines;
  idleMs?: number;
  /** Folder of the built pages. */
  builtFolder?: string;
}

interface ProcessDeps extends AgentSettings {
  home: AgentHome;
  lock: AgentLock;
  clock: Clock;
  log: Logger;
}

/**
 * Starts the agent of a home. Resolves to undefined when another one runs there.
 * @throws RunnelError with a sentence when it cannot.
 */
export async function startAgent(settings: AgentSettings): Promise<RunningAgent | undefined> {
  const clock = new RealClock();
  const home = new AgentHome();
  await prepareHome(home);
  const lock = await waitForLock(home, clock, settings.version);
  if (lock === undefined) return undefined;
  const log = pino({ base: null }, new LogFile(home.logPath));
  try {
    const agent = new AgentProcess({ home, lock, clock, log, ...settings });
    await agent.listen();
    return agent;
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** The lock, or undefined when its holder answers. */
async function waitForLock(home: AgentHome, clock: Clock, version: string): Promise<AgentLock | undefined> {
  const untilMs = clock.bootMs() + LOCK_WAIT_MS;
  for (;;) {
    const lock = takeLock(home.lockPath);
    if (lock !== undefined) return lock;
    const socket = home.readRecord()?.socket;
    if (socket !== undefined && (await answers(socket, version, clock))) return undefined;
    if (clock.bootMs() > untilMs) {
      const sentence = `Another agent holds ${home.lockPath} and does not answer. End it, then try again.`;
      throw new RunnelError("Busy", "start the agent", sentence);
    }
    await sleep(clock, LOCK_POLL_MS);
  }
}

async function answers(socket: string, version: string, clock: Clock): Promise<boolean> {
  try {
    const client = await connectAgent(socket, {}, { version, clock, deadlineMs: LOCK_WAIT_MS });
    client?.close();
    return client !== undefined;
  } catch (error) {
    return isRunnelError(error, "Version");
  }
}

class AgentProcess implements RunningAgent {
  readonly ended: Promise<void>;
  socket = "";
  readonly #deps: ProcessDeps;
  readonly #agent: Agent;
  readonly #server: ControlServer;
  readonly #pages: LocalPages<void>;
  #idle: Timer | undefined;
  #ending: Promise<void> | undefined;
  #tellEnded: () => void = () => undefined;

  constructor(deps: ProcessDeps) {
    this.#deps = deps;
    this.ended = new Promise((done) => {
      this.#tellEnded = done;
    });
    const changed = (): void => this.#watchIdle();
    const { home, clock, log, version, engines, builtFolder = BUILT_FOLDER } = deps;
    const mountTable = thisSystem.mountTable(clock);
    const openMount: AgentDeps["openMount"] = (mount, happened) => engines.openMount(mount, log, happened);
    const openHistory: AgentDeps["openHistory"] = async () =>
      (await import("./view/history-store.ts")).openHistoryStore(home.historyPath);
    const host = { home, clock, log, mountTable, folders: systemFolders, lineCost: thisLineCost(clock) };
    // The server closes a connection only when its last answer is out, so that of `stop` still arrives.
    const stopped = (): void => void this.end("stop");
    const table: Record<string, CallSchemas & AgentVerb> = AGENT_VERBS;
    const handle: CallServerSettings["handle"] = async (verb, request, call) =>
      table[verb]?.handle(agent, request, call);
    const problem = (error: unknown): void => log.warn({ err: error }, "a page or its connection failed");
    const page = {
      command: "runnel ui",
      sessions: (openPages: () => void) => new PageSessions<void>(clock, openPages),
      version,
      clock,
      builtFolder,
      entryFolder: home.pageFolder,
      table: pageTable(table),
      handle,
      problem,
    };
    this.#pages = new LocalPages<void>(page, changed);
    const pages = this.#pages;
    const agent = new Agent({
      ...engines,
      ...host,
      pages,
      openMount,
      openHistory,
      version,
      changed,
      stopped,
    });
    this.#agent = agent;
    this.#server = new ControlServer({
      version,
      clock,
      table,
      handle,
      changed,
      problem: (error) => log.warn({ err: error }, "a control connection failed"),
    });
  }

  async listen(): Promise<void> {
    this.socket = this.#deps.home.socketPath();
    await this.#server.listen(this.socket);
    const started = new Date(Number(this.#deps.clock.wallNs() / 1_000_000n)).toISOString();
    this.#deps.home.writeRecord({ pid: process.pid, socket: this.socket, started, version: this.#deps.version });
    this.#deps.log.info({ pid: process.pid, version: this.#deps.version }, "agent started");
    this.#watchIdle();
  }

  async end(reason: string): Promise<void> {
    this.#ending ??= this.#end(reason);
    await this.#ending;
  }

  async #end(reason: string): Promise<void> {
    this.#idle?.cancel();
    this.#deps.log.info({ reason }, "agent ends");
    try {
      await this.#agent.close(true);
    } catch (error) {
      this.#deps.log.error({ err: error }, "a drive could not be unmounted");
    }
    await Promise.all([this.#server.close(), this.#pages.close(), this.#deps.engines.closeSupplies()]);
    await this.#agent.history.close();
    this.#deps.home.removeRecord();
    this.#deps.lock.release();
    this.#tellEnded();
  }

  #watchIdle(): void {
    this.#idle?.cancel();
    const isBusy = !this.#agent.isIdle || this.#server.connections > 0 || this.#pages.isOpen;
    if (this.#ending !== undefined || isBusy) return;
    this.#idle = this.#deps.clock.after(this.#deps.idleMs ?? IDLE_MS, () => void this.end("idle"));
  }
}

/** Prepares the process of an agent; to be called before it starts. */
export function settleProcess(): void {
  // They lead to agent.log: what a full disk has no space for is lost, and ends nothing.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  // It must not hold a folder that may become a mount point; a relative RUNNEL_HOME is meant from where it was.
  const home = homeFolder();
  process.env["RUNNEL_HOME"] = home;
  process.chdir(parse(home).root);
  // Files that it writes are for its user alone.
  process.umask(0o077);
}

/** Ends an agent at the first signal, and the process at the second. */
export function endOnSignals(agent: RunningAgent): void {
  let isAsked = false;
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    process.on(signal, () => {
      if (isAsked) process.exit(1);
      isAsked = true;
      void agent.end(signal);
    });
  }
}
