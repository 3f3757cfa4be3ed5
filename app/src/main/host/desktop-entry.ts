// Desktop entries of Linux (freedesktop.org, Desktop Entry Specification 1.5): one by which the session starts the app
// at login, one by which the system hands it runnel:// links. Other systems have calls for both.
import { spawn } from "node:child_process";
import { mkdir, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { type Clock, fromSystemError } from "@runnel/shared";
import type { LoginItem } from "../desktop.ts";
import { say } from "../say.ts";

type Environment = Readonly<Record<string, string | undefined>>;

const ENTRY = "runnel.desktop";
const SCHEME = "x-scheme-handler/runnel";
const REGISTER_MS = 10_000;

/** Starts at login by an entry in the user's autostart folder (Desktop Application Autostart Specification). */
export class XdgLoginItem implements LoginItem {
  readonly #path: string;
  readonly #command: readonly string[];

  constructor(command: readonly string[], env: Environment = process.env) {
    this.#path = join(folderOf(env, "XDG_CONFIG_HOME", ".config"), "autostart", ENTRY);
    this.#command = command;
  }

  async get(): Promise<boolean> {
    return (await stat(this.#path).catch(() => undefined)) !== undefined;
  }

  async set(starts: boolean): Promise<void> {
    try {
      if (starts) await writeEntry(this.#path, this.#command, []);
      else await rm(this.#path, { force: true });
    } catch (error) {
      throw fromSystemError(error, "start at login");
    }
  }
}

/** Makes the app what opens runnel:// links. Resolves also where the desktop lets nobody choose. */
export async function takeLinks(
  command: readonly string[],
  clock: Clock,
  env: Environment = process.env,
): Promise<void> {
  const path = join(folderOf(env, "XDG_DATA_HOME", ".local/share"), "applications", ENTRY);
  try {
    await writeEntry(path, [...command, "%u"], [`MimeType=${SCHEME};`]);
  } catch (error) {
    throw fromSystemError(error, "take links");
  }
  const child = spawn("xdg-mime", ["default", ENTRY, SCHEME], { env: { ...env }, stdio: "ignore" });
  const timer = clock.after(REGISTER_MS, () => child.kill("SIGKILL"));
  await new Promise<void>((done) => child.once("error", () => done()).once("exit", () => done()));
  timer.cancel();
}

function folderOf(env: Environment, variable: string, otherwise: string): string {
  const asked = env[variable];
  // The XDG base directory specification: a relative path is to be ignored.
  return asked?.startsWith("/") ? asked : join(env["HOME"] ?? homedir(), otherwise);
}

async function writeEntry(path: string, command: readonly string[], more: readonly string[]): Promise<void> {
  await mkdir(join(path, ".."), { recursive: true });
  const lines = [
    "[Desktop Entry]",
    "Type=Application",
    `Name=${say("appName")}`,
    `Comment=${say("appComment")}`,
    `Exec=${command.map(quoted).join(" ")}`,
    "Terminal=false",
    "Categories=Network;FileTransfer;",
    ...more,
  ];
  await writeFile(path, `${lines.join("\n")}\n`);
}

/** An argument of Exec: quoted as the specification says, and once more for being a string. */
function quoted(argument: string): string {
  if (argument === "%u" || /^[\w@+=:,./-]+$/.test(argument)) return argument;
  const inner = argument.replaceAll(/["`$\\]/g, String.raw`\$&`).replaceAll("%", "%%");
  return `"${inner}"`.replaceAll("\\", "\\\\");
}
