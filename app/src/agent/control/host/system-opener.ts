// Opens a file or folder with the program that this user prefers, by the command that the system has for it.
import { spawn } from "node:child_process";
import type { Clock } from "@runnel/shared";
import type { System } from "./system.ts";
import { thisSystem } from "./this-system.ts";

/** Such a program ends soon, unless it becomes the one that was preferred. */
const WAIT_MS = 3_000;

/** Resolves once it was started; with the reason, in words that follow a colon, when there is no way to. */
export async function openWithSystem(
  path: string,
  clock: Clock,
  env: NodeJS.ProcessEnv = process.env,
  system: Pick<System, "opener"> = thisSystem,
): Promise<string | undefined> {
  const { program, args, isVerbatim } = system.opener(path);
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
