// The disk of a simulated client: a real folder, since the drive's own code reads and writes its files itself, but
// every operation happens at once and in the order of the calls, so that a run can be repeated. What is killed loses
// nothing that it wrote; what a power cut leaves is a ShadowDisk's to know.
import {
  type Stats,
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  readdirSync,
  renameSync,
  rmdirSync,
  statfsSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { RunnelError, fromSystemError, SteppedRoot } from "@runnel/shared";
import type {
  Disk,
  DiskEntry,
  DiskFile,
  DiskRoot,
  DiskSpace,
  DiskIdentity,
  DiskStat,
  FileLease,
  FileLock,
  OpenMode,
} from "@runnel/shared";
import type { Process } from "./machine.ts";
import type { ShadowDisk } from "./shadow-disk.ts";

const FLAGS: Record<OpenMode, string> = { read: "r", write: "r+", create: "a+", createNew: "wx+" };
const NS_PER_MS = 1_000_000n;

export interface HostDiskOptions {
  process: Process;
  /** Duration of each operation. */
  delayMs(): number;
  /** There is no room for what is new. */
  isFull?(): boolean;
  shadow?: ShadowDisk | undefined;
}

/** Operations that take space. */
const TAKES_ROOM: ReadonlySet<string> = new Set(["create", "make folder", "link", "write"]);

export class HostDisk implements Disk {
  private readonly options: HostDiskOptions;
  private handles = 0;
  /** Descriptors of the process. */
  readonly open = new Set<number>();

  constructor(options: HostDiskOptions) {
    this.options = options;
  }

  async openRoot(path: string, make?: { permissions: number }): Promise<DiskRoot> {
    const root = await this.done("open root", () => {
      if (make !== undefined) mkdirSync(path, { recursive: true, mode: make.permissions });
      lstatSync(path);
      return new HostRoot(this, path);
    });
    if (make !== undefined) await this.also((shadow) => shadow.makeRoot(path));
    return root;
  }

  /** Does the same to what a power cut would leave. Never settles for a process that is dead by then. */
  async also<T>(work: (shadow: ShadowDisk) => Promise<T>): Promise<T | undefined> {
    const { shadow, process } = this.options;
    if (shadow === undefined) return undefined;
    try {
      return await work(shadow);
    } finally {
      await process.turn(0);
    }
  }

  /** Does it after its time has passed. @throws RunnelError as every disk. */
  async done<T>(operation: string, work: () => T): Promise<T> {
    const { process, delayMs, isFull } = this.options;
    await process.turn(delayMs());
    if (TAKES_ROOM.has(operation) && isFull?.() === true)
      throw new RunnelError("NoSpace", operation, "The simulated disk is full.");
    try {
      return work();
    } catch (error) {
      throw fromSystemError(error, operation);
    }
  }

  /** Closes all files, as the kernel does with a process that was killed. */
  closeAll(): void {
    for (const descriptor of this.open) closeSync(descriptor);
    this.open.clear();
  }

  nextHandle(): string {
    return `${this.options.process.bootMs()} ${++this.handles}`;
  }
}

class HostRoot extends SteppedRoot implements DiskRoot {
  readonly path: string;
  private readonly disk: HostDisk;

  constructor(disk: HostDisk, path: string) {
    super();
    this.disk = disk;
    this.path = path;
  }

  stat(path: string): Promise<DiskStat> {
    return this.disk.done("stat", () => statOf(lstatSync(this.at(path))));
  }

  async list(path: string, batch: (entries: DiskEntry[]) => void | Promise<void>): Promise<void> {
    const entries = await this.disk.done("list", () =>
      readdirSync(this.at(path))
        .toSorted()
        .map((name) => ({ name, stat: statOf(lstatSync(join(this.at(path), name))) })),
    );
    if (entries.length > 0) await batch(entries);
  }

  async open(path: string, mode: OpenMode, permissions = 0o600): Promise<DiskFile> {
    const at = this.at(path);
    const isNew = mode === "createNew" || (mode === "create" && !existsSync(at));
    const file = await this.disk.done(isNew ? "create" : "open", () => {
      if (isNew) return new HostFile(this.disk, openSync(at, "wx+", permissions));
      return new HostFile(this.disk, openSync(at, mode === "create" ? FLAGS.write : FLAGS[mode], permissions));
    });
    file.shadow = await this.disk.also((shadow) => shadow.open(at, isNew ? "create" : "write"));
    return file;
  }

  async makeFolder(path: string, permissions = 0o755): Promise<void> {
    await this.disk.done("make folder", () => {
      mkdirSync(this.at(path), { mode: permissions });
    });
    await this.disk.also((shadow) => shadow.makeFolder(this.at(path)));
  }

  async link(from: string, to: string): Promise<void> {
    await this.disk.done("link", () => linkSync(this.at(from), this.at(to)));
    await this.disk.also((shadow) => shadow.link(this.at(from), this.at(to)));
  }

  async rename(from: string, to: string, how: "replace" | "keep" | "exchange"): Promise<void> {
    await this.disk.done("rename", () => {
      if (how === "exchange") throw unsupported("rename");
      if (how === "keep" && existsSync(this.at(to)))
        throw new RunnelError("Exists", "rename", `${to} is there already.`);
      renameSync(this.at(from), this.at(to));
    });
    await this.disk.also((shadow) => shadow.rename(this.at(from), this.at(to)));
  }

  async removeFile(path: string): Promise<void> {
    await this.disk.done("remove", () => unlinkSync(this.at(path)));
    await this.disk.also((shadow) => shadow.removeFile(this.at(path)));
  }

  async removeFolder(path: string): Promise<void> {
    await this.disk.done("remove", () => rmdirSync(this.at(path)));
    await this.disk.also((shadow) => shadow.removeFolder(this.at(path)));
  }

  async syncFolder(path: string): Promise<void> {
    await this.disk.done("sync", () => void lstatSync(this.at(path)));
    await this.disk.also((shadow) => shadow.syncFolder(this.at(path)));
  }

  space(): Promise<DiskSpace> {
    return this.disk.done("space", () => {
      const { bsize, blocks, bfree, bavail, files, ffree } = statfsSync(this.path);
      return {
        totalBytes: bsize * blocks,
        freeBytes: bsize * bfree,
        availableBytes: bsize * bavail,
        totalFiles: files,
        freeFiles: ffree,
      };
    });
  }

  // A client keeps nothing but files and folders of its own.
  handle = refuse;
  identify = refuse;
  makeSymlink = refuse;
  makeSpecial = refuse;
  readSymlink = refuse;
  setStat = refuse;
  xattrs = refuse;
  setXattr = refuse;
  copyXattrs = refuse;
  watch = refuse;

  async close(): Promise<void> {}

  private at(path: string): string {
    return path === "" ? this.path : join(this.path, path);
  }
}

class HostFile implements DiskFile {
  private readonly disk: HostDisk;
  private readonly descriptor: number;
  /** Useless for other threads: they would work in an order of their own. */
  readonly fd = -1;
  shadow: DiskFile | undefined;

  constructor(disk: HostDisk, descriptor: number) {
    this.disk = disk;
    this.descriptor = descriptor;
    disk.open.add(descriptor);
  }

  read(offset: number, length: number, into = new Uint8Array(length)): Promise<Uint8Array> {
    return this.disk.done("read", () => into.subarray(0, readSync(this.descriptor, into, 0, length, offset)));
  }

  async write(offset: number, bytes: Uint8Array): Promise<void> {
    await this.disk.done("write", () => {
      writeSync(this.descriptor, bytes, 0, bytes.length, offset);
    });
    await this.disk.also(async () => this.shadow?.write(offset, bytes));
  }

  async copyFrom(source: DiskFile, sourceOffset: number, offset: number, length: number): Promise<number> {
    const bytes = await source.read(sourceOffset, length);
    await this.write(offset, bytes);
    return bytes.length;
  }

  async truncate(length: number): Promise<void> {
    await this.disk.done("truncate", () => ftruncateSync(this.descriptor, length));
    await this.disk.also(async () => this.shadow?.truncate(length));
  }

  stat(): Promise<DiskStat> {
    return this.disk.done("stat", () => statOf(fstatSync(this.descriptor)));
  }

  setStat = refuse;

  /** Names the opening only: nothing looks for a client's files by it. */
  handle(): Promise<Uint8Array> {
    return this.disk.done("handle", () => Buffer.from(this.disk.nextHandle()));
  }

  async identify(): Promise<DiskIdentity> {
    return { stat: await this.stat(), handle: await this.handle() };
  }

  async takeLease(): Promise<FileLease> {
    return "refused";
  }

  async takeLock(): Promise<FileLock> {
    return "refused";
  }

  async sync(): Promise<void> {
    await this.disk.done("sync", () => undefined);
    await this.disk.also(async () => this.shadow?.sync());
  }

  async close(): Promise<void> {
    await this.disk.done("close", () => {
      this.disk.open.delete(this.descriptor);
      closeSync(this.descriptor);
    });
    await this.disk.also(async () => this.shadow?.close());
  }
}

async function refuse(): Promise<never> {
  throw unsupported("use the disk");
}

function unsupported(operation: string): RunnelError {
  return new RunnelError("Unsupported", operation, "A simulated client does not need that of its disk.");
}

function statOf(stat: Stats): DiskStat {
  return {
    type: stat.isDirectory() ? "folder" : "file",
    mode: stat.mode & 0o7777,
    uid: stat.uid,
    gid: stat.gid,
    sizeBytes: stat.size,
    mtimeNs: BigInt(Math.round(stat.mtimeMs)) * NS_PER_MS,
    ctimeNs: BigInt(Math.round(stat.ctimeMs)) * NS_PER_MS,
    dev: stat.dev,
    ino: stat.ino,
    nlink: stat.nlink,
    rdev: stat.rdev,
  };
}
