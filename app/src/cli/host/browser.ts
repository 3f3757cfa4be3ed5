// Opens a file in the browser that this user prefers, by the program that each system has for it.
import { spawn } from "node:child_process";
import { type Clock, RealClock, RunnelError } from "@runnel/shared";

/** Such a program ends soon, unless it becomes the browser itself. */
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

export interface Opening {
  /** Command that prints a link instead, for a person whose browser does not start. */
  printing: string;
  clock?: Clock;
  env?: NodeJS.ProcessEnv;
}

/** Resolves once the browser was started. @throws RunnelError Unavailable when there is no way to. */
export async function openInBrowser(
  path: string,
  { printing, clock = new RealClock(), env = process.env }: Opening,
): Promise<void> {
  const { program, args, isVerbatim } = openerOf(process.platform, path);
  // A browser outlives the command, and has no part in its terminal.
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
  if (failure === undefined) return;
  const next = `Print a link, and open that yourself: "${printing}".`;
  throw new RunnelError("Unavailable", "open a browser", `No browser was opened: ${failure}. ${next}`);
}
