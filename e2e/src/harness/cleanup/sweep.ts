// Takes away all that a sandbox has left: mounts below its folder, processes that carry its mark, its files. Runs in
// the watchdog's process only.
import { readFileSync, readdirSync } from "node:fs";
import { mountsBelow, unmountByForce } from "./mounts.ts";
import { run } from "../run.ts";
import { waitFor } from "../wait.ts";

/**
 * Variable in the environment of every process that a sandbox starts, and so of all that those start: the sandbox's
 * folder.
 */
export const SANDBOX_MARK = "RUNNEL_SANDBOX";

/** A million small files, on a busy disk. */
const REMOVE_MS = 1_200_000;
/** A step that takes longer is named on stderr: whoever waits for the sweep has a deadline and no words. */
const SLOW_STEP_MS = 20_000;
/** Time for processes to end that wrote over their environment, as those of Chromium do, and so lost the mark. */
const UNMARKED_MS = 5000;

export interface Swept {
  mounts: string[];
  processes: number[];
  /** Sentences about what could not be taken away. Empty when all is well. */
  left: string[];
}

/** Processes with a sandbox's mark. Reads /proc only. */
export function markedProcesses(folder: string): number[] {
  const mark = `${SANDBOX_MARK}=${folder}`;
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(mark);
      } catch {
        return false; // It has ended, or is another user's.
      }
    });
}

async function killMarked(folder: string, killed: Set<number>): Promise<void> {
  for (const pid of markedProcesses(folder)) {
    killed.add(pid);
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended.
    }
  }
}

export async function sweep(folder: string): Promise<Swept> {
  let step = "unmounting";
  const slow = setInterval(() => process.stderr.write(`Cleaning up ${folder} takes long: ${step}\n`), SLOW_STEP_MS);
  try {
    return await sweepInSteps(folder, (next) => (step = next));
  } finally {
    clearInterval(slow);
  }
}

async function sweepInSteps(folder: string, begin: (step: string) => void): Promise<Swept> {
  const swept: Swept = { mounts: [], processes: [], left: [] };
  const killed = new Set<number>();
  // Mounts first: a process that waits in the kernel for a drive dies only once the drive's connection is aborted.
  const unmountAll = async (): Promise<void> => {
    for (const mount of mountsBelow(folder)) {
      swept.mounts.push(mount.mountpoint);
      await unmountByForce(mount);
    }
  };
  await unmountAll();
  begin("killing");
  try {
    await waitFor(
      async () => {
        await killMarked(folder, killed);
        return markedProcesses(folder).length === 0;
      },
      5000,
      "processes to end",
    );
  } catch {
    swept.left.push(...markedProcesses(folder).map((pid) => `process ${pid}`));
  }
  begin("unmounting again");
  await unmountAll(); // Unmounts what was mounted meanwhile.
  swept.processes.push(...killed);
  swept.left.push(...mountsBelow(folder).map(({ mountpoint }) => `mount ${mountpoint}`));
  // Never through a mount: that would remove a served folder's files.
  if (swept.left.length === 0) {
    begin("removing files");
    let refusal = "";
    const isRemoved = async (): Promise<boolean> => {
      const removed = await run("rm", ["-rf", "--one-file-system", folder], { deadlineMs: REMOVE_MS });
      refusal = removed.stderr.trim();
      return removed.code === 0;
    };
    await waitFor(isRemoved, UNMARKED_MS, "files to go").catch(() => swept.left.push(`files: ${refusal}`));
  }
  return swept;
}
