// Desktop entries of the app on Linux: one by which the session starts it at login, one by which the system hands it
// runnel:// links. Other systems have calls for both.
import { spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Clock, fromSystemError } from "@runnel/shared";
import {
  AutostartEntry,
  desktopEntry,
  type EntryNames,
  xdgFolder,
} from "../../../agent/start/host/linux/desktop-entry.ts";
import { LoginStart } from "../../../agent/start/login-start.ts";
import type { LoginItem } from "../../desktop.ts";
import { say } from "../../say.ts";

type Environment = Readonly<Record<string, string | undefined>>;

const ENTRY = "runnel.desktop";
const SCHEME = "x-scheme-handler/runnel";
const REGISTER_MS = 10_000;

/** Starts the app at login by an entry in the user's autostart folder. */
export function autostartOfApp(command: readonly string[], env: Environment = process.env): LoginItem {
  const start = new LoginStart([new AutostartEntry(ENTRY, names(), env)], command);
  return {
    get: async () => (await start.look()).state !== "off",
    set: async (starts) => void (await start.set(starts)),
  };
}

/** Makes the app what opens runnel:// links. Resolves also where the desktop lets nobody choose. */
export async function takeLinks(
  command: readonly string[],
  clock: Clock,
  env: Environment = process.env,
): Promise<void> {
  const path = join(xdgFolder(env, "XDG_DATA_HOME", ".local/share"), "applications", ENTRY);
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, desktopEntry([...command, "%u"], names(), [`MimeType=${SCHEME};`]));
  } catch (error) {
    throw fromSystemError(error, "take links");
  }
  const child = spawn("xdg-mime", ["default", ENTRY, SCHEME], { env: { ...env }, stdio: "ignore" });
  const timer = clock.after(REGISTER_MS, () => child.kill("SIGKILL"));
  await new Promise<void>((done) => child.once("error", () => done()).once("exit", () => done()));
  timer.cancel();
}

function names(): EntryNames {
  return { name: say("appName"), comment: say("appComment") };
}
