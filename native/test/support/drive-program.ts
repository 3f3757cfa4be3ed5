// A program that uses a mount, told what to do over IPC, so that a call that hangs hangs only this process.
import { execFile, spawn } from "node:child_process";
import * as fs from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

const [mountpoint = ""] = process.argv.slice(2);
const at = (path: string): string => join(mountpoint, path);

const open = promisify(fs.open);
const close = promisify(fs.close);
const read = promisify(fs.read);
const write = promisify(fs.write);
const fstat = promisify(fs.fstat) as (fd: number, options: { bigint: true }) => Promise<fs.BigIntStats>;

interface Stat {
  ino: number;
  mode: number;
  nlink: number;
  uid: number;
  gid: number;
  sizeBytes: number;
  allocatedBytes: number;
  mtimeNs: bigint;
  ctimeNs: bigint;
  atimeNs: bigint;
}

function plain(stat: fs.BigIntStats): Stat {
  return {
    ino: Number(stat.ino),
    mode: Number(stat.mode),
    nlink: Number(stat.nlink),
    uid: Number(stat.uid),
    gid: Number(stat.gid),
    sizeBytes: Number(stat.size),
    allocatedBytes: Number(stat.blocks) * 512,
    mtimeNs: stat.mtimeNs,
    ctimeNs: stat.ctimeNs,
    atimeNs: stat.atimeNs,
  };
}

const seconds = (ns: bigint): number => Number(ns) / 1e9;

/** Calls what Node has no call for; `fd` is Python's 3. */
function python(script: string, args: readonly string[], fd?: number): Promise<string> {
  const caught = `import ctypes, os, sys\ntry:\n ${script}\nexcept OSError as e:\n sys.exit(e.errno)`;
  const child = spawn("python3", ["-c", caught, ...args], { stdio: ["ignore", "pipe", "inherit", fd ?? "ignore"] });
  const said: Buffer[] = [];
  child.stdout?.on("data", (bytes: Buffer) => said.push(bytes));
  return new Promise((resolve, reject) => {
    child.on("close", (code) => {
      if (code === 0) resolve(Buffer.concat(said).toString());
      else reject(Object.assign(new Error(script), { errno: -(code ?? 0) }));
    });
  });
}

const XATTR_CALLS = `import json, os, sys
calls = {"get": lambda *args: os.getxattr(*args).hex(), "list": os.listxattr, "remove": os.removexattr,
         "set": lambda path, name, value, flags: os.setxattr(path, name, bytes.fromhex(value), flags)}
for line in sys.stdin:
  call, *args = json.loads(line)
  try: said = {"value": calls[call](*args)}
  except OSError as error: said = {"errno": error.errno}
  print(json.dumps(said), flush=True)`;

/**
 * Calls on extended attributes. All share a Python, since there may be hundreds: calls are made one after the other.
 */
class XattrCalls {
  readonly #child = spawn("python3", ["-c", XATTR_CALLS], { stdio: ["pipe", "pipe", "inherit"] });
  readonly #answers = createInterface(this.#child.stdout)[Symbol.asyncIterator]();

  /** Answers come in the order of the calls. */
  async call(args: readonly (string | number)[]): Promise<unknown> {
    this.#child.stdin.write(`${JSON.stringify(args)}\n`);
    const { value: line } = await this.#answers.next();
    const { value, errno } = JSON.parse(line as string) as { value?: unknown; errno?: number };
    if (errno !== undefined) throw Object.assign(new Error(String(args[0])), { errno: -errno });
    return value;
  }
}

let xattrs: XattrCalls | undefined;

function xattrCall(...args: (string | number)[]): Promise<unknown> {
  xattrs ??= new XattrCalls();
  return xattrs.call(args);
}

const FALLOCATE = `r = ctypes.CDLL(None, use_errno=True).fallocate(3, int(sys.argv[1]), ctypes.c_long(int(sys.argv[2])), ctypes.c_long(int(sys.argv[3])))
 if r != 0: sys.exit(ctypes.get_errno())`;

const calls = {
  stat: async (path: string) => plain(await fs.promises.stat(at(path), { bigint: true })),
  lstat: async (path: string) => plain(await fs.promises.lstat(at(path), { bigint: true })),
  fstat: async (fd: number) => plain(await fstat(fd, { bigint: true })),
  readdir: async (path: string) => (await fs.promises.readdir(at(path))).sort(),
  open: (path: string, flags: number, mode = 0o644) => open(at(path), flags, mode),
  read: async (fd: number, offset: number, length: number) => {
    const { bytesRead, buffer } = await read(fd, Buffer.alloc(length), 0, length, offset);
    return buffer.subarray(0, bytesRead);
  },
  write: async (fd: number, offset: number, data: Uint8Array) =>
    (await write(fd, data, 0, data.length, offset)).bytesWritten,
  fsync: (fd: number) => promisify(fs.fsync)(fd),
  close: (fd: number) => close(fd),
  ftruncate: (fd: number, size: number) => promisify(fs.ftruncate)(fd, size),
  // truncate(2) itself: Node opens the file and calls ftruncate.
  truncate: async (path: string, size: number) => {
    await promisify(execFile)("perl", ["-e", "truncate($ARGV[0], $ARGV[1]) or die $!", at(path), String(size)]);
  },
  chmod: (path: string, mode: number) => fs.promises.chmod(at(path), mode),
  utimes: (path: string, atimeNs: bigint, mtimeNs: bigint) =>
    fs.promises.utimes(at(path), seconds(atimeNs), seconds(mtimeNs)),
  futimes: (fd: number, atimeNs: bigint, mtimeNs: bigint) =>
    promisify(fs.futimes)(fd, seconds(atimeNs), seconds(mtimeNs)),
  getxattr: async (path: string, name: string) =>
    Buffer.from((await xattrCall("get", at(path), name)) as string, "hex"),
  listxattr: (path: string) => xattrCall("list", at(path)),
  setxattr: async (path: string, name: string, value: Uint8Array, flags = 0) => {
    await xattrCall("set", at(path), name, Buffer.from(value).toString("hex"), flags);
  },
  removexattr: async (path: string, name: string) => {
    await xattrCall("remove", at(path), name);
  },
  seek: async (fd: number, offset: number, wantsData: boolean) => {
    const how = wantsData ? "os.SEEK_DATA" : "os.SEEK_HOLE";
    return Number(await python(`print(os.lseek(3, int(sys.argv[1]), ${how}))`, [String(offset)], fd));
  },
  allocate: async (fd: number, mode: number, offset: number, length: number) => {
    await python(FALLOCATE, [mode, offset, length].map(String), fd);
  },
  mkdir: (path: string, mode = 0o755) => fs.promises.mkdir(at(path), mode),
  symlink: (target: string, path: string) => fs.promises.symlink(target, at(path)),
  readlink: (path: string) => fs.promises.readlink(at(path)),
  link: (path: string, newPath: string) => fs.promises.link(at(path), at(newPath)),
  unlink: (path: string) => fs.promises.unlink(at(path)),
  rmdir: (path: string) => fs.promises.rmdir(at(path)),
  rename: (path: string, newPath: string) => fs.promises.rename(at(path), at(newPath)),
  /** Opens and reads a file over and over, for a while: how often, and the distinct results. */
  readOften: async (path: string, forMs: number) => {
    const seen = new Set<string>();
    let count = 0;
    for (const end = performance.now() + forMs; performance.now() < end; count++) {
      try {
        seen.add(fs.readFileSync(at(path), "utf8"));
      } catch (error) {
        seen.add(`error ${(error as NodeJS.ErrnoException).code}`);
      }
      if (count % 64 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    return { count, seen: [...seen] };
  },
} satisfies Record<string, (...args: never[]) => Promise<unknown>>;

/** Numbers of Linux, which the contract says, for what Node names alike on every system. */
const NUMBERS: Readonly<Record<string, number>> = {
  ENOENT: 2,
  EIO: 5,
  EACCES: 13,
  EEXIST: 17,
  EXDEV: 18,
  ENOTDIR: 20,
  EISDIR: 21,
  EINVAL: 22,
  EFBIG: 27,
  ENOSPC: 28,
  EROFS: 30,
  ENAMETOOLONG: 36,
  ENOTEMPTY: 39,
  ELOOP: 40,
};

function numberOf({ errno = 0, code = "" }: NodeJS.ErrnoException): number {
  return process.platform === "linux" ? -errno : (NUMBERS[code] ?? -errno);
}

interface Call {
  id: number;
  method: keyof typeof calls;
  args: unknown[];
}

process.on("message", ({ id, method, args }: Call) => {
  const call = calls[method] as (...args: unknown[]) => Promise<unknown>;
  call(...args).then(
    (result) => process.send?.({ id, result }),
    (error: NodeJS.ErrnoException) => process.send?.({ id, error: { message: error.message, errno: numberOf(error) } }),
  );
});
process.on("disconnect", () => process.exit(0));
process.send?.({ id: 0, result: "ready" });
