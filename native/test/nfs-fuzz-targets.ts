// The NFS drive's server, which is given calls by any program of its user.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { joinMessages, splitMessages } from "@runnel/shared/test/fuzz/message-list.ts";
import { type FuzzTarget, requireThat, type Targets } from "@runnel/shared/test/fuzz/target.ts";
import { memoryDrive, type RequestResult } from "../drive.ts";
import { ERRNO_OF_KIND } from "../src/drive/errno-of-kind.ts";
import { NodeCalls } from "../src/drive/nfs/node-calls.ts";
import { RpcServer } from "../src/drive/nfs/rpc-server.ts";
import { FileHandles } from "../src/drive/nfs/state/file-handles.ts";
import { Listings } from "../src/drive/nfs/state/listings.ts";
import { MadeOnce } from "../src/drive/nfs/state/made-once.ts";
import { OpenFiles } from "../src/drive/nfs/state/open-files.ts";
import { RECORD_BYTES_MAX } from "../src/drive/nfs/wire/bounds.ts";
import { MOUNT_PROC, NFS_PROC } from "../src/drive/nfs/wire/constants.ts";
import { RecordSplitter } from "../src/drive/nfs/wire/record-splitter.ts";
import { ME, mountCall, nfsCall } from "./nfs/nfs-calls.ts";
import { RIG_SETTINGS } from "./support/drive-rig.ts";
import { FakeAgent } from "./support/fake-agent.ts";
import { processClock } from "./support/memory-rig.ts";

const SECRET = "secret";
const KEY = Buffer.alloc(32, 1);
const ROOT = 1;
const FILE = 2;
const REPLY_BYTES_MAX = RECORD_BYTES_MAX;
/** Inputs on one tree, which they fill. */
const INPUTS_ON_ONE = 100;

/** The fake agent has every byte of a file in memory: the server's limit is a small one. */
const FILE_BYTES = 1 << 20;
const TOO_LARGE: RequestResult = {
  error: ERRNO_OF_KIND.TooLarge,
  kind: "TooLarge",
  written: 0,
  keepsCache: false,
};

/** The size that a request gives to a file, at least. */
function endOf({ sizeBytes, offset = 0, data }: { sizeBytes?: number; offset?: number; data?: Uint8Array }): number {
  return sizeBytes ?? (data === undefined ? 0 : offset + data.length);
}

interface Served {
  server: RpcServer;
  failures: string[];
  close(): Promise<void>;
}

async function newServer(): Promise<Served> {
  const folder = mkdtempSync(join(tmpdir(), "runnel-nfs-fuzz-"));
  const overlayFolder = join(folder, "overlay");
  mkdirSync(overlayFolder);
  const settings = { mountpoint: "", source: "", overlayFolder, overlayPrefix: "fuzz", isReadOnly: false };
  const drive = memoryDrive({ ...settings, ...RIG_SETTINGS, kernelTimeoutMs: 0 }, processClock);
  const fake = new FakeAgent(drive, join(folder, "cache"), () => processClock.bootMs(), ME);
  await fake.start();
  fake.remoteWrite("file", Buffer.from("content"));
  const nodeCalls = new NodeCalls(async (op, args) => (endOf(args) > FILE_BYTES ? TOO_LARGE : drive.request(op, args)));
  const failures: string[] = [];
  const log = (message: string, error?: unknown): void => {
    if (error !== undefined) failures.push(`${message}: ${(error as Error).stack}`);
  };
  const context = {
    calls: nodeCalls,
    files: new OpenFiles(nodeCalls, processClock, log),
    handles: new FileHandles(() => "epoch", KEY),
    listings: new Listings(nodeCalls, processClock),
    madeOnce: new MadeOnce(),
    clock: processClock,
    verifier: new Uint8Array(8),
  };
  const served = { secret: SECRET, isOnce: false, rootNode: ROOT };
  const server = new RpcServer({ context, export: served, uid: ME.uid, log });
  const close = async (): Promise<void> => {
    context.files.stop();
    context.listings.close();
    await drive.close(true);
    rmSync(folder, { recursive: true });
  };
  return { server, failures, close };
}

/** Good calls, of every procedure. */
function seeds(): Uint8Array[] {
  const handles = new FileHandles(() => "epoch", KEY);
  const root = { data: handles.seal(ROOT) };
  const file = { data: handles.seal(FILE) };
  const no = { set: false };
  const none = { mode: no, uid: no, gid: no, size: no, atime: { how: 0 }, mtime: { how: 0 } };
  const some = { ...none, mode: { set: true, mode: 0o644 }, size: { set: true, size: 3n }, mtime: { how: 1 } };
  const where = { dir: root, name: "name" };
  const cookieverf = new Uint8Array(8);
  const requests: [number, Parameters<typeof nfsCall>[1]][] = [
    [NFS_PROC.GETATTR, { object: root }],
    [NFS_PROC.SETATTR, { object: file, newAttributes: some, guard: { check: false } }],
    [NFS_PROC.LOOKUP, { what: { dir: root, name: "file" } }],
    [NFS_PROC.ACCESS, { object: file, access: 63 }],
    [NFS_PROC.READ, { file, offset: 2n, count: 100 }],
    [NFS_PROC.WRITE, { file, offset: 3n, count: 4, stable: 2, data: Buffer.from("more") }],
    [NFS_PROC.CREATE, { where, how: { mode: 0, objAttributes: some } }],
    [NFS_PROC.CREATE, { where, how: { mode: 2, verf: new Uint8Array(8) } }],
    [NFS_PROC.MKDIR, { where: { ...where, name: "folder" }, attributes: none }],
    [NFS_PROC.SYMLINK, { where: { ...where, name: "link" }, symlinkAttributes: none, symlinkData: "target" }],
    [NFS_PROC.MKNOD, { where: { ...where, name: "pipe" }, what: { type: 7, pipe: none } }],
    [NFS_PROC.LINK, { file, link: { dir: root, name: "second" } }],
    [NFS_PROC.RENAME, { from: { dir: root, name: "second" }, to: { dir: root, name: "third" } }],
    [NFS_PROC.REMOVE, { object: { dir: root, name: "third" } }],
    [NFS_PROC.RMDIR, { object: { dir: root, name: "folder" } }],
    [NFS_PROC.READDIR, { dir: root, cookie: 0n, cookieverf, count: 4096 }],
    [NFS_PROC.READDIRPLUS, { dir: root, cookie: 0n, cookieverf, dircount: 1000, maxcount: 4096 }],
    [NFS_PROC.FSSTAT, { fsroot: root }],
    [NFS_PROC.FSINFO, { fsroot: root }],
    [NFS_PROC.PATHCONF, { object: root }],
    [NFS_PROC.COMMIT, { file, offset: 0n, count: 0 }],
  ];
  const messages = requests.map(([procedure, request], xid) => nfsCall(procedure, request, { xid }));
  const mounts = [mountCall(MOUNT_PROC.MNT, `/${SECRET}`, { xid: 99 }), mountCall(MOUNT_PROC.UMNT, "/", { xid: 98 })];
  return [...messages.map((call) => joinMessages([call])), joinMessages(messages.slice(5, 15)), joinMessages(mounts)];
}

/** Calls, one after the other: each is answered, within bounds, and none is a failure of the server itself. */
function calls(): FuzzTarget {
  let current: Served | undefined;
  let inputs = 0;
  return {
    structure: "messages",
    seeds: seeds(),
    run: async (input) => {
      if (inputs++ % INPUTS_ON_ONE === 0) {
        await current?.close();
        current = undefined;
      }
      current ??= await newServer();
      const { server, failures } = current;
      for (const message of splitMessages(input)) {
        const reply = (await server.answer(message))?.record;
        requireThat((reply?.length ?? 0) <= REPLY_BYTES_MAX, "an answer has a bound");
        requireThat(failures.length === 0, `no call fails by a mistake of ours: ${failures[0]}`);
      }
    },
  };
}

/** A stream, in steps of so many bytes (u8): what is kept of it has a bound. */
function records(): FuzzTarget {
  const stream = Buffer.from("0000000541424344450080000003464748", "hex");
  return {
    structure: "bytes",
    seeds: [Buffer.concat([Uint8Array.of(3), stream]), Uint8Array.of(200, 0x80, 0, 0, 1, 7, 0x80, 0, 0, 0)],
    run: (input) => {
      const step = (input[0] ?? 0) + 1;
      const splitter = new RecordSplitter();
      try {
        for (let at = 1; at < input.length; at += step)
          for (const record of splitter.push(Buffer.from(input.subarray(at, at + step))))
            requireThat(record.length <= RECORD_BYTES_MAX, "a record has a bound");
      } catch (error) {
        requireThat(error instanceof RangeError, "it refuses what is too long, and nothing else");
      }
    },
  };
}

export const targets: Targets = { "nfs calls": calls, "nfs records": records };
