// Lock that lets one server at a time serve a folder: a note of the serving process, in the folder's store and in the
// volume's data. A note outlives a killed process; it counts only while that very process lives (same pid, start time
// and boot).
import type { Disk, DiskRoot } from "@runnel/shared";
import { RunnelError, isRunnelError, readWhole, withOpened, writeWhole } from "@runnel/shared";
import { z } from "zod";

const NOTE = z.object({ pid: z.int().min(1), started: z.string(), boot: z.string() });
type Note = z.output<typeof NOTE>;

const NOTE_BYTES_MAX = 1024;
/** Field of /proc/PID/stat, counted after the command's closing parenthesis (proc(5): field 22). */
const STARTED_FIELD = 19;

export class ServingLock {
  readonly #root: DiskRoot;
  readonly #path: string;

  private constructor(root: DiskRoot, path: string) {
    this.#root = root;
    this.#path = path;
  }

  /** Leaves a note at `path`. @throws RunnelError Busy when another living process has left one. */
  static async take(disk: Disk, root: DiskRoot, path: string, what: string): Promise<ServingLock> {
    await ServingLock.check(disk, root, path, what);
    const own = await noteOf(disk, process.pid);
    const bytes = Buffer.from(JSON.stringify(own ?? { pid: process.pid, started: "", boot: "" }));
    await writeWhole(root, path, bytes);
    return new ServingLock(root, path);
  }

  /** @throws RunnelError Busy when a living process other than this one has left a note. */
  static async check(disk: Disk, root: DiskRoot, path: string, what: string): Promise<void> {
    const left = await read(root, path);
    if (left === undefined || left.pid === process.pid) return;
    const now = await noteOf(disk, left.pid);
    if (now === undefined || now.started !== left.started || now.boot !== left.boot) return;
    throw new RunnelError("Busy", "serve", `${what} is served already, by process ${left.pid}: stop that one first.`);
  }

  async release(): Promise<void> {
    try {
      await this.#root.removeFile(this.#path);
    } catch (error) {
      if (!isRunnelError(error)) throw error;
    }
  }
}

async function read(root: DiskRoot, path: string): Promise<Note | undefined> {
  try {
    const outcome = NOTE.safeParse(JSON.parse((await readWhole(root, path, NOTE_BYTES_MAX)) ?? "null"));
    return outcome.success ? outcome.data : undefined;
  } catch (error) {
    if (isRunnelError(error) || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Returns undefined when there is no such process, or the system does not say. */
async function noteOf(disk: Disk, pid: number): Promise<Note | undefined> {
  try {
    const stat = await textAt(disk, `/proc/${pid}`, "stat");
    if (stat === undefined) return undefined;
    const started = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[STARTED_FIELD] ?? "";
    const boot = await textAt(disk, "/proc/sys/kernel/random", "boot_id");
    return boot === undefined ? undefined : { pid, started, boot: boot.trim() };
  } catch (error) {
    if (isRunnelError(error)) return undefined;
    throw error;
  }
}

async function textAt(disk: Disk, folder: string, name: string): Promise<string | undefined> {
  return withOpened(await disk.openRoot(folder), (root) => readWhole(root, name, NOTE_BYTES_MAX));
}
