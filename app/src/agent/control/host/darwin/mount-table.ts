// Mounts of macOS: the text that mount(8) prints without touching any of them, and the drives of this process, which
// are noted: of those through FSKit, and of paths with a line break, the text need not tell.
import { type Clock, isRunnelMount, type MountTableEntry, RunnelError } from "@runnel/shared/base";
import type { Life, MountTable } from "../mount-table.ts";
import { runProgram } from "../posix/run-program.ts";
import { parseMountList } from "./mount-list.ts";

const LIST = { deadlineMs: 10_000, textBytesMax: 4 * 1024 * 1024 };
const PROBE = { deadlineMs: 3000 };
const DETACH = { deadlineMs: 10_000 };

/**
 * Run by the probe: exits with 3 when nobody answers the mount any more. macFUSE's kernel extension itself then answers
 * what is asked about the root and the space, and only refuses to open (ENXIO).
 */
const PROBE_SCRIPT = `
try { require("node:fs").opendirSync(process.argv[1]).closeSync(); }
catch (error) { process.exit(["ENXIO", "ENOTCONN", "ECONNABORTED"].includes(error.code) ? 3 : 0); }`;
const PROBE_DEAD = 3;

/** Programs by their paths, with what comes before their arguments. */
export interface MountPrograms {
  mount: readonly string[];
  umount: readonly string[];
  /** Node, for the probe. */
  node: readonly string[];
}

const PROGRAMS: MountPrograms = { mount: ["/sbin/mount"], umount: ["/sbin/umount"], node: [process.execPath] };

export class DarwinMountTable implements MountTable {
  readonly #clock: Clock;
  readonly #programs: MountPrograms;
  readonly #own = new Map<string, number>();

  constructor(clock: Clock, programs = PROGRAMS) {
    this.#clock = clock;
    this.#programs = programs;
  }

  /**
   * Has the drives of this process last: the name under which the agent knows one is taken, and not the system's.
   * @throws RunnelError Unavailable when the system does not say what is mounted.
   */
  async read(): Promise<MountTableEntry[]> {
    const { code, text } = await runProgram(this.#clock, this.#programs.mount, LIST);
    if (code !== 0)
      throw new RunnelError("Unavailable", "read what is mounted", "macOS does not say what is mounted. Try again.");
    const listed = parseMountList(text);
    const drives = new Set(listed.filter(isRunnelMount).map(({ mountpoint }) => mountpoint));
    const others = [...this.#own.keys()].filter((mountpoint) => !drives.has(mountpoint));
    return [...listed, ...others.map(ownDrive)];
  }

  async probe(mountpoint: string): Promise<Life> {
    const probe = [...this.#programs.node, "-e", PROBE_SCRIPT, mountpoint];
    const { code } = await runProgram(this.#clock, probe, PROBE);
    return code === PROBE_DEAD ? "dead" : "alive";
  }

  async detach(mountpoint: string): Promise<void> {
    const layers = async (): Promise<number> =>
      (await this.read()).filter((entry) => entry.mountpoint === mountpoint && isRunnelMount(entry)).length;
    const before = await layers();
    await runProgram(this.#clock, [...this.#programs.umount, "-f", mountpoint], DETACH);
    if ((await layers()) < before) return;
    throw new RunnelError(
      "Busy",
      "detach a dead mount",
      `What an earlier agent left at ${mountpoint} could not be detached. Try: sudo umount -f ${mountpoint}`,
    );
  }

  /** Notes the drive. Its end needs no help: macFUSE ends a drive with its process, and one over NFS has a guard. */
  endWithProcess(mountpoint: string): Promise<Disposable> {
    this.#note(mountpoint, 1);
    let isNoted = true;
    const forget = (): void => {
      if (isNoted) this.#note(mountpoint, -1);
      isNoted = false;
    };
    return Promise.resolve({ [Symbol.dispose]: forget });
  }

  /** The next drive of a place may be noted before the end of the one before it is told. */
  #note(mountpoint: string, change: number): void {
    const count = (this.#own.get(mountpoint) ?? 0) + change;
    if (count > 0) this.#own.set(mountpoint, count);
    else this.#own.delete(mountpoint);
  }
}

function ownDrive(mountpoint: string): MountTableEntry {
  return { mountpoint, device: "", fileSystem: "macfuse", source: "runnel:" };
}
