// The NFS drive as a system has it that maps it by its own client: on macOS, by mount_nfs. Linux maps nothing, so that
// the program there is one with libnfs, which makes the same calls.
import { constants } from "node:fs";
import { mkdir, mkdtemp, realpath, rm, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { systemMount } from "../src/drive/nfs/host/system-mount.ts";
import { LibnfsProgram } from "./nfs/libnfs-program.ts";
import { hasLibnfs, type NfsServed, serveNfs } from "./nfs/nfs-rig.ts";
import { type TestProgram, waitUntil } from "./support/drive-rig.ts";
import { programAt } from "./support/fuse-rig.ts";

const { O_CREAT, O_RDONLY, O_RDWR } = constants;
const PIECE_BYTES = 256 * 1024;
const ENOENT = 2;
/** A mount of the system goes through its kernel, and shows what others have written a second later. */
const TEST_MS = 60_000;

const isMac = process.platform === "darwin";
const how = isMac ? "mapped by macOS" : "of a program with libnfs";

let folder: string;
let mountpoint: string;
let served: NfsServed;
let program: Pick<TestProgram, keyof LibnfsProgram & keyof TestProgram>;
let end: () => Promise<unknown>;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "runnel-nfs-mapped-")));
  mountpoint = join(folder, "drive");
  await mkdir(mountpoint);
  served = await serveNfs({ mountpoint }, isMac ? { systemMount: systemMount() ?? null } : {});
  if (isMac) {
    ({ program, end } = await programAt(mountpoint));
  } else {
    const client = await LibnfsProgram.start(served.address);
    [program, end] = [client, () => client.end()];
  }
}, TEST_MS);

afterEach(async () => {
  await end?.();
  await served.close();
  await rm(folder, { recursive: true, force: true });
}, TEST_MS);

async function read(path: string): Promise<Buffer> {
  const fd = await program.open(path, O_RDONLY);
  const parts: Uint8Array[] = [];
  for (let at = 0; ;) {
    const part = await program.read(fd, at, PIECE_BYTES);
    if (part.length === 0) break;
    parts.push(part);
    at += part.length;
  }
  await program.close(fd);
  return Buffer.concat(parts);
}

/** Names but those that a system makes for itself: macOS keeps attributes in `._NAME`. */
const names = async (path: string): Promise<string[]> =>
  (await program.readdir(path)).filter((name) => !name.startsWith("."));

(isMac || hasLibnfs() ? describe : describe.skip)(`a drive over NFS ${how}`, () => {
  test(
    "shows what the agent has, saves what a program writes, and is unmounted",
    async () => {
      served.fake.remoteWrite("read.txt", Buffer.from("from the server\n"));
      await waitUntil(async () => (await names("")).includes("read.txt"));
      expect((await read("read.txt")).toString()).toBe("from the server\n");
      expect((await program.stat("read.txt")).sizeBytes).toBe(16);

      const bytes = Buffer.alloc(3_000_001).map((_, at) => (at * 7) % 251);
      await program.mkdir("folder");
      const fd = await program.open("folder/new", O_RDWR | O_CREAT);
      for (let at = 0; at < bytes.length; at += PIECE_BYTES)
        await program.write(fd, at, bytes.subarray(at, at + PIECE_BYTES));
      await program.fsync(fd);
      await program.close(fd);
      expect(served.fake.bytesAt("folder/new")?.equals(bytes)).toBe(true);
      await program.rename("folder/new", "folder/named");
      expect(await names("folder")).toEqual(["named"]);
      expect((await read("folder/named")).equals(bytes)).toBe(true);

      served.fake.remoteWrite("read.txt", Buffer.from("changed elsewhere"));
      await waitUntil(async () => (await read("read.txt")).toString() === "changed elsewhere");
      await program.unlink("folder/named");
      await expect(program.stat("folder/named")).rejects.toMatchObject({ errno: ENOENT });
      expect(served.fake.bytesAt("folder/named")).toBeUndefined();

      await end();
      await served.drive.close(false);
      // A folder on which something is mounted is not removed.
      await rmdir(mountpoint);
      expect(await systemMount()?.isMounted(mountpoint)).not.toBe(true);
    },
    TEST_MS,
  );
});
