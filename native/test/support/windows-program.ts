// A program of Windows that uses a drive through the stand-in for WinFsp's driver: the calls of POSIX that the drive's
// contract speaks in, each as what a program of Windows does for it. What Windows has no call for fails with
// EOPNOTSUPP.
import { constants } from "node:fs";
import type { TestProgram } from "./drive-rig.ts";
import type { Asked, FileInfo, StandIn, StandInReply } from "./stand-in.ts";

const EOPNOTSUPP = 95;

/** NTSTATUS that a drive answers, and the errno that it means. */
export const ERRNO_OF_STATUS: Readonly<Record<number, number>> = {
  0xc0000022: 13,
  0xc0000034: 2,
  0xc000003a: 2,
  0xc0000033: 22,
  0xc0000035: 17,
  0xc0000103: 20,
  0xc00000ba: 21,
  0xc000000d: 22,
  0xc0000904: 27,
  0xc000007f: 28,
  0xc0000044: 122,
  0xc00000a2: 30,
  0xc0000106: 36,
  0xc0000101: 39,
  0xc0000185: 5,
  0xc000023c: 5,
  0xc0000467: 5,
  0xc0000098: 116,
  0xc00000bb: EOPNOTSUPP,
};

export class StatusError extends Error {
  readonly status: number;
  readonly errno: number;
  constructor(call: string, status: number) {
    super(`${call} ended with status 0x${status.toString(16)}`);
    this.status = status;
    this.errno = ERRNO_OF_STATUS[status] ?? 0;
  }
}

export const ACCESS = {
  read: 0x12_00_89,
  write: 0x12_01_16,
  readData: 1,
  writeData: 2,
  readAttributes: 0x80,
  writeAttributes: 0x1_00,
  delete: 0x1_00_00,
  readControl: 0x2_00_00,
  writeRights: 0x4_00_00,
  writeOwner: 0x8_00_00,
} as const;
export const DISPOSITION = { open: 1, create: 2, openIf: 3, overwrite: 4, overwriteIf: 5 } as const;
export const OPTION = { folder: 1, notFolder: 0x40, deleteOnClose: 0x10_00, link: 0x20_00_00 } as const;
export const ATTRIBUTE = { readOnly: 1, hidden: 2, system: 4, folder: 0x10, normal: 0x80, link: 0x4_00 } as const;

const STATUS_END_OF_FILE = 0xc0000011;
const EPOCH_TICKS = 116_444_736_000_000_000n;
const TICK_NS = 100n;

export const ticksOf = (ns: bigint): bigint => ns / TICK_NS + EPOCH_TICKS;
export const nsOf = (ticks: bigint): bigint => (ticks - EPOCH_TICKS) * TICK_NS;

const windowsPath = (path: string): string => `\\${path.replaceAll("/", "\\")}`;
const unsupported = (call: string): Promise<never> =>
  Promise.reject(Object.assign(new Error(`Windows has no ${call}`), { errno: EOPNOTSUPP }));

interface Opened {
  handle: number;
  path: string;
  isAppend: boolean;
}

type Stat = Awaited<ReturnType<TestProgram["stat"]>>;

export class WindowsProgram implements TestProgram {
  readonly #standIn: Pick<StandIn, "ask">;
  readonly #mountpoint: string | undefined;
  readonly #open = new Map<number, Opened>();
  #nextFd = 3;

  constructor(standIn: Pick<StandIn, "ask">, mountpoint?: string) {
    this.#standIn = standIn;
    this.#mountpoint = mountpoint;
  }

  #request(call: string, args: Asked): Promise<StandInReply> {
    return this.#standIn.ask(call, args, this.#mountpoint);
  }

  /** Makes a request. @throws StatusError when it fails. */
  async ask(call: string, args: Asked): Promise<StandInReply> {
    const told = await this.#request(call, args);
    if (told.status !== 0) throw new StatusError(call, told.status);
    return told;
  }

  /** Opens, does something and closes, whatever came of it. */
  async with<T>(
    how: { path: string; access: number; disposition?: number; options?: number; attributes?: number },
    what: (told: StandInReply) => Promise<T>,
  ): Promise<T> {
    const told = await this.ask("open", how);
    try {
      return await what(told);
    } finally {
      await this.ask("close", { handle: told.handle });
    }
  }

  #file(fd: number): Opened {
    const opened = this.#open.get(fd);
    if (opened === undefined) throw new Error(`no file ${fd}`);
    return opened;
  }

  #statOf(info: FileInfo | undefined, nlink: number): Stat {
    if (info === undefined) throw new Error("no file information");
    return {
      ino: info.index,
      nlink,
      sizeBytes: info.sizeBytes,
      allocatedBytes: info.allocatedBytes,
      mtimeNs: nsOf(info.write),
      atimeNs: nsOf(info.access),
      ctimeNs: nsOf(info.change),
    } as Stat;
  }

  stat(path: string, options = 0): Promise<Stat> {
    const how = { path: windowsPath(path), access: ACCESS.readAttributes, options };
    return this.with(how, async ({ info }) => this.#statOf(info, 1));
  }

  lstat(path: string): Promise<Stat> {
    return this.stat(path, OPTION.link);
  }

  /** A drive of Windows counts no names: whether its own still leads to the file is all that can be seen. */
  async fstat(fd: number): Promise<Stat> {
    const { handle, path } = this.#file(fd);
    const { info } = await this.ask("info", { handle });
    const named = await this.#request("open", { path, access: ACCESS.readAttributes, options: OPTION.link });
    if (named.status === 0) await this.ask("close", { handle: named.handle });
    return this.#statOf(info, named.info?.index === info?.index ? 1 : 0);
  }

  readdir(path: string): Promise<string[]> {
    const how = { path: windowsPath(path), access: ACCESS.readData, options: OPTION.folder };
    return this.with(how, async ({ handle }) => {
      const { names } = await this.ask("list", { handle });
      return names
        .map(({ name }) => name)
        .filter((name) => name !== "." && name !== "..")
        .sort();
    });
  }

  async open(path: string, flags: number): Promise<number> {
    const kind = flags & (constants.O_RDONLY | constants.O_WRONLY | constants.O_RDWR);
    const access = (kind === constants.O_WRONLY ? 0 : ACCESS.read) | (kind === constants.O_RDONLY ? 0 : ACCESS.write);
    const [creates, empties] = [(flags & constants.O_CREAT) !== 0, (flags & constants.O_TRUNC) !== 0];
    const isNew = creates && (flags & constants.O_EXCL) !== 0;
    const made = creates ? DISPOSITION.openIf : DISPOSITION.open;
    const emptied = creates ? DISPOSITION.overwriteIf : DISPOSITION.overwrite;
    const disposition = isNew ? DISPOSITION.create : empties ? emptied : made;
    const how = { path: windowsPath(path), access, disposition, options: OPTION.notFolder };
    const { handle, text } = await this.ask("open", how);
    const fd = this.#nextFd++;
    this.#open.set(fd, { handle, path: text, isAppend: (flags & constants.O_APPEND) !== 0 });
    return fd;
  }

  async read(fd: number, offset: number, length: number): Promise<Uint8Array> {
    const told = await this.#request("read", { handle: this.#file(fd).handle, offset, size: length });
    if (told.status !== 0 && told.status !== STATUS_END_OF_FILE) throw new StatusError("read", told.status);
    return told.bytes;
  }

  async write(fd: number, offset: number, bytes: Uint8Array): Promise<number> {
    const { handle, isAppend } = this.#file(fd);
    return (await this.ask("write", { handle, offset, bytes, isOn: isAppend })).handle;
  }

  async fsync(fd: number): Promise<void> {
    await this.ask("flush", { handle: this.#file(fd).handle });
  }

  async close(fd: number): Promise<void> {
    const { handle } = this.#file(fd);
    this.#open.delete(fd);
    await this.ask("close", { handle });
  }

  async ftruncate(fd: number, size: number): Promise<void> {
    await this.ask("setSize", { handle: this.#file(fd).handle, size });
  }

  async truncate(path: string, size: number): Promise<void> {
    await this.with({ path: windowsPath(path), access: ACCESS.writeData }, ({ handle }) =>
      this.ask("setSize", { handle, size }),
    );
  }

  /** Sets the mode as a list of access rights for the owner, the group and everyone. */
  async chmod(path: string, mode: number): Promise<void> {
    const access = ACCESS.readControl | ACCESS.writeRights;
    await this.with({ path: windowsPath(path), access }, async ({ handle }) => {
      const { text } = await this.ask("getSecurity", { handle });
      const [, owner, group] = /^O:(.*?)G:(.*?)D:/.exec(text) ?? [];
      const rightsOf = (digit: number): number =>
        ((digit & 4) === 0 ? 0 : ACCESS.read) | ((digit & 2) === 0 ? 0 : ACCESS.write);
      const entries = [
        [mode >> 6, owner],
        [mode >> 3, group],
        [mode, "WD"],
      ].map(([digit, who]) => [rightsOf(Number(digit) & 7), who] as const);
      const list = entries.filter(([rights]) => rights !== 0);
      const to = `D:P${list.map(([rights, who]) => `(A;;0x${rights.toString(16)};;;${who})`).join("")}`;
      await this.ask("setSecurity", { handle, to });
    });
  }

  async utimes(path: string, atimeNs: bigint, mtimeNs: bigint): Promise<void> {
    await this.with({ path: windowsPath(path), access: ACCESS.writeAttributes }, ({ handle }) =>
      this.ask("setBasic", { handle, atime: ticksOf(atimeNs), mtime: ticksOf(mtimeNs) }),
    );
  }

  async futimes(fd: number, atimeNs: bigint, mtimeNs: bigint): Promise<void> {
    const { handle } = this.#file(fd);
    await this.ask("setBasic", { handle, atime: ticksOf(atimeNs), mtime: ticksOf(mtimeNs) });
  }

  async mkdir(path: string): Promise<void> {
    const how = { path: windowsPath(path), access: ACCESS.readAttributes, disposition: DISPOSITION.create };
    await this.with({ ...how, options: OPTION.folder }, async () => {});
  }

  /** A new file first, then what it leads to. */
  async symlink(target: string, path: string): Promise<void> {
    const how = { path: windowsPath(path), access: ACCESS.writeAttributes, disposition: DISPOSITION.create };
    await this.with({ ...how, options: OPTION.notFolder | OPTION.link }, ({ handle }) =>
      this.ask("setLink", { handle, to: target.replaceAll("/", "\\") }),
    );
  }

  readlink(path: string): Promise<string> {
    const how = { path: windowsPath(path), access: ACCESS.readAttributes, options: OPTION.link };
    return this.with(how, async ({ handle }) => (await this.ask("getLink", { handle })).text.replaceAll("\\", "/"));
  }

  async #remove(path: string, options: number): Promise<void> {
    await this.with({ path: windowsPath(path), access: ACCESS.delete, options }, ({ handle }) =>
      this.ask("dispose", { handle, isOn: true }),
    );
  }

  unlink(path: string): Promise<void> {
    return this.#remove(path, OPTION.notFolder | OPTION.link);
  }

  rmdir(path: string): Promise<void> {
    return this.#remove(path, OPTION.folder);
  }

  async rename(path: string, newPath: string): Promise<void> {
    await this.with({ path: windowsPath(path), access: ACCESS.delete, options: OPTION.link }, ({ handle }) =>
      this.ask("rename", { handle, to: windowsPath(newPath), isOn: true }),
    );
  }

  link = (): Promise<never> => unsupported("hard link on a network drive");
  getxattr = (): Promise<never> => unsupported("extended attribute");
  listxattr = (): Promise<never> => unsupported("extended attribute");
  setxattr = (): Promise<never> => unsupported("extended attribute");
  removexattr = (): Promise<never> => unsupported("extended attribute");
  seek = (): Promise<never> => unsupported("seek for data");
  allocate = (): Promise<never> => unsupported("fallocate");
}
