// Lives with the installers of Windows, on Windows: of what `npm run pack -- setup msi` has made, each is installed
// without a question, asked which version it is and what keeps it from working, and removed. Nothing of it may be left.
//     npm run try-installers [-- FOLDER]
import { spawnSync } from "node:child_process";
import { closeSync, existsSync, globSync, mkdtempSync, openSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { setTimeout as passed } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const STEP_MS = 300_000;
const POLL_MS = 250;

interface Installer {
  /** Matches its name in installers/out. */
  pattern: RegExp;
  install(path: string): readonly string[];
  remove(path: string, folder: string): readonly string[];
}

/** Both install into one folder, so that one of them is removed before the other comes. */
const INSTALLERS: readonly Installer[] = [
  {
    pattern: /^runnel-(\d+\.\d+\.\d+)-setup\.exe$/,
    install: (path) => [path, "/S"],
    // It goes on from a copy of itself, since it removes itself.
    remove: (_, folder) => [join(folder, "uninstall.exe"), "/S"],
  },
  {
    pattern: /^runnel-(\d+\.\d+\.\d+)\.msi$/,
    install: (path) => ["msiexec", "/i", path, "/qn", "/norestart"],
    remove: (path) => ["msiexec", "/x", path, "/qn", "/norestart"],
  },
];

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

async function tryOne({ install, remove }: Installer, path: string, version: string): Promise<void> {
  const folder = join(process.env["LOCALAPPDATA"] ?? "", "Programs", "Runnel");
  if (existsSync(folder)) throw new Error(`Something is installed in ${folder} already.`);
  const runnel = ["cmd", "/c", join(folder, "runnel.cmd")];
  perform(install(path));
  const said = perform([...runnel, "--version"]).trim();
  if (said !== version) throw new Error(`${basename(path)} has installed version ${said}.`);
  // It starts the agent, which the removal has to end.
  const doctor = perform([...runnel, "doctor"]);
  if (!doctor.includes("Runnel's own files")) throw new Error("runnel doctor does not say how the computer is.");
  perform(remove(path, folder));
  await waitUntilGone(folder, runnel);
}

async function main(folder: string): Promise<void> {
  if (process.platform !== "win32") throw new Error("The installers of Windows are tried on Windows.");
  for (const installer of INSTALLERS) {
    const names = globSync("*", { cwd: folder }).filter((name) => installer.pattern.test(name));
    const [name = ""] = names;
    const [, version = ""] = installer.pattern.exec(name) ?? [];
    if (names.length !== 1) throw new Error(`${folder} has ${names.length} of ${installer.pattern.source}, not one.`);
    await tryOne(installer, join(folder, name), version);
    console.log(`${name}: installed, asked and removed`);
  }
}

const ROOT = fileURLToPath(new URL("..", import.meta.url));
try {
  await main(resolve(process.argv[2] ?? join(ROOT, "installers/out")));
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
