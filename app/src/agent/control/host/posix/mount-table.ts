// Mounts of Linux: the kernel says what is mounted where, and keeps a drive whose agent has ended.
import { spawn } from "node:child_process";
import type { Socket } from "node:net";
import { type Clock, isRunnelMount, type MountTableEntry, readMountTable, RunnelError } from "@runnel/shared/base";
import type { Life, MountTable } from "../mount-table.ts";
import { runProgram } from "./run-program.ts";

const PROBE_MS = 3000;
const DETACH_MS = 10_000;

/** Run by the probe: exits with 3 when the mount's other end is gone (ENOTCONN, ECONNABORTED). */
const PROBE_SCRIPT = `
try { require("node:fs").statfsSync(process.argv[1]); }
catch (error) { process.exit(error.code === "ENOTCONN" || error.code === "ECONNABORTED" ? 3 : 0); }`;
const PROBE_DEAD = 3;

/**
 * Run until a line comes over file 3, or until its parent has died: the kernel says so by SIGHUP, or file 3 ends
 * without a line. Then it ends the connection of the device MAJOR:$1 (Documentation/filesystems/fuse.rst, "Control
 * filesystem"), by a file that is open from the beginning: the number may be another drive's by then. Neither sign
 * suffices: a process that cannot die keeps its files open, and one that can has closed them a moment before the kernel
 * tells of its death.
 */
const GUARD_SCRIPT = `
exec 4> "/sys/fs/fuse/connections/$1/abort"
end() { echo 1 >&4; exit; }
trap end HUP
grep -q . <&3 & wait $! || end`;
const DISPOSED = "disposed\n";

export class LinuxMountTable implements MountTable {
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  read(): Promise<MountTableEntry[]> {
    return readMountTable();
  }

  async probe(mountpoint: string): Promise<Life> {
    const probe = [process.execPath, "-e", PROBE_SCRIPT, mountpoint];
    const { code } = await runProgram(this.#clock, probe, { deadlineMs: PROBE_MS });
    return code === PROBE_DEAD ? "dead" : "alive";
  }

  async detach(mountpoint: string): Promise<void> {
    const attempts = [["fusermount3", "-u", "-z", "--", mountpoint]];
    if (process.getuid?.() === 0) attempts.push(["umount", "-l", "--", mountpoint]);
    const layers = async (): Promise<number> =>
      (await this.read()).filter((entry) => entry.mountpoint === mountpoint && isRunnelMount(entry)).length;
    const before = await layers();
    for (const attempt of attempts) {
      await runProgram(this.#clock, attempt, { deadlineMs: DETACH_MS });
      if ((await layers()) < before) return;
    }
    throw new RunnelError(
      "Busy",
      "detach a dead mount",
      `What an earlier agent left at ${mountpoint} could not be detached. Try: sudo umount -l ${mountpoint}`,
    );
  }

  async endWithProcess(mountpoint: string): Promise<Disposable> {
    const top = (await this.read()).findLast((entry) => entry.mountpoint === mountpoint);
    const [major, minor = ""] = top?.device.split(":") ?? [];
    if (top === undefined || !isRunnelMount(top) || major !== "0") return { [Symbol.dispose]: () => undefined };
    const words = ["--pdeathsig", "HUP", "sh", "-c", GUARD_SCRIPT, "sh", minor];
    const guard = spawn("setpriv", words, { cwd: "/", detached: true, stdio: ["ignore", "ignore", "ignore", "pipe"] });
    // Without the program, util-linux's, such a drive stays as it is until somebody ends its connection.
    guard.on("error", () => undefined);
    guard.unref();
    const pipe = guard.stdio[3] as Socket | null;
    pipe?.on("error", () => undefined).unref();
    return { [Symbol.dispose]: () => pipe?.end(DISPOSED) };
  }
}
