// Makes the set-up and the package of msiexec for Windows, and lives with them under Wine, without a question:
// installs, starts an agent, puts a newer version over it, and takes it away again. Files and registry are looked at;
// data stay.
import { closeSync, existsSync, openSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Wine } from "../../scripts/wine.mjs";
import { Sandbox, waitFor } from "../src/harness/index.ts";
import { type Pack, pack } from "../src/installers/packs.ts";

const OLD = "7.0.0";
const NEW = "7.0.1";
const ALL_MS = 30 * 60_000;
const STEP_MS = 300_000;
const PROGRAMS = "AppData/Local/Programs/Runnel";
const MENU = "AppData/Roaming/Microsoft/Windows/Start Menu/Programs/Runnel";
const DATA = "AppData/Local/Runnel";
const UNINSTALL = "Software\\Microsoft\\Windows\\CurrentVersion\\Uninstall";

const why =
  process.platform === "linux" && process.arch === "x64" ? "" : " (skipped: packages are made on Linux on x64)";
const testHere = why === "" ? test : test.skip;

const onWindows = (path: string): string => `Z:${path.replaceAll("/", "\\")}`;

interface Ran {
  code: number | null;
  said: string;
}

/** Windows as far as Wine is one, for a user on whose account nothing is installed. */
class Machine {
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

let sandbox: Sandbox;
let packs: Record<"setup" | "msi", { old: Pack; new: Pack; again: Pack }>;
/** Paths of what is installed, as the bundle has them. */
const PARTS = ["LICENSE.txt", "app/agent/main.js", "app/cli/main.js", "node.exe", "runnel.cmd", "ui/dist/index.html"];

beforeAll(async () => {
  if (why !== "") return;
  sandbox = new Sandbox(ALL_MS);
  const both = async (version: string, folder: string): Promise<[Pack, Pack]> => {
    const [setup, msi] = await pack(["setup", "msi"], version, sandbox.makeFolder(folder));
    if (setup === undefined || msi === undefined) throw new Error("Something was not made.");
    return [setup, msi];
  };
  const [oldSetup, oldMsi] = await both(OLD, "old");
  const [newSetup, newMsi] = await both(NEW, "new");
  const [againSetup, againMsi] = await both(NEW, "again");
  packs = {
    setup: { old: oldSetup, new: newSetup, again: againSetup },
    msi: { old: oldMsi, new: newMsi, again: againMsi },
  };
}, ALL_MS);

afterAll(() => sandbox?.cleanup(), 120_000);

async function withMachine(name: string, act: (machine: Machine) => Promise<void>): Promise<void> {
  const machine = await Machine.start(sandbox, name);
  try {
    await act(machine);
  } finally {
    await machine.close();
  }
}

async function useAgent(machine: Machine, version: string): Promise<void> {
  expect(await machine.runnel("--version")).toMatchObject({
    code: 0,
    said: expect.stringMatching(`^${version}\r?\n$`),
  });
  expect((await machine.runnel("agent", "--background")).code).toBe(0);
  expect(machine.files(DATA)).toContain("agent.json");
}

describe("the set-up for Windows", () => {
  testHere(`is the same bytes when it is made twice${why}`, () => {
    expect(packs.setup.again.sha256).toBe(packs.setup.new.sha256);
    expect(packs.setup.old.sha256).not.toBe(packs.setup.new.sha256);
  });

  testHere(
    `is installed, used, followed by a newer one while an agent runs, and removed; data stay${why}`,
    () =>
      withMachine("of-setup", async (machine) => {
        const entry = `HKCU\\${UNINSTALL}\\Runnel`;
        expect(await machine.run(onWindows(packs.setup.old.path), "/S")).toMatchObject({ code: 0 });
        expect(machine.files(PROGRAMS)).toEqual(expect.arrayContaining([...PARTS, "uninstall.exe"]));
        expect(machine.files(MENU)).toEqual(["Runnel command line.lnk", "Runnel.lnk"]);
        expect(await machine.registry(entry)).toMatch(new RegExp(`DisplayVersion +REG_SZ +${OLD}\\s`));
        await useAgent(machine, OLD);

        expect(await machine.run(onWindows(packs.setup.new.path), "/S")).toMatchObject({ code: 0 });
        expect(machine.files(DATA)).not.toContain("agent.json");
        expect(await machine.registry(entry)).toMatch(new RegExp(`DisplayVersion +REG_SZ +${NEW}\\s`));
        await useAgent(machine, NEW);

        // It goes on from a copy of itself, since it removes itself.
        const uninstaller = `C:\\users\\root\\${PROGRAMS.replaceAll("/", "\\")}\\uninstall.exe`;
        expect(await machine.run(uninstaller, "/S")).toMatchObject({ code: 0 });
        await waitFor(() => !existsSync(machine.path(PROGRAMS)), STEP_MS, "the files to go");
        await waitFor(async () => (await machine.registry(entry)) === "", STEP_MS, "the entry to go");
        expect(existsSync(machine.path(MENU))).toBe(false);
        expect(machine.files(DATA)).toContain("agent.log");
        expect(await machine.registry("HKCU\\Software\\Runnel")).toBe("");
      }),
    ALL_MS,
  );

  testHere(
    `is not put over an agent that cannot be ended${why}`,
    () =>
      withMachine("of-refusal", async (machine) => {
        expect(await machine.run(onWindows(packs.setup.old.path), "/S")).toMatchObject({ code: 0 });
        // Ends as the command does while programs use a drive.
        writeFileSync(machine.path(join(PROGRAMS, "runnel.cmd")), "@exit /b 1\r\n");
        const before = machine.files(PROGRAMS);
        expect(await machine.run(onWindows(packs.setup.new.path), "/S")).toMatchObject({ code: 2 });
        expect(machine.files(PROGRAMS)).toEqual(before);
        expect(await machine.registry(`HKCU\\${UNINSTALL}\\Runnel`)).toContain(OLD);
      }),
    ALL_MS,
  );
});

describe("the package of msiexec", () => {
  testHere(`is the same bytes when it is made twice${why}`, () => {
    expect(packs.msi.again.sha256).toBe(packs.msi.new.sha256);
    expect(basename(packs.msi.new.path)).toBe(`runnel-${NEW}.msi`);
  });

  testHere(
    `is installed, used, followed by a newer one while an agent runs, and removed; data stay${why}`,
    () =>
      withMachine("of-msi", async (machine) => {
        const msiexec = (what: string, { path }: Pack): Promise<Ran> =>
          machine.run("msiexec", what, onWindows(path), "/qn");
        // Wine writes the entries of all users there, also of packages for one.
        const entries = async (): Promise<string[]> =>
          [...(await machine.registry(`HKLM\\${UNINSTALL}`)).matchAll(/DisplayVersion +REG_SZ +(\S+)/g)].map(
            ([, version = ""]) => version,
          );
        expect(await msiexec("/i", packs.msi.old)).toMatchObject({ code: 0 });
        expect(machine.files(PROGRAMS)).toEqual(expect.arrayContaining(PARTS));
        expect(machine.files(MENU)).toEqual(["Runnel.lnk"]);
        expect(await entries()).toEqual([OLD]);
        await useAgent(machine, OLD);

        expect(await msiexec("/i", packs.msi.new)).toMatchObject({ code: 0 });
        expect(machine.files(DATA)).not.toContain("agent.json");
        expect(await entries()).toEqual([NEW]);
        expect(machine.files(PROGRAMS)).toEqual(expect.arrayContaining(PARTS));
        await useAgent(machine, NEW);

        expect(await msiexec("/x", packs.msi.new)).toMatchObject({ code: 0 });
        expect(existsSync(machine.path(PROGRAMS))).toBe(false);
        expect(existsSync(machine.path(MENU))).toBe(false);
        expect(await entries()).toEqual([]);
        expect(machine.files(DATA)).toContain("agent.log");
        expect(machine.files(DATA)).not.toContain("agent.json");
      }),
    ALL_MS,
  );
});
