// Runnel as a person starts it: the launcher, its verbs, their --json answers. Knows nothing of what is inside.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type RunOptions, type RunResult, mustRun, run } from "./run.ts";
import { captureOutput } from "./captured-output.ts";
import { Control, type Json } from "./control.ts";
import { waitFor } from "./wait.ts";

export const LAUNCHER = fileURLToPath(new URL("../../../app/bin/runnel.mjs", import.meta.url));

/** Variables for the environment of what is to be stalled. */
export const STALL_ON_SIGNAL = {
  NODE_OPTIONS: `--import=${fileURLToPath(new URL("stall-on-signal.mjs", import.meta.url))}`,
};

const READY_MS = 30_000;

export interface ServeOptions {
  /** Name → folder that is served. */
  volumes: Record<string, string>;
  /** Folder where the server keeps its own state. */
  data: string;
  listen?: string;
  /** A folder that was never served is looked through first. */
  readyMs?: number;
  /** Seconds. */
  leaseTerm?: number;
  /** Further options, as typed. */
  args?: readonly string[];
  env: NodeJS.ProcessEnv;
}

/** A running `runnel serve`. */
export class ServerProcess {
  readonly child: ChildProcess;
  readonly options: ServeOptions;
  /** ws://HOST:PORT or wss://HOST:PORT */
  readonly url: string;
  /** Fingerprint of its key; undefined with plain ws. */
  readonly fingerprint: string | undefined;
  /** Address of its console, and the link that sets it up; undefined with plain ws. */
  readonly console: { url: string; setUpLink: string | null } | undefined;
  readonly #stderr: string[];

  constructor(
    child: ChildProcess,
    options: ServeOptions,
    said: { url: string; fingerprint?: string; console?: { url: string; setUpLink: string | null } },
    stderr: string[],
  ) {
    this.child = child;
    this.options = options;
    this.url = said.url;
    this.fingerprint = said.fingerprint;
    this.console = said.console;
    this.#stderr = stderr;
    captureOutput(() => named(`runnel serve, ${this.url}`, this.stderr));
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** Everything that it has said on stderr so far. */
  get stderr(): string {
    return this.#stderr.join("");
  }

  /** Resolves when it has gone, whoever ended it. */
  get ended(): Promise<void> {
    if (this.hasEnded) return Promise.resolve();
    return once(this.child, "exit").then(() => undefined);
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** Ends it as a crash does; resolves when it has gone. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** Ends it as Ctrl-C does; resolves with its exit code. */
  async stop(): Promise<number | null> {
    await this.#end("SIGINT");
    return this.child.exitCode;
  }

  /** Stops it as a debugger does: it is there, and does nothing. */
  pause(): void {
    this.child.kill("SIGSTOP");
  }

  goOn(): void {
    this.child.kill("SIGCONT");
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (this.hasEnded) return;
    const { ended } = this;
    this.child.kill(signal);
    await ended;
  }
}

/** Starts `runnel serve` and waits until it says that it is ready. */
export async function serve(options: ServeOptions): Promise<ServerProcess> {
  const volumes = Object.entries(options.volumes).flatMap(([name, folder]) => ["--volume", `${name}=${folder}`]);
  const args = [
    LAUNCHER,
    "serve",
    ...volumes,
    "--listen",
    options.listen ?? "127.0.0.1:0",
    "--data",
    options.data,
    ...(options.leaseTerm === undefined ? [] : ["--lease-term", String(options.leaseTerm)]),
    ...(options.args ?? []),
    "--json",
  ];
  const child = spawn(process.execPath, args, { cwd: "/", env: options.env, stdio: ["ignore", "pipe", "pipe"] });
  const stderr: string[] = [];
  child.stderr.on("data", (bytes: Buffer) => stderr.push(bytes.toString()));
  let firstLine: string | undefined;
  createInterface({ input: child.stdout }).on("line", (line) => (firstLine ??= line));
  try {
    const ready = await waitFor(
      () => {
        if (child.exitCode !== null || child.signalCode !== null) throw new Error("It ended.");
        return firstLine;
      },
      options.readyMs ?? READY_MS,
      "the server's first line",
    );
    const said = JSON.parse(ready) as ConstructorParameters<typeof ServerProcess>[2];
    if (typeof said.url !== "string") throw new Error(`No url in: ${ready}`);
    return new ServerProcess(child, options, said, stderr);
  } catch (error) {
    child.kill("SIGKILL");
    throw new Error(`runnel serve did not start. ${(error as Error).message}\n${stderr.join("")}`, { cause: error });
  }
}

/** The machine of one user: an agent's state (RUNNEL_HOME) and the commands that a person gives there. */
export class Device {
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;

  constructor(home: string, env: NodeJS.ProcessEnv) {
    this.home = home;
    this.env = { ...env, RUNNEL_HOME: home };
    captureOutput(() => named(this.logPath, existsSync(this.logPath) ? readFileSync(this.logPath, "utf8") : ""));
  }

  get logPath(): string {
    return join(this.home, "agent.log");
  }

  /** Any command line, as typed. */
  runnel(args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
    return run(process.execPath, [LAUNCHER, ...args], { env: this.env, ...options });
  }

  /** A verb with --json; throws with its words when it fails. */
  async ask(args: readonly string[], options: RunOptions = {}): Promise<Json> {
    const full = [LAUNCHER, ...args, "--json"];
    const { stdout } = await mustRun(process.execPath, full, { env: this.env, ...options });
    return JSON.parse(stdout) as Json;
  }

  /** Returns when the drive is usable. */
  mount(url: string, mountpoint: string, args: readonly string[] = []): Promise<Json> {
    return this.ask(["mount", url, mountpoint, ...args], { deadlineMs: READY_MS });
  }

  unmount(mountpoint: string): Promise<Json> {
    return this.ask(["unmount", mountpoint]);
  }

  /** Returns when all that was written is durable on the server; with `up`, when its plain files show it. */
  flush(mountpoint: string, options: { up?: boolean; deadlineMs?: number } = {}): Promise<Json> {
    const { up: applied = false, deadlineMs = 60_000 } = options;
    const args = ["flush", mountpoint, ...(applied ? ["--applied"] : [])];
    return this.#askRunning({ verb: "flush", mountpoint, applied }, args, deadlineMs);
  }

  stats(mountpoint?: string, options: { reset?: boolean } = {}): Promise<Json> {
    const { reset = false } = options;
    const args = ["stats", ...(mountpoint === undefined ? [] : [mountpoint]), ...(reset ? ["--reset"] : [])];
    return this.#askRunning({ verb: "stats", mountpoint, reset }, args);
  }

  status(): Promise<Json> {
    return this.#askRunning({ verb: "status", asksServer: true }, ["status"]);
  }

  /**
   * Asks an agent that runs over its control socket, which spares the start of a program: tests ask thousands of times.
   * The command, which says the same, is run where no agent answers.
   */
  async #askRunning(request: Json, args: readonly string[], deadlineMs = 20_000): Promise<Json> {
    const control = await Control.of(this).catch(() => undefined);
    if (control === undefined) return this.ask(args, { deadlineMs });
    try {
      return await control.ask(request, { deadlineMs });
    } finally {
      control.close();
    }
  }

  /** The agent's ledger since its first drive. */
  savings(...options: string[]): Promise<Json> {
    return this.ask(["savings", ...options]);
  }

  activity(): Promise<Json> {
    return this.ask(["activity"]);
  }

  /** The agent's process, as it has written it down. */
  agentPid(): number {
    const { pid } = JSON.parse(readFileSync(join(this.home, "agent.json"), "utf8")) as { pid?: unknown };
    if (!Number.isSafeInteger(pid)) throw new Error(`No pid in agent.json of ${this.home}`);
    return pid as number;
  }

  /** Makes its event loop stand still for five seconds; only in an agent that was started with STALL_ON_SIGNAL. */
  stallAgent(): void {
    process.kill(this.agentPid(), "SIGUSR2");
  }

  /** Ends the agent as a crash does. Its mount stays, dead, until the next mount or the sweep. */
  async killAgent(): Promise<void> {
    const pid = this.agentPid();
    process.kill(pid, "SIGKILL");
    await waitFor(() => !isAlive(pid), 5000, "the agent to end");
  }
}

/** False also for a zombie, which has ended and waits to be noticed. */
export function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
  } catch {
    return false;
  }
}

function named(name: string, text: string): string {
  return text === "" ? "" : `${name}:\n${text}`;
}
