// A machine with Windows, as far as Wine is one: the installed folder, its command line, its agent, and programs on its
// drives, whose kernel is the stand-in for WinFsp.
import { spawn } from "node:child_process";
import { closeSync, copyFileSync, existsSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { WindowsProgram } from "@runnel/native/test/support/windows-program.ts";
import { buildWinFspStandIn } from "@runnel/native/test/support/winfsp-stand-in.ts";
import { bundleForWindows } from "../../../scripts/bundle-windows.mjs";
import { Wine } from "../../../scripts/wine.mjs";
import { captureOutput } from "../harness/captured-output.ts";
import { markedProcesses } from "../harness/cleanup/sweep.ts";
import type { Json } from "../harness/control.ts";
import type { Sandbox } from "../harness/index.ts";
import { isAlive } from "../harness/product.ts";
import { killGroup } from "../harness/run.ts";
import { waitFor } from "../harness/wait.ts";
import { RemoteStandIn } from "./remote-stand-in.ts";

const PROGRAMS = fileURLToPath(new URL("programs.mjs", import.meta.url));
/** A busy machine needs a while to start Node under Wine. */
const COMMAND_MS = 120_000;

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** The path as Windows has it. */
export function onWindows(path: string): string {
  return `Z:${path.replaceAll("/", "\\")}`;
}

export class WindowsMachine {
  /** Folder of the agent's state. */
  readonly home: string;
  readonly #sandbox: Sandbox;
  readonly #wine: Wine;
  readonly #folder: string;
  readonly #library: string;
  #commands = 0;

  private constructor(sandbox: Sandbox, wine: Wine, folder: string) {
    this.#sandbox = sandbox;
    this.#wine = wine;
    this.#folder = folder;
    this.home = join(folder, "home");
    this.#library = join(folder, "winfsp-x64.dll");
    const log = join(this.home, "agent.log");
    captureOutput(() => (existsSync(log) ? `${log}:\n${readFileSync(log, "utf8")}` : ""));
  }

  /** Builds and installs everything, which takes minutes where nothing of it was built before. */
  static async start(sandbox: Sandbox): Promise<WindowsMachine> {
    const folder = sandbox.makeFolder("windows");
    const wine = await Wine.start(sandbox.makeFolder("windows", "prefix"), sandbox.env, [sandbox.folder]);
    const machine = new WindowsMachine(sandbox, wine, folder);
    await bundleForWindows(join(folder, "installed"), wine.node);
    copyFileSync(buildWinFspStandIn(), machine.#library);
    return machine;
  }

  /** Runs `runnel` to its end. */
  runnel(...args: string[]): Promise<Ended> {
    const installed = join(this.#folder, "installed");
    const main = onWindows(join(installed, "app", "cli", "main.js"));
    return this.#run([join(installed, "node.exe"), "--disable-warning=ExperimentalWarning", main, ...args]);
  }

  /** Runs `runnel` as a person does who types it, which starts one program more. */
  runnelCmd(...args: string[]): Promise<Ended> {
    return this.#run(["cmd", "/c", onWindows(join(this.#folder, "installed", "runnel.cmd")), ...args]);
  }

  /** Runs a program to its end. Its words go to files: Wine's processes write into no pipe of Linux. */
  async #run(program: readonly string[], changes: NodeJS.ProcessEnv = {}): Promise<Ended> {
    const log = join(this.#folder, `command-${this.#commands++}`);
    const [out, err] = [openSync(`${log}.out`, "w"), openSync(`${log}.err`, "w")];
    const [command = "", ...words] = this.#wine.command("wine", ...program);
    const env = {
      ...this.#wine.env,
      RUNNEL_HOME: onWindows(this.home),
      RUNNEL_STAND_IN: onWindows(this.#library),
      // Any command may be the one that starts the agent.
      NODE_OPTIONS: `--import=file:///Z:${PROGRAMS}`,
      ...changes,
    };
    const child = spawn(command, words, { cwd: "/", env, detached: true, stdio: ["ignore", out, err] });
    const timer = setTimeout(() => killGroup(child), COMMAND_MS);
    const code = await new Promise<number | null>((done, fail) => {
      child.once("error", fail);
      child.once("exit", done);
    });
    clearTimeout(timer);
    for (const file of [out, err]) closeSync(file);
    return { code, stdout: readFileSync(`${log}.out`, "utf8"), stderr: readFileSync(`${log}.err`, "utf8") };
  }

  /** Runs a verb with --json. @throws Error with its words when it fails. */
  async ask(...args: string[]): Promise<Json> {
    const { code, stdout, stderr } = await this.runnel(...args, "--json");
    if (code !== 0) throw new Error(`runnel ${args.join(" ")} ended with ${code}: ${stdout}${stderr}`);
    return JSON.parse(stdout) as Json;
  }

  /** Starts a program that uses a drive of the agent which runs. */
  async program(mountpoint: string): Promise<{ program: WindowsProgram; standIn: RemoteStandIn }> {
    const standIn = await waitFor(() => this.#agentsStandIn(), COMMAND_MS, "the agent");
    return { standIn, program: new WindowsProgram(standIn, mountpoint) };
  }

  /** The one that answers of those whose ports are written down; undefined where none does yet. */
  async #agentsStandIn(): Promise<RemoteStandIn | undefined> {
    for (const file of this.#portFiles()) {
      const opening = RemoteStandIn.open(Number(readFileSync(file, "utf8")));
      const opened = await opening.catch(() => undefined);
      if (opened !== undefined) return opened;
    }
    return undefined;
  }

  #portFiles(): string[] {
    const start = `${basename(this.#library)}.port`;
    const names = readdirSync(this.#folder).filter((name) => name.startsWith(start));
    return names.map((name) => join(this.#folder, name));
  }

  #forgetPorts(): void {
    for (const file of this.#portFiles()) rmSync(file, { force: true });
  }

  /** The agent's process, as Linux knows it. */
  agentPid(): number | undefined {
    return markedProcesses(this.#sandbox.folder).find((pid) => {
      try {
        return /agent[\\/]main\.js\0/.test(readFileSync(`/proc/${pid}/cmdline`, "utf8"));
      } catch {
        return false; // It has ended.
      }
    });
  }

  /** Ends the agent as a crash does; its drive goes with it. */
  async killAgent(): Promise<void> {
    const pid = this.agentPid();
    if (pid === undefined) throw new Error("No agent runs.");
    this.#forgetPorts();
    process.kill(pid, "SIGKILL");
    await waitFor(() => !isAlive(pid), COMMAND_MS, "the agent to end");
  }

  /** Starts the machine anew, as after a power cut: the agent with all else ends as by a crash. */
  restart(): void {
    this.#forgetPorts();
    this.#wine.restart();
  }

  /** Logs in, as far as Wine does: it starts the commands below the keys Run. No home is in their environment. */
  async logIn(): Promise<void> {
    const { code, stderr } = await this.#run(["wineboot"], { RUNNEL_HOME: undefined });
    if (code !== 0) throw new Error(`The log-in ended with ${code}: ${stderr}`);
  }

  async close(): Promise<void> {
    await this.#wine.close();
  }
}
