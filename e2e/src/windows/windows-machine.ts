// A machine with Windows, as far as Wine is one: the installed folder, its command line, its agent, and programs on its
// drives, whose kernel is the stand-in for WinFsp, installed as WinFsp is.
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, copyFileSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { StandIn, portFilesOf } from "@runnel/native/test/support/stand-in.ts";
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
import type { Outcome, Step } from "./drive-program.ts";

const DRIVE_PROGRAM = fileURLToPath(new URL("drive-program.ts", import.meta.url));
const HOLD_AGENT = fileURLToPath(new URL("hold-agent.mjs", import.meta.url));
/** Place where WinFsp's installer puts it, and the key by which it says so. */
const WINFSP = "Program Files (x86)/WinFsp";
const WINFSP_KEY = "HKLM\\Software\\WinFsp";
/** A busy machine needs a while to start Node under Wine. */
const COMMAND_MS = 120_000;

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A program of Windows that was started. */
interface Started {
  child: ChildProcess;
  ended: Promise<Ended>;
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
  #started = 0;
  #mayHold = false;

  private constructor(sandbox: Sandbox, wine: Wine, folder: string) {
    this.#sandbox = sandbox;
    this.#wine = wine;
    this.#folder = folder;
    this.home = join(folder, "home");
    this.#library = join(folder, "prefix", "drive_c", WINFSP, "bin", "winfsp-x64.dll");
    const log = join(this.home, "agent.log");
    captureOutput(() => (existsSync(log) ? `${log}:\n${readFileSync(log, "utf8")}` : ""));
  }

  /** Builds and installs Runnel, which takes minutes where nothing of it was built before. */
  static async start(sandbox: Sandbox): Promise<WindowsMachine> {
    const folder = sandbox.makeFolder("windows");
    const wine = await Wine.start(sandbox.makeFolder("windows", "prefix"), sandbox.env, [sandbox.folder]);
    const machine = new WindowsMachine(sandbox, wine, folder);
    await bundleForWindows(join(folder, "installed"), wine.node);
    await build({
      entryPoints: [DRIVE_PROGRAM],
      outfile: machine.#driveProgram,
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node22",
      logLevel: "warning",
    });
    return machine;
  }

  /** Installs the stand-in where drives look for WinFsp. */
  async installWinFsp(): Promise<void> {
    mkdirSync(dirname(this.#library), { recursive: true });
    copyFileSync(buildWinFspStandIn(), this.#library);
    const place = `C:\\${WINFSP.replaceAll("/", "\\")}\\`;
    const { code } = await this.#run(["reg", "add", WINFSP_KEY, "/v", "InstallDir", "/d", place, "/reg:32", "/f"]);
    if (code !== 0) throw new Error(`reg.exe ended with ${code}.`);
  }

  get #driveProgram(): string {
    return join(this.#folder, "drive-program.mjs");
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

  async #run(program: readonly string[], changes: NodeJS.ProcessEnv = {}): Promise<Ended> {
    return this.#start(program, changes).ended;
  }

  /** Starts a program. Its words go to files: Wine's processes write into no pipe of Linux. */
  #start(program: readonly string[], changes: NodeJS.ProcessEnv = {}): Started {
    const log = join(this.#folder, `program-${this.#started++}`);
    const [out, err] = [openSync(`${log}.out`, "w"), openSync(`${log}.err`, "w")];
    const [command = "", ...words] = this.#wine.command("wine", ...program);
    const holds = { RUNNEL_HOLD: onWindows(this.#hold), NODE_OPTIONS: `--import=file:///Z:${HOLD_AGENT}` };
    // Any command may be the one that starts the agent.
    const env = {
      ...this.#wine.env,
      RUNNEL_HOME: onWindows(this.home),
      ...(this.#mayHold ? holds : {}),
      ...changes,
    };
    const child = spawn(command, words, { cwd: "/", env, detached: true, stdio: ["ignore", out, err] });
    for (const file of [out, err]) closeSync(file);
    const end = async (): Promise<Ended> => {
      const code = await new Promise<number | null>((done, fail) => {
        child.once("error", fail);
        child.once("exit", done);
      });
      return { code, stdout: readFileSync(`${log}.out`, "utf8"), stderr: readFileSync(`${log}.err`, "utf8") };
    };
    const timer = setTimeout(() => killGroup(child), COMMAND_MS);
    return { child, ended: end().finally(() => clearTimeout(timer)) };
  }

  /** Runs a verb with --json. @throws Error with its words when it fails. */
  async ask(...args: string[]): Promise<Json> {
    const { code, stdout, stderr } = await this.runnel(...args, "--json");
    if (code !== 0) throw new Error(`runnel ${args.join(" ")} ended with ${code}: ${stdout}${stderr}`);
    return JSON.parse(stdout) as Json;
  }

  /** Plays a program that uses a drive of the agent which runs, in this process. */
  async program(mountpoint: string): Promise<{ program: WindowsProgram; standIn: StandIn }> {
    const standIn = await StandIn.open(await this.#port());
    return { standIn, program: new WindowsProgram(standIn, mountpoint) };
  }

  /** Resolves to what came of the steps of a program of Windows on a drive, a process of its own, to its end. */
  async perform(mountpoint: string, steps: readonly Step[]): Promise<Outcome[]> {
    const { ended, told } = await this.#startOnDrive(mountpoint, steps);
    const { code, stderr } = await ended;
    if (code !== 0) throw new Error(`The program ended with ${code}: ${stderr}`);
    return told();
  }

  /** Resolves to what came of the steps once all are made; the process then stays until it is killed. */
  async leave(mountpoint: string, steps: readonly Step[]): Promise<{ told: Outcome[]; kill(): Promise<void> }> {
    const { told, steps: path } = await this.#startOnDrive(mountpoint, [...steps, ["stay"]]);
    await waitFor(() => told().length === steps.length, COMMAND_MS, "the program's steps");
    const kill = async (): Promise<void> => {
      const pid = this.#pidOf(new RegExp(`drive-program.*${basename(path)}`));
      if (pid === undefined) throw new Error("The program has ended.");
      process.kill(pid, "SIGKILL");
      await waitFor(() => !isAlive(pid), COMMAND_MS, "the program to end");
    };
    return { told: told(), kill };
  }

  async #startOnDrive(mountpoint: string, steps: readonly Step[]) {
    const path = join(this.#folder, `steps-${this.#started}.json`);
    const file = `${path}.told`;
    writeFileSync(path, JSON.stringify(steps));
    writeFileSync(file, "");
    const port = String(await this.#port());
    const words = [onWindows(this.#driveProgram), port, mountpoint, onWindows(path), onWindows(file)];
    const { ended } = this.#start([join(this.#folder, "installed", "node.exe"), ...words]);
    const told = (): Outcome[] => {
      const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
      return lines.map((line) => JSON.parse(line) as Outcome);
    };
    return { ended, told, steps: path };
  }

  /** Port of the agent's stand-in, which listens once a drive was made. */
  #port(): Promise<number> {
    const find = async (): Promise<number | undefined> => {
      for (const file of portFilesOf(this.#library)) {
        const port = Number(readFileSync(file, "utf8"));
        const opened = await StandIn.open(port).catch(() => undefined);
        opened?.close();
        if (opened !== undefined) return port;
      }
      return undefined;
    };
    return waitFor(find, COMMAND_MS, "the agent");
  }

  /** Others may listen at them once the agent has ended. */
  #forgetPorts(): void {
    for (const file of portFilesOf(this.#library)) rmSync(file);
  }

  /** From now on an agent that is started can be held. */
  letHold(): void {
    this.#mayHold = true;
  }

  get #hold(): string {
    return join(this.#folder, "hold");
  }

  /** Holds the event loop of the agent. Resolves once it is held; what that resolves to lets it go on. */
  async holdAgent(): Promise<() => void> {
    writeFileSync(this.#hold, "");
    await waitFor(() => existsSync(`${this.#hold}.held`), COMMAND_MS, "the agent to be held");
    return () => {
      for (const file of [`${this.#hold}.held`, this.#hold]) rmSync(file);
    };
  }

  /** The agent's process, as Linux knows it. */
  agentPid(): number | undefined {
    return this.#pidOf(/agent[\\/]main\.js\0/);
  }

  /** The process with these words, which end with a 0 each. */
  #pidOf(words: RegExp): number | undefined {
    return markedProcesses(this.#sandbox.folder).find((pid) => {
      try {
        return words.test(readFileSync(`/proc/${pid}/cmdline`, "utf8"));
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
