// Lock that lets one server at a time serve a folder: a note of the serving process, in the folder's store and in the
// volume's data. That process holds the note locked, which ends with it and which processes of other containers meet
// too. Where the file system has no locks, or a server without them wrote the note, it counts while that very process
// lives (same pid, start time and boot).
import type { Disk, DiskFile, DiskRoot } from "@runnel/shared";
import { RunnelError, isRunnelError, openIfThere, readWhole, withOpened } from "@runnel/shared";
import { z } from "zod";

const NOTE = z.object({ pid: z.int().min(1), started: z.string(), boot: z.string() });
type Note = z.output<typeof NOTE>;

const NOTE_BYTES_MAX = 1024;
/** Field of /proc/PID/stat, counted after the command's closing parenthesis (proc(5): field 22). */
const STARTED_FIELD = 19;

const NOTE_MODE = 0o600;

export class ServingLock {
  readonly #root: DiskRoot;
  readonly #path: string;
  readonly #file: DiskFile;

  private constructor(root: DiskRoot, path: string, file: DiskFile) {
    this.#root = root;
    this.#path = path;
    this.#file = file;
  }

  /** Leaves a note at `path`. @throws RunnelError Busy when another living process has left one. */
  static async take(disk: Disk, root: DiskRoot, path: string, what: string): Promise<ServingLock> {
    for (;;) {
      const file = await root.open(path, "create", NOTE_MODE);
      try {
        await mustBeFree(disk, root, path, what, file);
        // A holder may have removed it since it was opened: then the lock keeps nobody out.
        if (await isAt(root, path, file)) {
          const own = await noteOf(disk, process.pid);
          const bytes = Buffer.from(JSON.stringify(own ?? { pid: process.pid, started: "", boot: "" }));
          await file.truncate(0);
          await file.write(0, bytes);
          return new ServingLock(root, path, file);
        }
      } catch (error) {
        await file.close();
        throw error;
      }
      await file.close();
    }
  }

  /** @throws RunnelError Busy when a living process other than this one has left a note. */
  static async check(disk: Disk, root: DiskRoot, path: string, what: string): Promise<void> {
    const file = await openNote(root, path);
    if (file === undefined) return;
    try {
      await mustBeFree(disk, root, path, what, file);
    } finally {
      await file.close();
    }
  }

  async release(): Promise<void> {
    await ignoreDisk(this.#root.removeFile(this.#path));
    await ignoreDisk(this.#file.close());
  }
}

/** The folder may be gone, and the note with it. */
async function ignoreDisk(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isRunnelError(error)) throw error;
  }
}

/** @returns undefined when there is none, or none that can be read. */
async function openNote(root: DiskRoot, path: string): Promise<DiskFile | undefined> {
  try {
    return await openIfThere(root, path);
  } catch (error) {
    if (isRunnelError(error)) return undefined;
    throw error;
  }
}

/** `file` is the note, and is locked afterwards if it can be. @throws RunnelError Busy. */
async function mustBeFree(disk: Disk, root: DiskRoot, path: string, what: string, file: DiskFile): Promise<void> {
  const isHeld = (await file.takeLock()) === "held";
  const left = await read(root, path);
  const now = left === undefined ? undefined : await noteOf(disk, left.pid);
  const isLiving = left !== undefined && now !== undefined && isSame(left, now);
  if (!isHeld && (!isLiving || left.pid === process.pid)) return;
  // Held by this very process; where the system tells nothing of processes, the number has to do.
  if (left?.pid === process.pid && (isLiving || left.started === "")) return;
  const by = left === undefined ? "another process" : `process ${left.pid}`;
  throw new RunnelError("Busy", "serve", `${what} is served already, by ${by}: stop that one first.`);
}

function isSame(one: Note, other: Note): boolean {
  return one.started === other.started && one.boot === other.boot;
}

/** Tells whether it is the file that lies there. */
async function isAt(root: DiskRoot, path: string, file: DiskFile): Promise<boolean> {
  try {
    const [there, own] = [await root.stat(path), await file.stat()];
    return there.ino === own.ino && there.dev === own.dev;
  } catch (error) {
    if (isRunnelError(error, "NotFound")) return false;
    throw error;
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
