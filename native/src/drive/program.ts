// A program that uses the memory drive, by path: what the kernel's name resolution does above the low-level requests,
// without a cache of names; who has one answers the requests (they say more than the drive reads: the id with each
// handle, and which lookups no cache may answer). On ESTALE it looks the names up again, once, as the kernel does.
import { constants } from "node:fs";
import type { NativeKind } from "./errno-of-kind.ts";

/** Arguments and results of one request, by the names that native/src/bridge/drive/program.cc reads and writes. */
export interface ProgramStat {
  /** The kernel's id; an alias is ≥ 2^53. */
  id: number;
  ino: number;
  mode: number;
  nlink: number;
  uid: number;
  gid: number;
  rdev: number;
  sizeBytes: number;
  allocatedBytes: number;
  atimeNs: bigint;
  mtimeNs: bigint;
  ctimeNs: bigint;
  entryTimeoutMs: number;
  attributeTimeoutMs: number;
}

export interface RequestResult {
  error: number;
  /** The kind of the error, as the drive itself says; "" for success. */
  kind?: NativeKind;
  written: number;
  keepsCache: boolean;
  stat?: ProgramStat;
  handle?: object;
  data?: Uint8Array;
  space?: { totalBytes: number; freeBytes: number; availableBytes: number; totalFiles: number; freeFiles: number };
  names?: { name: string; stat: ProgramStat }[];
}

export type Request = (op: string, args: object, signal?: AbortSignal) => Promise<RequestResult>;

/** The failure of a system call: errno, as the kernel would return it. */
export class ProgramError extends Error {
  readonly errno: number;
  constructor(errno: number, call: string) {
    super(`${call} failed with errno ${errno}`);
    this.name = "ProgramError";
    this.errno = errno;
  }
}

const ENOENT = 2;
const EBADF = 9;
const EEXIST = 17;
const EISDIR = 21;
const ELOOP = 40;
const ESTALE = 116;
const S_IFMT = 0o170000;
const S_IFDIR = 0o040000;
const S_IFLNK = 0o120000;
const ROOT_ID = 1;
const LINKS_MAX = 40;
const NAMES_PER_PAGE = 256;
const LIST_BYTES = 65_536;

interface OpenFile {
  handle: object;
  id: number;
  flags: number;
}

/** Ids that one call has looked up; it lets go of them at its end. */
interface Held {
  ids: number[];
  /** The second attempt. */
  revalidates: boolean;
}

interface Last {
  stat: ProgramStat | undefined;
  folder: number;
  name: string;
}

type Found = Last & { stat: ProgramStat };

export class Program {
  readonly #request: Request;
  readonly #caller: { callerUid: number; callerGid: number; callerPid: number };
  readonly #open = new Map<number, OpenFile>();
  #nextFd = 3;

  constructor(request: Request, caller: { uid: number; gid: number; pid?: number } = { uid: 0, gid: 0 }) {
    this.#request = request;
    this.#caller = { callerUid: caller.uid, callerGid: caller.gid, callerPid: caller.pid ?? 0 };
  }

  async #call(op: string, args: object, signal?: AbortSignal): Promise<RequestResult> {
    const result = await this.#request(op, { ...this.#caller, ...args }, signal);
    if (result.error !== 0) throw new ProgramError(result.error, op);
    return result;
  }

  async #lookup(folder: number, name: string, held: Held): Promise<ProgramStat> {
    const { stat } = await this.#call("lookup", { folder, name, revalidates: held.revalidates });
    if (stat === undefined) throw new ProgramError(ENOENT, "lookup");
    held.ids.push(stat.id);
    return stat;
  }

  /** The folder and last name of a path; symlinks on the way are followed. */
  async #parent(path: string, held: Held, links = 0): Promise<{ folder: number; name: string; at: string[] }> {
    const names = path.split("/").filter((name) => name !== "" && name !== ".");
    const name = names.pop() ?? "";
    let folder = ROOT_ID;
    for (let index = 0; index < names.length; index++) {
      const stat = await this.#lookup(folder, names[index] ?? "", held);
      if ((stat.mode & S_IFMT) === S_IFLNK) {
        if (links >= LINKS_MAX) throw new ProgramError(ELOOP, "lookup");
        const target = await this.#target(stat.id);
        const before = target.startsWith("/") ? [] : names.slice(0, index);
        return this.#parent([...before, target, ...names.slice(index + 1), name].join("/"), held, links + 1);
      }
      folder = stat.id;
    }
    return { folder, name, at: names };
  }

  async #target(id: number): Promise<string> {
    const { data } = await this.#call("readlink", { id });
    return new TextDecoder().decode(data);
  }

  /** The last name of a path, and what it names, if anything. */
  async #last(path: string, follows: boolean, held: Held, links = 0): Promise<Last> {
    const { folder, name, at } = await this.#parent(path, held);
    if (name === "") {
      const { stat } = await this.#call("getattr", { id: ROOT_ID });
      return { stat: stat === undefined ? stat : { ...stat, id: ROOT_ID }, folder: ROOT_ID, name };
    }
    let stat: ProgramStat;
    try {
      stat = await this.#lookup(folder, name, held);
    } catch (error) {
      if (!(error instanceof ProgramError) || error.errno !== ENOENT) throw error;
      return { stat: undefined, folder, name };
    }
    if (!follows || (stat.mode & S_IFMT) !== S_IFLNK) return { stat, folder, name };
    if (links >= LINKS_MAX) throw new ProgramError(ELOOP, "lookup");
    const target = await this.#target(stat.id);
    return this.#last(target.startsWith("/") ? target : [...at, target].join("/"), follows, held, links + 1);
  }

  async #find(path: string, follows: boolean, held: Held): Promise<Found> {
    const { stat, folder, name } = await this.#last(path, follows, held);
    if (stat === undefined) throw new ProgramError(ENOENT, "lookup");
    return { stat, folder, name };
  }

  /** Runs `what` with ids that are let go afterwards, and once more when one had become stale. */
  async #withNames<T>(what: (held: Held) => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      const held: Held = { ids: [], revalidates: attempt > 0 };
      try {
        return await what(held);
      } catch (error) {
        if (!(error instanceof ProgramError) || error.errno !== ESTALE || attempt > 0) throw error;
      } finally {
        for (const id of held.ids) await this.#request("forget", { ...this.#caller, id, lookups: 1 });
      }
    }
  }

  #file(fd: number): OpenFile {
    const file = this.#open.get(fd);
    if (file === undefined) throw new ProgramError(EBADF, "fd");
    return file;
  }

  #opened(fd: number): { id: number; handle: object } {
    const { id, handle } = this.#file(fd);
    return { id, handle };
  }

  stat(path: string): Promise<ProgramStat> {
    return this.#withNames(async (held) => (await this.#find(path, true, held)).stat);
  }

  lstat(path: string): Promise<ProgramStat> {
    return this.#withNames(async (held) => (await this.#find(path, false, held)).stat);
  }

  async fstat(fd: number): Promise<ProgramStat> {
    const { stat } = await this.#call("getattr", { id: this.#file(fd).id });
    if (stat === undefined) throw new ProgramError(EBADF, "fstat");
    return stat;
  }

  readdir(path: string): Promise<string[]> {
    return this.#withNames(async (held) => {
      const { stat } = await this.#find(path, true, held);
      const { handle } = await this.#call("opendir", { id: stat.id });
      const names: string[] = [];
      try {
        for (let offset = 0; ;) {
          const page =
            (await this.#call("readdir", { handle, offset, count: NAMES_PER_PAGE, plus: false })).names ?? [];
          if (page.length === 0) break;
          offset += page.length;
          for (const { name } of page) if (name !== "." && name !== "..") names.push(name);
        }
      } finally {
        await this.#call("releasedir", { handle });
      }
      return names.sort();
    });
  }

  open(path: string, flags: number, mode = 0o644, signal?: AbortSignal): Promise<number> {
    return this.#withNames(async (held) => {
      const creates = (flags & constants.O_CREAT) !== 0;
      const isNew = creates && (flags & constants.O_EXCL) !== 0;
      const { stat, folder, name } = await this.#last(path, !isNew, held);
      if (stat !== undefined && isNew) throw new ProgramError(EEXIST, "open");
      let id = stat?.id ?? 0;
      let handle: object | undefined;
      if (stat === undefined) {
        if (!creates) throw new ProgramError(ENOENT, "open");
        const made = await this.#call("create", { folder, name, mode, flags }, signal);
        id = made.stat?.id ?? 0;
        held.ids.push(id);
        handle = made.handle;
      } else {
        if ((stat.mode & S_IFMT) === S_IFDIR) throw new ProgramError(EISDIR, "open");
        handle = (await this.#call("open", { id, flags }, signal)).handle;
      }
      if (handle === undefined) throw new ProgramError(EBADF, "open");
      const fd = this.#nextFd++;
      this.#open.set(fd, { handle, id, flags });
      return fd;
    });
  }

  async read(fd: number, offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
    const { data } = await this.#call("read", { ...this.#opened(fd), offset, length }, signal);
    return data ?? new Uint8Array();
  }

  async write(fd: number, offset: number, data: Uint8Array): Promise<number> {
    const file = this.#file(fd);
    const isAppend = (file.flags & constants.O_APPEND) !== 0;
    const at = isAppend ? (await this.fstat(fd)).sizeBytes : offset;
    return (await this.#call("write", { ...this.#opened(fd), offset: at, data })).written;
  }

  async fsync(fd: number, signal?: AbortSignal): Promise<void> {
    await this.#call("fsync", this.#opened(fd), signal);
  }

  /** Closes in any case; throws what FLUSH was answered. */
  async close(fd: number, signal?: AbortSignal): Promise<void> {
    const opened = this.#opened(fd);
    this.#open.delete(fd);
    try {
      await this.#call("flush", opened, signal);
    } finally {
      await this.#call("release", opened);
    }
  }

  async ftruncate(fd: number, sizeBytes: number): Promise<void> {
    await this.#call("setattr", { ...this.#opened(fd), sizeBytes });
  }

  async #set(path: string, set: object): Promise<void> {
    await this.#withNames(async (held) => {
      const { stat } = await this.#find(path, true, held);
      await this.#call("setattr", { id: stat.id, ...set });
    });
  }

  truncate(path: string, sizeBytes: number): Promise<void> {
    return this.#set(path, { sizeBytes });
  }

  chmod(path: string, mode: number): Promise<void> {
    return this.#set(path, { mode });
  }

  chown(path: string, uid: number, gid: number): Promise<void> {
    return this.#set(path, { uid, gid });
  }

  utimes(path: string, atimeNs: bigint, mtimeNs: bigint): Promise<void> {
    return this.#set(path, { atimeNs, mtimeNs });
  }

  async futimes(fd: number, atimeNs: bigint, mtimeNs: bigint): Promise<void> {
    await this.#call("setattr", { ...this.#opened(fd), atimeNs, mtimeNs });
  }

  async #make(path: string, what: { type: number; mode: number; target: string }): Promise<void> {
    await this.#withNames(async (held) => {
      const { folder, name } = await this.#parent(path, held);
      const { stat } = await this.#call("make", { folder, name, rdev: 0, ...what });
      if (stat !== undefined) held.ids.push(stat.id);
    });
  }

  mkdir(path: string, mode = 0o755): Promise<void> {
    return this.#make(path, { type: 1, mode, target: "" });
  }

  symlink(target: string, path: string): Promise<void> {
    return this.#make(path, { type: 2, mode: 0o777, target });
  }

  readlink(path: string): Promise<string> {
    return this.#withNames(async (held) => this.#target((await this.#find(path, false, held)).stat.id));
  }

  async link(path: string, newPath: string): Promise<void> {
    await this.#withNames(async (held) => {
      const { stat } = await this.#find(path, false, held);
      const { folder, name } = await this.#parent(newPath, held);
      const linked = await this.#call("link", { id: stat.id, folder, name });
      if (linked.stat !== undefined) held.ids.push(linked.stat.id);
    });
  }

  async #remove(path: string, isFolder: boolean): Promise<void> {
    await this.#withNames(async (held) => {
      const { folder, name } = await this.#find(path, false, held);
      await this.#call("remove", { folder, name, isFolder });
    });
  }

  unlink(path: string): Promise<void> {
    return this.#remove(path, false);
  }

  rmdir(path: string): Promise<void> {
    return this.#remove(path, true);
  }

  /** `how`: 0 replaces, 1 keeps what is there (EEXIST), 2 exchanges. */
  async rename(path: string, newPath: string, how: 0 | 1 | 2 = 0): Promise<void> {
    await this.#withNames(async (held) => {
      const from = await this.#find(path, false, held);
      const to = await this.#parent(newPath, held);
      await this.#call("rename", { folder: from.folder, name: from.name, toFolder: to.folder, toName: to.name, how });
    });
  }

  getxattr(path: string, name: string): Promise<Uint8Array> {
    return this.#onNode(path, async (id) => {
      const room = (await this.#call("getxattr", { id, name, room: 0 })).written;
      return (await this.#call("getxattr", { id, name, room: Math.max(1, room) })).data ?? new Uint8Array();
    });
  }

  listxattr(path: string): Promise<string[]> {
    return this.#onNode(path, async (id) => {
      const { data } = await this.#call("listxattr", { id, room: LIST_BYTES });
      return new TextDecoder().decode(data).split("\0").slice(0, -1);
    });
  }

  /** `flags`: 1 only makes (EEXIST), 2 only replaces (ENODATA). */
  async setxattr(path: string, name: string, value: Uint8Array, flags: 0 | 1 | 2 = 0): Promise<void> {
    await this.#onNode(path, (id) => this.#call("setxattr", { id, name, value, flags }));
  }

  async removexattr(path: string, name: string): Promise<void> {
    await this.#onNode(path, (id) => this.#call("removexattr", { id, name }));
  }

  #onNode<T>(path: string, what: (id: number) => Promise<T>): Promise<T> {
    return this.#withNames(async (held) => what((await this.#find(path, true, held)).stat.id));
  }

  /** SEEK_DATA or SEEK_HOLE. */
  async seek(fd: number, offset: number, wantsData: boolean): Promise<number> {
    return (await this.#call("seek", { ...this.#opened(fd), offset, wantsData })).written;
  }

  /** `mode`: flags of fallocate(2). */
  async allocate(fd: number, mode: number, offset: number, length: number): Promise<void> {
    await this.#call("allocate", { ...this.#opened(fd), mode, offset, length });
  }

  async statfs(): Promise<NonNullable<RequestResult["space"]>> {
    const { space } = await this.#call("statfs", {});
    if (space === undefined) throw new ProgramError(EBADF, "statfs");
    return space;
  }
}
