// Lives with the installers of the system that this is, of what lies in installers/out: the set-up and the msi on
// Windows, the package on macOS, the tarball on Linux. Each is installed without a question, asked which version it is
// and what keeps it from working, used by a drive (use-installed.ts), and removed. Nothing of it may be left.
//     npm run try-installers -- [FOLDER] [--no-drive] [--server FILE]
// --no-drive: copies only, where nothing shows drives to programs. --server: another program than the server in memory.
import { spawnSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { setTimeout as passed } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { SERVER, useCopies, useDrive } from "./use-installed.ts";

const STEP_MS = 300_000;
const POLL_MS = 250;

interface Installer {
  /** Matches its name in installers/out. */
  pattern: RegExp;
  /** Folder that it installs into, or is unpacked to. */
  folder: string;
  /** Words of the command that it installs. */
  runnel: readonly string[];
  install(path: string): readonly string[];
  remove(path: string): readonly (readonly string[])[];
}

interface How {
  hasDrive: boolean;
  /** Program of the server. */
  server: string;
}

const windowsFolder = join(process.env["LOCALAPPDATA"] ?? "", "Programs", "Runnel");
const ofWindows = { folder: windowsFolder, runnel: ["cmd", "/c", join(windowsFolder, "runnel.cmd")] };
const unpacked = join(tmpdir(), `runnel-tried-${process.pid}`);

/** Installers of a system, one after the other: both of Windows install into one folder. */
const INSTALLERS: Readonly<Partial<Record<NodeJS.Platform, readonly Installer[]>>> = {
  win32: [
    {
      ...ofWindows,
      pattern: /^runnel-(\d+\.\d+\.\d+)-setup\.exe$/,
      install: (path) => [path, "/S"],
      // It goes on from a copy of itself, since it removes itself.
      remove: () => [[join(windowsFolder, "uninstall.exe"), "/S"]],
    },
    {
      ...ofWindows,
      pattern: /^runnel-(\d+\.\d+\.\d+)\.msi$/,
      install: (path) => ["msiexec", "/i", path, "/qn", "/norestart"],
      remove: (path) => [["msiexec", "/x", path, "/qn", "/norestart"]],
    },
  ],
  darwin: [
    {
      pattern: new RegExp(`^Runnel-(\\d+\\.\\d+\\.\\d+)-${process.arch}(-unsigned)?\\.pkg$`),
      folder: "/usr/local/lib/runnel",
      runnel: ["/usr/local/bin/runnel"],
      install: (path) => ["sudo", "installer", "-pkg", path, "-target", "/"],
      // These are the words of docs/macos.md.
      remove: () => [
        ["/usr/local/bin/runnel", "stop"],
        ["sudo", "rm", "-r", "/usr/local/lib/runnel", "/usr/local/bin/runnel"],
        ["sudo", "pkgutil", "--forget", "runnel.agent"],
      ],
    },
  ],
  linux: [
    {
      pattern: /^runnel-(\d+\.\d+\.\d+)-linux-x64\.tar\.xz$/,
      folder: unpacked,
      runnel: [join(unpacked, "bin", "runnel")],
      install: (path) => {
        mkdirSync(unpacked);
        return ["tar", "-xJf", path, "-C", unpacked, "--strip-components=1"];
      },
      remove: () => [
        [join(unpacked, "bin", "runnel"), "stop"],
        ["rm", "-r", unpacked],
      ],
    },
  ],
};

/** Runs a program to its end. Its words go to a file: an agent that it starts would keep a pipe open. */
function run(words: readonly string[]): { code: number | null; said: string } {
  const folder = mkdtempSync(join(tmpdir(), "runnel-said-"));
  const file = openSync(join(folder, "said"), "w");
  const [command = "", ...args] = words;
  try {
    const { error, status } = spawnSync(command, args, { stdio: ["ignore", file, file], timeout: STEP_MS });
    if (error !== undefined) throw new Error(`${command} cannot be run: ${error.message}`);
    return { code: status, said: readFileSync(join(folder, "said"), "utf8") };
  } finally {
    closeSync(file);
    rmSync(folder, { recursive: true, force: true });
  }
}

function perform(words: readonly string[]): string {
  console.log(`> ${words.join(" ")}`);
  const { code, said } = run(words);
  process.stdout.write(said);
  if (code !== 0) throw new Error(`"${words.join(" ")}" ended with ${code}: ${said}`);
  return said;
}

/** Waits until the folder is gone. @throws Error that says what is left in it, and whether the agent can be ended */
async function waitUntilGone(folder: string, runnel: readonly string[]): Promise<void> {
  for (const endMs = performance.now() + STEP_MS; existsSync(folder);) {
    if (performance.now() > endMs) {
      const left = readdirSync(folder);
      const stop = left.includes("runnel.cmd") ? JSON.stringify(run([...runnel, "stop"])) : "is gone";
      throw new Error(`${folder} is not removed, but has ${left.join(", ")}. runnel stop: ${stop}`);
    }
    await passed(POLL_MS);
  }
}

async function tryOne(installer: Installer, path: string, version: string, how: How): Promise<void> {
  const { folder, runnel, install, remove } = installer;
  if (existsSync(folder)) throw new Error(`Something is installed in ${folder} already.`);
  perform(install(path));
  const said = perform([...runnel, "--version"]).trim();
  if (said !== version) throw new Error(`${basename(path)} has installed version ${said}.`);
  // It starts the agent, which the removal has to end.
  const doctor = perform([...runnel, "doctor"]);
  if (!doctor.includes("Runnel's own files")) throw new Error("runnel doctor does not say how the computer is.");
  await (how.hasDrive ? useDrive : useCopies)(runnel, perform, how.server);
  for (const words of remove(path)) perform(words);
  await waitUntilGone(folder, runnel);
}

async function main(folder: string, how: How): Promise<void> {
  const installers = INSTALLERS[process.platform];
  if (installers === undefined) throw new Error(`There are no installers for ${process.platform}.`);
  for (const installer of installers) {
    const names = globSync("*", { cwd: folder }).filter((name) => installer.pattern.test(name));
    const [name = ""] = names;
    const [, version = ""] = installer.pattern.exec(name) ?? [];
    if (names.length !== 1) throw new Error(`${folder} has ${names.length} of ${installer.pattern.source}, not one.`);
    await tryOne(installer, join(folder, name), version, how);
    console.log(`${name}: installed, used and removed`);
  }
}

const ROOT = fileURLToPath(new URL("..", import.meta.url));
try {
  const options = {
    "no-drive": { type: "boolean", default: false },
    server: { type: "string", default: SERVER },
  } as const;
  const { positionals, values } = parseArgs({ allowPositionals: true, options });
  const how = { hasDrive: !values["no-drive"], server: values.server };
  await main(resolve(positionals[0] ?? join(ROOT, "installers/out")), how);
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
