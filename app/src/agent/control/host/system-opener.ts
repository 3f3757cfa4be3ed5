// Opens a file or folder with the program that this user prefers, by the command that each system has for it.
import { spawn } from "node:child_process";
import type { Clock } from "@runnel/shared";

/** Such a program ends soon, unless it becomes the one that was preferred. */
const WAIT_MS = 3_000;

/** The command line that opens a path. */
export function openerOf(
  platform: NodeJS.Platform,
  path: string,
): { program: string; args: string[]; isVerbatim: boolean } {
  if (platform === "darwin") return { program: "open", args: [path], isVerbatim: false };
  // A verb of the shell: its first quoted word is the title of a window, and a path cannot have a quote in it.
  if (platform === "win32") return { program: "cmd.exe", args: ["/d", "/c", `start "" "${path}"`], isVerbatim: true };
  return { program: "xdg-open", args: [path], isVerbatim: false };
}

/** Resolves once it was started; with the reason, in words that follow a colon, when there is no way to. */
export async function openWithSystem(
  path: string,
  clock: Clock,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string | undefined> {
  const { program, args, isVerbatim } = openerOf(process.platform, path);
  // It outlives this process, and has no part in its terminal.
  const child = spawn(program, args, { env, detached: true, stdio: "ignore", windowsVerbatimArguments: isVerbatim });
  const failure = await new Promise<string | undefined>((done) => {
    const timer = clock.after(WAIT_MS, () => done(undefined), true);
    const end = (why: string | undefined): void => {
      timer.cancel();
      done(why);
    };
    child.once("error", () => end(`${program} cannot be run`));
    child.once("exit", (code) => end(code === 0 ? undefined : `${program} has failed`));
  });
  child.unref();
  return failure;
}
