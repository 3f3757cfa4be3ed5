// Windows, as far as Wine is one, to install packages on: programs are run to their end, files and registry looked at.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Wine } from "../../../scripts/wine.mjs";
import { type Sandbox, waitFor } from "../harness/index.ts";

const STEP_MS = 300_000;
/** Folder of the user's that set-up and package install into, as Linux has it, and as Windows. */
export const PROGRAMS = "AppData/Local/Programs/Runnel";
export const INSTALLED = `C:\\users\\root\\${PROGRAMS.replaceAll("/", "\\")}`;

/** A path of this system as Wine has it. */
export const onWindows = (path: string): string => `Z:${path.replaceAll("/", "\\")}`;

export interface Ran {
  code: number | null;
  said: string;
}

/** Windows as far as Wine is one, for a user on whose account nothing is installed. */
export class Machine {
  readonly folder: string;
  readonly #wine: Wine;

  private constructor(folder: string, wine: Wine) {
    this.folder = folder;
    this.#wine = wine;
  }

  static async start(sandbox: Sandbox, name: string): Promise<Machine> {
    const folder = sandbox.makeFolder(name);
    return new Machine(folder, await Wine.start(join(folder, "prefix"), sandbox.env, [sandbox.folder]));
  }

  /** Starts one for as long as `act` lasts. */
  static async with(sandbox: Sandbox, name: string, act: (machine: Machine) => Promise<void>): Promise<void> {
    const machine = await Machine.start(sandbox, name);
    try {
      await act(machine);
    } finally {
      await machine.close();
    }
  }

  /** Runs a program to its end. Its words go to a file: Wine's processes write into no pipe of Linux. */
  async run(...words: string[]): Promise<Ran> {
    const log = join(this.folder, "said");
    const to = openSync(log, "w");
    const child = this.#spawn(words, to);
    closeSync(to);
    const [code] = (await once(child, "exit")) as [number | null];
    return { code, said: readFileSync(log, "utf8") };
  }

  #spawn(words: readonly string[], to: number | "ignore"): ChildProcess {
    const [command = "", ...args] = this.#wine.command("wine", ...words);
    return spawn(command, args, { cwd: "/", env: this.#wine.env, stdio: ["ignore", to, to], timeout: STEP_MS });
  }

  /** Runs the installed command line. */
  runnel(...words: string[]): Promise<Ran> {
    return this.run("cmd", "/c", `${INSTALLED}\\runnel.cmd`, ...words);
  }

  /** Runs a script of the project with the Node of the packages. */
  script(path: string, ...words: string[]): Promise<Ran> {
    return this.run(onWindows(this.#wine.node), "--disable-warning=ExperimentalWarning", onWindows(path), ...words);
  }

  /** Starts a program in the installed Node, which goes on. */
  startInside(code: string): ChildProcess {
    return this.#spawn([`${INSTALLED}\\node.exe`, "-e", code], "ignore");
  }

  /**
   * Runs the uninstaller that the set-up has left, without a question, and waits until all is gone: it goes on from a
   * copy of itself. @throws Error that says what is left, and whether the agent can be ended
   */
  async uninstall(): Promise<void> {
    const { code } = await this.run(`${INSTALLED}\\uninstall.exe`, "/S");
    if (code !== 0) throw new Error(`The uninstaller ended with ${code}.`);
    await waitFor(() => !existsSync(this.path(PROGRAMS)), STEP_MS, "the files to go").catch(async (late: Error) => {
      const left = this.files(PROGRAMS);
      const stop = left.includes("runnel.cmd") ? JSON.stringify(await this.runnel("stop")) : "is gone";
      throw new Error(`${late.message} Left: ${left.slice(0, 20).join(", ")}. runnel stop: ${stop}`);
    });
  }

  /** Runs the uninstaller as a newer set-up does: to its end, from where it lies, which stays. */
  uninstallInPlace(): Promise<Ran> {
    return this.run(`${INSTALLED}\\uninstall.exe`, "/S", `_?=${INSTALLED}`);
  }

  /** A path of the user as Linux has it. */
  path(ofUser: string): string {
    return join(this.folder, "prefix/drive_c/users/root", ofUser);
  }

  /** Files in a folder of the user. */
  files(folder: string): string[] {
    const path = this.path(folder);
    if (!existsSync(path)) return [];
    const entries = readdirSync(path, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(path.length + 1))
      .toSorted();
  }

  /** Text of a file of the user. */
  read(ofUser: string): string {
    return readFileSync(this.path(ofUser), "utf8");
  }

  /** Values of a key of the registry with all below it, and their names; "" where it is missing. */
  async registry(key: string): Promise<string> {
    const { code, said } = await this.run("reg", "query", key, "/s");
    return code === 0 ? said : "";
  }

  close(): Promise<void> {
    return this.#wine.close();
  }
}
