// A folder of the real disk with all that is beneath it.
import type {
  DiskEntry,
  DiskFile,
  DiskRoot,
  DiskSpace,
  DiskIdentity,
  DiskStat,
  FileLease,
  FileType,
  OpenMode,
  SetStat,
  Watch,
  WatchEvent,
  WholeFileWrite,
  Xattr,
  XattrChange,
} from "@runnel/shared";
import { sortXattrs } from "@runnel/shared/model";
import { coreAddon } from "./core-addon.ts";
import type { CoreAddon } from "./core-addon.ts";
import type { DescriptorGate } from "./descriptor-gate.ts";
import { checkName, checkPath, checkSize, checkText, statChangeArguments } from "./disk-arguments.ts";
import { HeldDescriptor } from "./held-descriptor.ts";
import { LEASES, RealFile } from "./real-file.ts";
import { FILE_TYPES, StatRecords, readIdentity, readStat } from "./stat-record.ts";
import { systemCall } from "./system-call.ts";

const FILE_PERMISSIONS = 0o644;
const FOLDER_PERMISSIONS = 0o755;
/** No handle: whatever is there. */
const ANY = new Uint8Array(0);

// The numbers of the enumerations in file/root.h and file/watcher.h.
const OPEN_MODES: readonly OpenMode[] = ["read", "write", "create", "createNew"];
const RENAME_MODES = ["replace", "keep", "exchange"] as const;
const WATCH_KINDS: readonly WatchEvent["kind"][] = ["changed", "writing", "overflow", "written"];

function wholeFileArguments(
  path: string,
  bytes: Uint8Array,
  { mode, permissions, stat = {}, isSynced = false }: WholeFileWrite,
): [string, number, number, Uint8Array, boolean, ...ReturnType<typeof statChangeArguments>] {
  checkName(path, "write file");
  checkSize(permissions, "permissions");
  return [path, OPEN_MODES.indexOf(mode), permissions, bytes, isSynced, ...statChangeArguments(stat)];
}

export class RealRoot implements DiskRoot {
  readonly path: string;
  readonly #held: HeldDescriptor;
  readonly #core = coreAddon();
  readonly #gate: DescriptorGate | undefined;

  constructor(path: string, fd: number, gate?: DescriptorGate) {
    this.path = path;
    this.#gate = gate;
    this.#held = new HeldDescriptor(fd);
  }

  async stat(path: string): Promise<DiskStat> {
    checkPath(path, "stat");
    return readStat(await this.#held.use("stat", (root) => this.#core.stat(root, path)));
  }

  async statAll(paths: readonly string[]): Promise<(DiskStat | "absent" | "unknown")[]> {
    for (const path of paths) checkPath(path, "stat");
    const records = new StatRecords(await this.#held.use("stat", (root) => this.#core.statAll(root, paths)));
    return paths.map((_, at) => records.whyNone(at) ?? records.at(at));
  }

  async handle(path: string): Promise<Uint8Array> {
    checkPath(path, "take handle");
    return new Uint8Array(await this.#held.use("take handle", (root) => this.#core.handle(root, path)));
  }

  async identify(path: string): Promise<DiskIdentity> {
    checkPath(path, "identify");
    return readIdentity(await this.#held.use("identify", (root) => this.#core.identify(root, path)));
  }

  async list(path: string, batch: (entries: DiskEntry[]) => void | Promise<void>): Promise<void> {
    checkPath(path, "list");
    const folder = await this.#held.use("list", (root) => this.#core.listOpen(root, path));
    try {
      while (true) {
        const { names, stats } = await systemCall("list", this.#core.listNext(folder));
        if (names.length === 0) return;
        const records = new StatRecords(stats);
        await batch(names.map((name, index) => ({ name, stat: records.at(index) })));
      }
    } finally {
      await systemCall("close", this.#core.close(folder));
    }
  }

  async open(path: string, mode: OpenMode, permissions = FILE_PERMISSIONS): Promise<DiskFile> {
    checkName(path, "open");
    checkSize(permissions, "permissions");
    const number = OPEN_MODES.indexOf(mode);
    const gate = this.#gate;
    const open = (): Promise<number> =>
      this.#held.use("open", (root) => this.#core.open(root, path, number, permissions));
    if (gate === undefined) return new RealFile(await open());
    return new RealFile(await gate.enter(open), () => gate.leave());
  }

  async readFile(path: string, bytesMax: number): Promise<Uint8Array> {
    checkName(path, "read file");
    checkSize(bytesMax, "bytesMax");
    return new Uint8Array(await this.useToOpen("read file", (root) => this.#core.readFile(root, path, bytesMax)));
  }

  async writeFile(path: string, bytes: Uint8Array, how: WholeFileWrite): Promise<void> {
    const whole = wholeFileArguments(path, bytes, how);
    await this.useToOpen("write file", (root) => this.#core.writeFile(root, ...whole));
  }

  async makeFile(path: string, bytes: Uint8Array, how: WholeFileWrite): Promise<DiskIdentity & { file: DiskFile }> {
    const whole = wholeFileArguments(path, bytes, how);
    const gate = this.#gate;
    const make = (): ReturnType<CoreAddon["makeFile"]> =>
      this.#held.use("make file", (root) => this.#core.makeFile(root, ...whole));
    const { fd, identity } = await (gate === undefined ? make() : gate.enter(make));
    return { file: new RealFile(fd, () => gate?.leave()), ...readIdentity(identity) };
  }

  async lookForWriter(path: string): Promise<{ lease: FileLease; stat: DiskStat }> {
    checkName(path, "look for writer");
    const found = await this.useToOpen("look for writer", (root) => this.#core.lookForWriter(root, path));
    return { lease: LEASES[found.lease] ?? "refused", stat: readStat(found.stat) };
  }

  /** Runs a call of the addon with the root, which has one file open at a time meanwhile. */
  async useToOpen<T>(operation: string, call: (root: number) => Promise<T>): Promise<T> {
    const use = (): Promise<T> => this.#held.use(operation, call);
    if (this.#gate === undefined) return use();
    const result = await this.#gate.enter(use);
    this.#gate.leave();
    return result;
  }

  async makeFolder(path: string, permissions = FOLDER_PERMISSIONS): Promise<void> {
    checkName(path, "make folder");
    checkSize(permissions, "permissions");
    await this.#held.use("make folder", (root) => this.#core.makeFolder(root, path, permissions));
  }

  async makeSymlink(path: string, target: string): Promise<void> {
    checkName(path, "make symlink");
    checkText(target, "make symlink");
    await this.#held.use("make symlink", (root) => this.#core.makeSymlink(root, path, target));
  }

  async makeSpecial(path: string, type: FileType, permissions: number, rdev: number): Promise<void> {
    checkName(path, "make special");
    checkSize(permissions, "permissions");
    checkSize(rdev, "rdev");
    const number = FILE_TYPES.indexOf(type);
    await this.#held.use("make special", (root) => this.#core.makeSpecial(root, path, number, permissions, rdev));
  }

  async link(from: string, to: string): Promise<void> {
    checkName(from, "link");
    checkName(to, "link");
    await this.#held.use("link", (root) => this.#core.link(root, from, to));
  }

  async readSymlink(path: string): Promise<string> {
    checkName(path, "read symlink");
    return this.#held.use("read symlink", (root) => this.#core.readSymlink(root, path));
  }

  async rename(from: string, to: string, how: "replace" | "keep" | "exchange"): Promise<void> {
    checkName(from, "rename");
    checkName(to, "rename");
    await this.#held.use("rename", (root) => this.#core.rename(root, from, to, RENAME_MODES.indexOf(how)));
  }

  async removeFile(path: string): Promise<void> {
    checkName(path, "remove file");
    await this.#held.use("remove file", (root) => this.#core.removeFile(root, path));
  }

  async removeFolder(path: string): Promise<void> {
    checkName(path, "remove folder");
    await this.#held.use("remove folder", (root) => this.#core.removeFolder(root, path));
  }

  async setStat(path: string, change: SetStat, handle: Uint8Array = ANY): Promise<void> {
    checkPath(path, "set attributes");
    const values = statChangeArguments(change);
    await this.#held.use("set attributes", (root) => this.#core.setStat(root, path, ...values, handle));
  }

  async xattrs(path: string): Promise<Xattr[]> {
    checkPath(path, "read attributes");
    const flat = await this.#held.use("read attributes", (root) => this.#core.xattrs(root, path));
    const found: Xattr[] = [];
    for (let at = 0; at + 1 < flat.length; at += 2)
      found.push([flat[at] as string, new Uint8Array(flat[at + 1] as ArrayBuffer)]);
    return sortXattrs(found);
  }

  async setXattr(path: string, [name, value]: XattrChange): Promise<void> {
    checkPath(path, "set attribute");
    checkText(name, "set attribute");
    await this.#held.use("set attribute", (root) =>
      value === null ? this.#core.removeXattr(root, path, name) : this.#core.setXattr(root, path, name, value),
    );
  }

  async copyXattrs(from: string, to: string): Promise<void> {
    checkPath(from, "copy attributes");
    checkPath(to, "copy attributes");
    await this.#held.use("copy attributes", (root) => this.#core.copyXattrs(root, from, to));
  }

  async syncFolder(path: string): Promise<void> {
    checkPath(path, "sync folder");
    await this.#held.use("sync folder", (root) => this.#core.syncFolder(root, path));
  }

  async space(): Promise<DiskSpace> {
    const numbers = await this.#held.use("space", (root) => this.#core.space(root));
    const [totalBytes = 0, freeBytes = 0, availableBytes = 0, totalFiles = 0, freeFiles = 0] = numbers;
    return { totalBytes, freeBytes, availableBytes, totalFiles, freeFiles };
  }

  async watch(tell: (events: WatchEvent[]) => void, leaveOut: readonly string[] = []): Promise<Watch> {
    const onEvents = (flat: (string | number)[]): void => {
      const events: WatchEvent[] = [];
      for (let i = 0; i + 1 < flat.length; i += 2) {
        events.push({ path: flat[i] as string, kind: WATCH_KINDS[flat[i + 1] as number] as WatchEvent["kind"] });
      }
      tell(events);
    };
    const number = await this.#held.use("watch", (root) => this.#core.watch(root, leaveOut, onEvents));
    return { close: () => systemCall("end watch", this.#core.unwatch(number)) };
  }

  close(): Promise<void> {
    return this.#held.close();
  }
}
