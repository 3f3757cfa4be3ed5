// Uses an installed Runnel as a person does, on whichever system this is: a drive, what the system's own shell writes
// and reads there, and copies that pass it by. The server behind it lies in memory
// (e2e/src/installers/memory-server.ts): Windows and macOS run none of ours.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as passed } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** Program of the server that Runnel is used with. */
export const SERVER = fileURLToPath(new URL("../e2e/src/installers/memory-server.ts", import.meta.url));
const SHOWN_MS = 60_000;
const POLL_MS = 250;
const LETTER = "R:";

/** Runs a command to its end. @returns what it said @throws Error when it fails */
export type Perform = (words: readonly string[]) => string;

/** Words of commands of the system's shell, for a drive's root. */
interface Shell {
  /** Writes `text` into the file below/one, and copies that to below/two. */
  write(root: string, text: string): readonly string[];
  read(path: string): readonly string[];
}

const SHELLS: Record<"posix" | "windows", Shell> = {
  posix: {
    write: (root, text) => [
      "sh",
      "-ec",
      'mkdir "$1/below"; echo "$2" > "$1/below/one"; cp "$1/below/one" "$1/below/two"',
      "sh",
      root,
      text,
    ],
    read: (path) => ["cat", path],
  },
  windows: {
    write: (root, text) => [
      "cmd",
      "/c",
      `mkdir ${root}below && echo ${text}>${root}below\\one && copy ${root}below\\one ${root}below\\two`,
    ],
    read: (path) => ["cmd", "/c", "type", path],
  },
};

/** Starts the server. @returns the URL of its volume, and what ends it */
async function startServer(program: string): Promise<{ url: string; end(): void }> {
  const child: ChildProcess = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", program], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  if (child.stdout === null) throw new Error("The server has no output.");
  const told = once(createInterface({ input: child.stdout }), "line");
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`The server in memory ended with ${String(code)}.`);
  });
  const [url] = (await Promise.race([told, ended])) as [string];
  ended.catch(() => undefined);
  return { url, end: () => child.stdin?.end() };
}

function mustBe(is: string, wanted: string, what: string): void {
  if (is.trim() !== wanted) throw new Error(`${what} is ${JSON.stringify(is)}, not ${JSON.stringify(wanted)}.`);
}

/** Performs until what is said is `wanted`: another client's change takes a moment. */
async function until(perform: () => string, wanted: string, what: string): Promise<void> {
  let said = "";
  for (const endMs = performance.now() + SHOWN_MS; performance.now() < endMs; await passed(POLL_MS)) {
    try {
      said = perform();
      if (said.trim() === wanted) return;
    } catch (error) {
      said = String(error);
    }
  }
  mustBe(said, wanted, what);
}

/**
 * Maps a drive with the command `runnel`, uses it, and unmounts it.
 * @throws Error that says what went wrong, also when no drive can be mapped
 */
export async function useDrive(runnel: readonly string[], perform: Perform, program = SERVER): Promise<void> {
  const server = await startServer(program);
  const folder = mkdtempSync(join(tmpdir(), "runnel-used-"));
  const isWindows = process.platform === "win32";
  const shell = isWindows ? SHELLS.windows : SHELLS.posix;
  const place = isWindows ? LETTER : mkdtempSync(join(folder, "drive-"));
  const [root, below] = isWindows ? [`${LETTER}\\`, `${LETTER}\\below\\`] : [place, `${place}/below/`];
  const text = `written at ${Date.now()}`;
  try {
    perform([...runnel, "mount", server.url, place]);
    perform(shell.write(root, text));
    mustBe(perform(shell.read(`${below}two`)), text, "What the shell reads on the drive");
    perform([...runnel, "flush", "--applied", place]);
    copyPast(runnel, perform, { url: server.url, folder, text });
    await until(() => perform(shell.read(`${below}three`)), `${text} elsewhere`, "What was copied to the server");
    perform([...runnel, "unmount", place]);
    if (existsSync(`${below}two`)) throw new Error(`${place} is unmounted, and still has files.`);
  } finally {
    server.end();
    // A drive that is still there is no folder of ours to remove.
    if (!existsSync(`${below}two`)) rmSync(folder, { recursive: true, force: true });
  }
}

/** Copies what the drive has sent to this computer, and something else to the server. */
function copyPast(
  runnel: readonly string[],
  perform: Perform,
  { url, folder, text }: { url: string; folder: string; text: string },
): void {
  const [back, other] = [join(folder, "back"), join(folder, "other")];
  perform([...runnel, "cp", `${url}/below/two`, back]);
  mustBe(readFileSync(back, "utf8"), text, "What was copied from the server");
  writeFileSync(other, `${text} elsewhere\n`);
  perform([...runnel, "cp", other, `${url}/below/three`]);
}

/** Copies a content to the server and back, where no drive can be mapped. @throws Error that says what went wrong */
export async function useCopies(runnel: readonly string[], perform: Perform, program = SERVER): Promise<void> {
  const server = await startServer(program);
  const folder = mkdtempSync(join(tmpdir(), "runnel-used-"));
  try {
    const [from, back] = [join(folder, "from"), join(folder, "back")];
    writeFileSync(from, "copied\n");
    perform([...runnel, "cp", from, `${server.url}/one`]);
    perform([...runnel, "cp", `${server.url}/one`, back]);
    mustBe(readFileSync(back, "utf8"), "copied", "What was copied from the server");
  } finally {
    server.end();
    rmSync(folder, { recursive: true, force: true });
  }
}
