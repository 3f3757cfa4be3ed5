// Windows, as far as Wine is one, to install packages on: programs are run to their end, files and registry looked at.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Wine } from "../../../scripts/wine.mjs";
import type { Sandbox } from "../harness/index.ts";

const STEP_MS = 300_000;
/** Folder of the user's that set-up and package install into. */
export const PROGRAMS = "AppData/Local/Programs/Runnel";

/** A path of this system as Wine has it. */
export const onWindows = (path: string): string => `Z:${path.replaceAll("/", "\\")}`;

export interface Ran {
  code: number | null;
  said: string;
}

/** Windows as far as Wine is one, for a user on whose account nothing is installed. */
export class Machine {
  readonly #folder: string;
  readonly #wine: Wine;

  private constructor(folder: string, wine: Wine) {
    this.#folder = folder;
    this.#wine = wine;
  }

  static async start(sandbox: Sandbox, name: string): Promise<Machine> {
    const folder = sandbox.makeFolder(name);
    return new Machine(folder, await Wine.start(join(folder, "prefix"), sandbox.env, [sandbox.folder]));
  }

  /** Runs a program to its end. Its words go to a file: Wine's processes write into no pipe of Linux. */
  async run(...words: string[]): Promise<Ran> {
    const [command = "", ...args] = this.#wine.command("wine", ...words);
    const log = join(this.#folder, "said");
    const to = openSync(log, "w");
    const child = spawn(command, args, { cwd: "/", env: this.#wine.env, stdio: ["ignore", to, to], timeout: STEP_MS });
    const [code] = (await once(child, "exit")) as [number | null];
    closeSync(to);
    return { code, said: readFileSync(log, "utf8") };
  }

  /** Runs the installed command line. */
  runnel(...words: string[]): Promise<Ran> {
    return this.run("cmd", "/c", `C:\\users\\root\\${PROGRAMS.replaceAll("/", "\\")}\\runnel.cmd`, ...words);
  }

  /** A path of the user as Linux has it. */
  path(ofUser: string): string {
    return join(this.#folder, "prefix/drive_c/users/root", ofUser);
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

  /** Values of a key of the registry with all below it, and their names; "" where it is missing. */
  async registry(key: string): Promise<string> {
    const { code, said } = await this.run("reg", "query", key, "/s");
    return code === 0 ? said : "";
  }

  close(): Promise<void> {
    return this.#wine.close();
  }
}
