// The NFS drive as the contract's engine: the fake agent and the server in the test's process, programs that use it
// through libnfs in processes of their own.
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Drive, nfsDrive, type NfsSettings } from "../../drive.ts";
import { type Agent, type DriveRig, RIG_SETTINGS, type RigSettings, waitUntil } from "../support/drive-rig.ts";
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
  changes: Partial<RigSettings> = {},
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

export async function nfsRig(changes: Partial<RigSettings> = {}): Promise<DriveRig> {
  const { fake, address, close } = await serveNfs(changes);
  const agent = new Proxy(fake, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name, target);
      return typeof method === "function"
        ? async (...args: unknown[]): Promise<unknown> => method.apply(target, args)
        : method;
    },
  }) as unknown as Agent;
  const program = await LibnfsProgram.start(address);
  const unsupported = (): Promise<never> => Promise.reject(new Error("NFS version 3 has no such call"));
  return {
    agent,
    program: Object.assign(program, {
      futimes: unsupported,
      getxattr: unsupported,
      listxattr: unsupported,
      setxattr: unsupported,
      removexattr: unsupported,
      seek: unsupported,
      allocate: unsupported,
    }),
    until: waitUntil,
    openInterrupted: unsupported,
    close: async () => {
      await program.end();
      await close();
    },
  };
}
