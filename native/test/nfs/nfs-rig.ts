// The NFS drive as the contract's engine: the fake agent and the server in the test's process, programs that use it
// through libnfs in processes of their own.
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Drive, nfsDrive, type NfsSettings } from "../../drive.ts";
import {
  agentOf,
  type DriveRig,
  RIG_SETTINGS,
  type RigSettings,
  type TestProgram,
  waitUntil,
} from "../support/drive-rig.ts";
import { FakeAgent } from "../support/fake-agent.ts";
import { processClock } from "../support/memory-rig.ts";
import { LibnfsProgram } from "./libnfs-program.ts";

/** Programs with libnfs run where Debian's libnfs-utils and Python are. */
export const hasLibnfs = (): boolean =>
  spawnSync("nfs-ls", [], { stdio: "ignore" }).error === undefined &&
  spawnSync("python3", ["-c", 'import ctypes; ctypes.CDLL("libnfs.so.13")'], { stdio: "ignore" }).status === 0;

export interface NfsServed {
  drive: Drive;
  fake: FakeAgent;
  /** All that the drive has logged. */
  logged: string[];
  address: string;
  /** Address of a file or folder in it. */
  at(path: string): string;
  close(): Promise<void>;
}

export async function serveNfs(
  changes: Partial<RigSettings & { mountpoint: string }> = {},
  nfs: Partial<NfsSettings> = {},
  isReadOnly = false,
): Promise<NfsServed> {
  const folder = await mkdtemp(join(tmpdir(), "runnel-nfs-"));
  const overlayFolder = join(folder, "overlay");
  await mkdir(overlayFolder);
  const logged: string[] = [];
  const drive = nfsDrive(
    {
      mountpoint: "",
      source: "runnel:test",
      overlayFolder,
      overlayPrefix: "test",
      isReadOnly,
      ...RIG_SETTINGS,
      ...changes,
    },
    { clock: processClock, epoch: () => "epoch", systemMount: null, log: (message) => logged.push(message), ...nfs },
  );
  const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const fake = new FakeAgent(drive, join(folder, "cache"), () => processClock.bootMs(), owner);
  await fake.start();
  const address = drive.address ?? "";
  return {
    drive,
    fake,
    logged,
    address,
    at: (path) => address.replace("?", `/${path}?`),
    close: async () => {
      await drive.close(true);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Calls that name an open file, by its number. */
const BY_FILE = new Set(["fstat", "read", "write", "fsync", "close", "ftruncate"]);
const NO_CALL = new Set(["getxattr", "listxattr", "setxattr", "removexattr", "seek", "allocate"]);

/**
 * A program whose calls go on beside one another: one with libnfs makes one at a time, so that there are several, and
 * one for each file that is open.
 */
class ManyPrograms {
  readonly #address: string;
  readonly #programs: LibnfsProgram[] = [];
  readonly #files: { program: LibnfsProgram; fd: number }[] = [];
  /** Programs that have a file open. */
  readonly #opened = new Set<LibnfsProgram>();

  constructor(address: string) {
    this.#address = address;
  }

  async call(name: keyof TestProgram, args: unknown[]): Promise<unknown> {
    if (NO_CALL.has(name)) throw new Error("NFS version 3 has no such call");
    if (name === "futimes") throw new Error("libnfs sets times by path");
    const [first, ...rest] = args;
    if (BY_FILE.has(name)) {
      const file = this.#files[first as number];
      if (file === undefined) throw new Error("no such file");
      return call(file.program, name, [file.fd, ...rest]).finally(() => {
        if (name === "close") this.#opened.delete(file.program);
      });
    }
    const program = await this.#free();
    if (name !== "open") return call(program, name, args);
    this.#opened.add(program);
    const fd = (await call(program, name, args)) as number;
    return this.#files.push({ program, fd }) - 1;
  }

  async #free(): Promise<LibnfsProgram> {
    const free = this.#programs.find((program) => !program.isBusy && !this.#opened.has(program));
    if (free !== undefined) return free;
    const program = await LibnfsProgram.start(this.#address);
    this.#programs.push(program);
    return program;
  }

  async end(): Promise<void> {
    await Promise.all(this.#programs.map((program) => program.end()));
  }
}

function call(program: LibnfsProgram, name: string, args: unknown[]): Promise<unknown> {
  return (Reflect.get(program, name) as (...args: unknown[]) => Promise<unknown>)(...args);
}

export async function nfsRig(changes: Partial<RigSettings> = {}): Promise<DriveRig> {
  const { fake, address, close } = await serveNfs(changes);
  const agent = agentOf(fake);
  const programs = new ManyPrograms(address);
  let isClosed = false;
  const program = new Proxy({} as TestProgram, {
    get:
      (_, name) =>
      (...args: unknown[]) =>
        programs.call(name as keyof TestProgram, args),
  });
  return {
    agent,
    program,
    // A scenario that the contract gives up waits for nothing any more.
    until: (what) =>
      waitUntil(async () => {
        if (isClosed) throw new Error("closed");
        return what();
      }),
    openInterrupted: () => Promise.reject(new Error("NFS version 3 has no such call")),
    close: async () => {
      isClosed = true;
      await programs.end();
      await close();
    },
  };
}
