// A root of the simulated disk: names, looked up without following a symlink or leaving the file system.
import { type ErrorKind, RunnelError } from "../../../errors.ts";
import { LIMITS } from "../../../limits.ts";
import type {
  DiskEntry,
  DiskFile,
  DiskRoot,
  DiskSpace,
  DiskIdentity,
  DiskStat,
  FileType,
  OpenMode,
  SetStat,
  Watch,
  WatchEvent,
} from "../../disk.ts";
import { SteppedRoot } from "../../stepped-root.ts";
import { sortXattrs, type Xattr, type XattrChange } from "../../../model/xattrs.ts";
import { SimulatedFile } from "./file.ts";
import type { Inode } from "./inode.ts";
import type { SimulatedStorage, Watcher } from "./storage.ts";

/** Entries told at once by list. */
const BATCH_ENTRIES = 1000;
const XATTR_BYTES = 4096;

/** A name in a folder, and what it is bound to. */
interface Found {
  folder: Inode;
  name: string;
  inode: Inode | undefined;
}

export class SimulatedRoot extends SteppedRoot implements DiskRoot {
  readonly path: string;
  readonly #disk: SimulatedStorage;
  readonly #root: Inode;
  readonly #life: number;
  #isClosed = false;

  constructor(disk: SimulatedStorage, root: Inode, path: string) {
    super();
    this.#disk = disk;
    this.#root = root;
    this.#life = disk.life;
    this.path = path;
  }

  async stat(path: string): Promise<DiskStat> {
    await this.#turn("stat", path);
    return this.#inodeAt("stat", path).stat();
  }

  async handle(path: string): Promise<Uint8Array> {
    await this.#turn("handle", path);
    return this.#inodeAt("handle", path).handle();
  }

  async identify(path: string): Promise<DiskIdentity> {
    await this.#turn("identify", path);
    const inode = this.#inodeAt("identify", path);
    return { stat: inode.stat(), handle: inode.handle() };
  }

  async list(path: string, batch: (entries: DiskEntry[]) => void | Promise<void>): Promise<void> {
    await this.#turn("list", path);
    const names = this.#folderAt("list", path).entries ?? new Map<string, Inode>();
    const entries = [...names].map(([name, inode]) => ({
      name: Buffer.byteLength(name) > LIMITS.nameBytes ? undefined : name,
      stat: inode.stat(),
    }));
    for (let at = 0; at < entries.length; at += BATCH_ENTRIES) await batch(entries.slice(at, at + BATCH_ENTRIES));
  }

  async open(path: string, mode: OpenMode, permissions = 0o600): Promise<DiskFile> {
    await this.#turn("open", path);
    const { folder, name, inode: found } = this.#find("open", path);
    if (found !== undefined && mode === "createNew") throw failed("Exists", "open", path);
    let inode = found;
    if (inode === undefined) {
      if (mode === "read" || mode === "write") throw failed("NotFound", "open", path);
      inode = this.#make("open", { folder, name, inode }, "file", permissions);
    }
    if (inode.dev !== this.#root.dev) throw failed("Unavailable", "open", path);
    if (inode.type === "folder") throw failed("IsFolder", "open", path);
    if (inode.type === "symlink") throw failed("NotFolder", "open", path);
    if (inode.content === undefined) throw failed("Unsupported", "open", path);
    if (mode !== "read") await inode.leases.gone(this.#disk.clock);
    return new SimulatedFile(this.#disk, inode, inode.content, { folder, name, path, isWritable: mode !== "read" });
  }

  async makeFolder(path: string, permissions = 0o700): Promise<void> {
    await this.#turn("makeFolder", path);
    this.#make("make folder", this.#find("make folder", path), "folder", permissions);
  }

  async makeSymlink(path: string, target: string): Promise<void> {
    await this.#turn("makeSymlink", path);
    this.#make("make symlink", this.#find("make symlink", path), "symlink", 0o777, { target });
  }

  async makeSpecial(path: string, type: FileType, permissions: number, rdev: number): Promise<void> {
    await this.#turn("makeSpecial", path);
    this.#make("make special", this.#find("make special", path), type, permissions, { rdev });
  }

  async link(from: string, to: string): Promise<void> {
    await this.#turn("link", from, to);
    const { inode } = this.#find("link", from);
    const target = this.#find("link", to);
    if (inode === undefined) throw failed("NotFound", "link", from);
    if (target.inode !== undefined) throw failed("Exists", "link", to);
    if (inode.type === "folder") throw failed("Denied", "link", from);
    this.#disk.bind([{ folder: target.folder, name: target.name, from: undefined, to: inode }]);
  }

  async readSymlink(path: string): Promise<string> {
    await this.#turn("readSymlink", path);
    const { inode } = this.#find("read symlink", path);
    if (inode === undefined) throw failed("NotFound", "read symlink", path);
    if (inode.type !== "symlink") throw failed("Io", "read symlink", path);
    return inode.target;
  }

  async rename(from: string, to: string, how: "replace" | "keep" | "exchange"): Promise<void> {
    await this.#turn("rename", from, to);
    const source = this.#find("rename", from);
    const target = this.#find("rename", to);
    const { inode } = source;
    if (inode === undefined) throw failed("NotFound", "rename", from);
    if (how === "exchange" && target.inode === undefined) throw failed("NotFound", "rename", to);
    if (how === "keep" && target.inode !== undefined) throw failed("Exists", "rename", to);
    if (isWithin(target.folder, inode)) throw failed("Invalid", "rename", to);
    if (inode === target.inode) return;
    if (how === "exchange") {
      if (target.inode !== undefined && isWithin(source.folder, target.inode)) throw failed("Invalid", "rename", from);
    } else if (target.inode !== undefined) assertReplaceable(inode, target.inode, to);
    this.#disk.bind([
      { folder: source.folder, name: source.name, from: inode, to: how === "exchange" ? target.inode : undefined },
      { folder: target.folder, name: target.name, from: target.inode, to: inode },
    ]);
  }

  async removeFile(path: string): Promise<void> {
    await this.#turn("removeFile", path);
    const { folder, name, inode } = this.#find("remove", path);
    if (inode === undefined) throw failed("NotFound", "remove", path);
    if (inode.type === "folder") throw failed("IsFolder", "remove", path);
    this.#disk.bind([{ folder, name, from: inode, to: undefined }]);
  }

  async removeFolder(path: string): Promise<void> {
    await this.#turn("removeFolder", path);
    const { folder, name, inode } = this.#find("remove", path);
    if (inode === undefined) throw failed("NotFound", "remove", path);
    if (inode.entries === undefined) throw failed("NotFolder", "remove", path);
    if (inode.entries.size > 0) throw failed("NotEmpty", "remove", path);
    this.#disk.bind([{ folder, name, from: inode, to: undefined }]);
  }

  async setStat(path: string, change: SetStat, handle?: Uint8Array): Promise<void> {
    await this.#turn("setStat", path);
    const inode = this.#inodeAt("set attributes", path);
    if (handle !== undefined && Buffer.compare(handle, inode.handle()) !== 0)
      throw failed("NotFound", "set attributes", path);
    inode.setAttributes(change, this.#disk.nowNs());
    this.#reportAt(path);
  }

  #reportAt(path: string): void {
    if (path === "") this.#disk.report(this.#root, "", "changed");
    else {
      const { folder, name } = this.#find("set attributes", path);
      this.#disk.report(folder, name, "changed");
    }
  }

  async xattrs(path: string): Promise<Xattr[]> {
    await this.#turn("xattrs", path);
    return sortXattrs([...this.#inodeAt("read attributes", path).attributes.xattrs]);
  }

  async setXattr(path: string, [name, value]: XattrChange): Promise<void> {
    await this.#turn("setXattr", path);
    const inode = this.#inodeAt("set attribute", path);
    if (inode.type !== "file" && inode.type !== "folder") throw failed("Denied", "set attribute", path);
    const xattrs = new Map(inode.attributes.xattrs);
    if (value === null) xattrs.delete(name);
    else xattrs.set(name, Uint8Array.from(value));
    let bytes = 0;
    for (const [each, { length }] of xattrs) bytes += each.length + length;
    // Attributes take no more room than ext4 has for them.
    if (bytes > XATTR_BYTES) throw failed("NoSpace", "set attribute", path);
    inode.setXattrs(xattrs, this.#disk.nowNs());
    this.#reportAt(path);
  }

  async copyXattrs(from: string, to: string): Promise<void> {
    await this.#turn("copyXattrs", from);
    const { xattrs } = this.#inodeAt("copy attributes", from).attributes;
    const target = this.#inodeAt("copy attributes", to);
    if (xattrs.size > 0) target.setXattrs(new Map([...target.attributes.xattrs, ...xattrs]), this.#disk.nowNs());
  }

  async syncFolder(path: string): Promise<void> {
    await this.#turn("syncFolder", path);
    const folder = this.#folderAt("sync", path);
    this.#disk.names.sync(folder);
    folder.syncAttributes();
  }

  async space(): Promise<DiskSpace> {
    await this.#turn("space", "");
    const { capacityBytes, freeBytes, freeFiles } = this.#disk;
    return { totalBytes: capacityBytes, freeBytes, availableBytes: freeBytes, totalFiles: freeFiles, freeFiles };
  }

  async watch(tell: (events: WatchEvent[]) => void, leaveOut: readonly string[] = []): Promise<Watch> {
    await this.#turn("watch", "");
    const watcher: Watcher = { root: this.#root, events: [], tell, leaveOut };
    this.#disk.watchers.add(watcher);
    return {
      close: async () => {
        this.#disk.watchers.delete(watcher);
      },
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }

  #make(
    operation: string,
    at: Found,
    type: FileType,
    permissions: number,
    what: { rdev?: number; target?: string } = {},
  ): Inode {
    if (at.inode !== undefined) throw failed("Exists", operation, at.name);
    if (this.#disk.freeFiles <= 0) throw failed("NoSpace", operation, at.name);
    const { inode, reuses } = this.#disk.makeInode(type, permissions, what);
    this.#disk.bind([{ folder: at.folder, name: at.name, from: undefined, to: inode }], reuses);
    return inode;
  }

  #inodeAt(operation: string, path: string): Inode {
    if (path === "") return this.#root;
    const { inode } = this.#find(operation, path);
    if (inode === undefined) throw failed("NotFound", operation, path);
    if (inode.dev !== this.#root.dev) throw failed("Unavailable", operation, path);
    return inode;
  }

  #folderAt(operation: string, path: string): Inode {
    const inode = this.#inodeAt(operation, path);
    if (inode.entries === undefined) throw failed("NotFolder", operation, path);
    return inode;
  }

  #find(operation: string, path: string): Found {
    const parts = path.split("/");
    for (const part of parts) assertName(operation, part);
    let folder = this.#root;
    for (const part of parts.slice(0, -1)) {
      const next = folder.entries?.get(part);
      if (next === undefined) throw failed("NotFound", operation, path);
      if (next.entries === undefined) throw failed("NotFolder", operation, path);
      if (next.dev !== this.#root.dev) throw failed("Unavailable", operation, path);
      folder = next;
    }
    const name = parts.at(-1) ?? "";
    return { folder, name, inode: folder.entries?.get(name) };
  }

  async #turn(operation: string, path: string, to?: string): Promise<void> {
    if (this.#isClosed) throw new RunnelError("Io", operation, "the root is closed");
    await this.#disk.turn(operation, path, this.#life, to);
  }
}

function assertName(operation: string, part: string): void {
  if (part === "" || part === "." || part === ".." || part.includes("\0") || !part.isWellFormed()) {
    throw new RunnelError("Invalid", operation, `"${part}" cannot stand in a path of a disk root`);
  }
  if (Buffer.byteLength(part) > LIMITS.nameBytes) throw failed("NameTooLong", operation, part);
}

/** rename(2): a folder replaces an empty folder only, anything else only what is no folder. */
function assertReplaceable(inode: Inode, target: Inode, path: string): void {
  if (target.entries === undefined) {
    if (inode.entries !== undefined) throw failed("NotFolder", "rename", path);
  } else if (inode.entries === undefined) throw failed("IsFolder", "rename", path);
  else if (target.entries.size > 0) throw failed("NotEmpty", "rename", path);
}

function isWithin(folder: Inode, above: Inode): boolean {
  for (let at: Inode | undefined = folder; at !== undefined; at = at.place?.folder) if (at === above) return true;
  return false;
}

function failed(kind: ErrorKind, operation: string, path: string): RunnelError {
  return new RunnelError(kind, operation, `${operation} ${path}: ${kind}`);
}
