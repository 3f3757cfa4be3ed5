// Reads what is mounted where, as the system says, without touching any mount: the agent must never touch its own (the kernel would
// wait for the agent, and the agent for the kernel), and a dead one answers nothing but errors.
import { spawn } from "node:child_process";
import { type Clock, isRunnelMount, type MountTableEntry, readMountTable, RunnelError } from "@runnel/shared";

/** Answer of a mount of Runnel: dead = the agent behind it has ended; alive also when it cannot be asked or is slow. */
export type Life = "alive" | "dead";

export interface MountTable {
  /** Every mount of this process's view, the one on top last. */
  read(): Promise<MountTableEntry[]>;
  /** Asks a mount from a process of its own, with a deadline. */
  probe(mountpoint: string): Promise<Life>;
  /** Takes a dead mount off its mount point, the one on top of several, also while programs still hold files of it. @throws RunnelError Busy */
  detach(mountpoint: string): Promise<void>;
}

const PROBE_MS = 3000;
const DETACH_MS = 10_000;

/** Run by the probe: exits with 3 when the mount's other end is gone (ENOTCONN, ECONNABORTED). */
const PROBE_SCRIPT = `
try { require("node:fs").statfsSync(process.argv[1]); }
catch (error) { process.exit(error.code === "ENOTCONN" || error.code === "ECONNABORTED" ? 3 : 0); }`;
const PROBE_DEAD = 3;

export class LinuxMountTable implements MountTable {
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  read(): Promise<MountTableEntry[]> {
    return readMountTable();
  }

  async probe(mountpoint: string): Promise<Life> {
    const code = await this.#run(process.execPath, ["-e", PROBE_SCRIPT, mountpoint], PROBE_MS);
    return code === PROBE_DEAD ? "dead" : "alive";
  }

  async detach(mountpoint: string): Promise<void> {
    const attempts = [["fusermount3", "-u", "-z", "--", mountpoint]];
    if (process.getuid?.() === 0) attempts.push(["umount", "-l", "--", mountpoint]);
    const layers = async (): Promise<number> =>
      (await this.read()).filter((entry) => entry.mountpoint === mountpoint && isRunnelMount(entry)).length;
    const before = await layers();
    for (const [command = "", ...args] of attempts) {
      await this.#run(command, args, DETACH_MS);
      if ((await layers()) < before) return;
    }
    throw new RunnelError(
      "Busy",
      "detach a dead mount",
      `What an earlier agent left at ${mountpoint} could not be detached. Try: sudo umount -l ${mountpoint}`,
    );
  }

  /** The exit code; undefined when the program could not run or was stopped at the deadline. */
  #run(command: string, args: string[], deadlineMs: number): Promise<number | undefined> {
    return new Promise((done) => {
      const child = spawn(command, args, { cwd: "/", stdio: "ignore" });
      const timer = this.#clock.after(deadlineMs, () => {
        child.kill("SIGKILL");
        // Killed or not (it may sit in the kernel), nobody waits for it any longer.
        child.unref();
        done(undefined);
      });
      const end = (code: number | null): void => {
        timer.cancel();
        done(code ?? undefined);
      };
      child.once("error", () => end(null));
      child.once("exit", end);
    });
  }
}
