// The NFS drive: what real clients see of it (libnfs), and whom it lets in.
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { constants } from "node:fs";
import type { Clock } from "@runnel/shared/model";
import { LOOKS_FOR_UNMOUNT } from "../src/drive/nfs-drive.ts";
import type { SystemMount } from "../src/drive/nfs/host/system-mount.ts";
import { CONNECTIONS_MAX } from "../src/drive/nfs/wire/bounds.ts";
import { ACCEPT, NFS_PROC, STABLE, STATUS } from "../src/drive/nfs/wire/constants.ts";
import { LibnfsProgram } from "./nfs/libnfs-program.ts";
import { type Asked, callBytes, nfsCall, readReply } from "./nfs/nfs-calls.ts";
import { hasLibnfs, type NfsServed, serveNfs } from "./nfs/nfs-rig.ts";
import { createFile, NO_CHANGE, RawClient } from "./nfs/raw-client.ts";
import { waitUntil } from "./support/drive-rig.ts";
import { processClock } from "./support/memory-rig.ts";

const run = promisify(execFile);
const ANOTHER_UID = 65_534;
const ENOTEMPTY = 39;

/** Resolves to "connected", or to the code of what keeps from it. */
async function endOfConnecting(host: string, port: number): Promise<string> {
  const socket = connect(port, host);
  try {
    await once(socket, "connect");
    return "connected";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "";
  } finally {
    socket.destroy();
  }
}

const { O_CREAT, O_EXCL } = constants;
let served: NfsServed;
let folder: string;

beforeEach(async () => {
  served = await serveNfs({}, { quietMs: 100 });
  folder = await mkdtemp(join(tmpdir(), "runnel-nfs-client-"));
});

afterEach(async () => {
  await served.close();
  await rm(folder, { recursive: true, force: true });
});

(hasLibnfs() ? describe : describe.skip)("the NFS drive", () => {
  test("nfs-ls, nfs-cat and nfs-cp of libnfs read and write it", async () => {
    served.fake.remoteWrite("read.txt", Buffer.from("from the server\n"));
    const { stdout: listed } = await run("nfs-ls", [served.address]);
    expect(listed).toMatch(/ 16 read\.txt$/m);
    const { stdout: shown } = await run("nfs-cat", [served.at("read.txt")]);
    expect(shown).toBe("from the server\n");
    const source = join(folder, "large");
    const bytes = Buffer.alloc(3_000_001).map((_, at) => (at * 7) % 251);
    await writeFile(source, bytes);
    await run("nfs-cp", [source, served.at("large")]);
    await waitUntil(async () => served.fake.bytesAt("large")?.equals(bytes) === true);
    await run("nfs-cp", [served.at("large"), join(folder, "back")]);
    expect((await readFile(join(folder, "back"))).equals(bytes)).toBe(true);
  });

  test("programs that use it at once see one drive, also when one of them is killed", async () => {
    const [one, other] = await Promise.all([LibnfsProgram.start(served.address), LibnfsProgram.start(served.address)]);
    await one.mkdir("d");
    const writing = await one.open("d/a", constants.O_RDWR | constants.O_CREAT);
    await one.write(writing, 0, Buffer.from("written"));
    const reading = await other.open("d/a", constants.O_RDONLY);
    expect(Buffer.from(await other.read(reading, 0, 100)).toString()).toBe("written");
    // It is never closed, and saved all the same, a while after the last write.
    await one.end();
    await waitUntil(async () => served.fake.bytesAt("d/a")?.toString() === "written");
    await other.rename("d/a", "b");
    expect(await other.readdir("")).toEqual(["b", "d"]);
    await other.unlink("b");
    await expect(other.stat("b")).rejects.toMatchObject({ errno: 2 });
    await other.end();
  });

  test("what a Mac keeps of a file in ._NAME beside it is an ordinary file, written, renamed and removed as such", async () => {
    const program = await LibnfsProgram.start(served.address);
    /** Magic of AppleDouble (RFC 1740), and what a Mac pads it with. */
    const tags = Buffer.concat([Buffer.from([0, 5, 0x16, 7, 0, 2, 0, 0]), Buffer.alloc(4088, "tags\0")]);
    const write = async (path: string, data: Buffer, flags = O_CREAT | O_EXCL): Promise<void> => {
      const file = await program.open(path, constants.O_RDWR | flags);
      await program.write(file, 0, data);
      await program.close(file);
    };
    await program.mkdir("d");
    await write("d/a", Buffer.from("text"));
    await write("d/._a", tags);
    // Finder reads them, and changes a few bytes in the middle.
    const file = await program.open("d/._a", constants.O_RDWR);
    expect(Buffer.from(await program.read(file, 0, 5000)).equals(tags)).toBe(true);
    await program.write(file, 50, Buffer.from("red"));
    await program.close(file);
    tags.write("red", 50);
    await waitUntil(async () => served.fake.bytesAt("d/._a")?.equals(tags) === true);
    expect(served.fake.bytesAt("d/a")?.toString()).toBe("text");
    expect(await program.readdir("d")).toEqual(["._a", "a"]);

    await program.rename("d/a", "d/b");
    await program.rename("d/._a", "d/._b");
    expect(await program.readdir("d")).toEqual(["._b", "b"]);
    expect([served.fake.bytesAt("d/b")?.toString(), served.fake.bytesAt("d/._b")?.equals(tags)]).toEqual([
      "text",
      true,
    ]);
    // A save as programs of a Mac make it: a new file takes the name, and its tags take that of the old ones.
    await write("d/new", Buffer.from("newer"));
    await write("d/._new", Buffer.from("\0"));
    await program.rename("d/new", "d/b");
    await program.rename("d/._new", "d/._b");
    await waitUntil(async () => served.fake.bytesAt("d/b")?.toString() === "newer");
    expect(served.fake.bytesAt("d/._b")).toHaveLength(1);

    // A folder with nothing but tags is not empty, to a Mac either.
    await program.unlink("d/b");
    await expect(program.stat("d/b")).rejects.toMatchObject({ errno: 2 });
    await expect(program.rmdir("d")).rejects.toMatchObject({ errno: ENOTEMPTY });
    await program.unlink("d/._b");
    await expect(program.unlink("d/._b")).rejects.toMatchObject({ errno: 2 });
    await program.rmdir("d");
    // Without its file it is a file, too; so is the name that has nothing behind it.
    for (const name of ["._alone", "._", "._._a"]) {
      await write(name, tags);
      await waitUntil(async () => served.fake.bytesAt(name)?.equals(tags) === true);
      await program.unlink(name);
    }
    expect(await program.readdir("")).toEqual([]);
    await program.end();
  });

  (process.getuid?.() === 0 ? test : test.skip)(
    "a program of another user is not let in, whatever it knows",
    async () => {
      await expect(LibnfsProgram.start(served.address, ANOTHER_UID)).rejects.toThrow("libnfs");
      expect(served.logged).toContain("a connection to the NFS drive was refused: it is another user's");
    },
  );
});

describe("the NFS server", () => {
  let client: RawClient;

  beforeEach(() => {
    client = new RawClient(served.address);
  });

  afterEach(() => {
    client.end();
  });

  test("lets in nobody who says to be another user, nor one whose connection is another's", async () => {
    served.fake.remoteWrite("a", Buffer.from("text"));
    const root = await client.mount();
    const what = { dir: root, name: "a" };
    const other = { uid: (process.getuid?.() ?? 0) + 1, gid: 0 };
    expect(await client.call(NFS_PROC.LOOKUP, { what }, { user: other })).toMatchObject({ accepted: undefined });
    expect(await client.call(NFS_PROC.LOOKUP, { what })).toMatchObject({ response: { status: STATUS.OK } });
    const refusing = await serveNfs({}, { peerUid: async () => (process.getuid?.() ?? 0) + 1 });
    const before = served;
    served = refusing;
    const refused = new RawClient(served.address);
    await waitUntil(async () => refused.isClosed);
    expect(refusing.logged).toEqual(["a connection to the NFS drive was refused: it is another user's"]);
    served = before;
    await refusing.close();
  });

  test("is reached at 127.0.0.1 and at no other address of this machine", async () => {
    const port = Number(new URL(served.address).searchParams.get("nfsport"));
    const own = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.map(({ address }) => address));
    // On Linux the whole network 127 is this machine's.
    const others = [...own, ...(process.platform === "linux" ? ["127.0.0.2"] : [])].filter((at) => at !== "127.0.0.1");
    expect(others.length).toBeGreaterThan(0);
    const ends = await Promise.all(others.map(async (host) => [host, await endOfConnecting(host, port)]));
    expect(ends.filter(([, end]) => end === "connected")).toEqual([]);
    expect(await endOfConnecting("127.0.0.1", port)).toBe("connected");
  });

  test("answers what it cannot do by RPC's words, and ends a connection that sends no calls", async () => {
    const nothing = new Uint8Array();
    const accepted = async (procedure: number, asked: Partial<Asked>): Promise<number | undefined> =>
      readReply(await client.ask(callBytes(procedure, nothing, { xid: 1, ...asked })), 0).accepted;
    expect(await accepted(0, {})).toBe(ACCEPT.SUCCESS);
    expect(await accepted(1, { program: 7 })).toBe(ACCEPT.PROG_UNAVAIL);
    expect(await accepted(1, { version: 4 })).toBe(ACCEPT.PROG_MISMATCH);
    expect(await accepted(22, {})).toBe(ACCEPT.PROC_UNAVAIL);
    expect(await accepted(1, {})).toBe(ACCEPT.GARBAGE_ARGS);
    client.send(Buffer.from("GET / HTTP/1.1\r\n\r\n"));
    await waitUntil(async () => client.isClosed);
  });

  test("a call that is sent again is not carried out again", async () => {
    const root = await client.mount();
    const where = { dir: root, name: "d" };
    const making = { where, attributes: NO_CHANGE };
    const ok = { response: { status: STATUS.OK } };
    expect(await client.call(NFS_PROC.MKDIR, making, { xid: 50 })).toMatchObject(ok);
    const again = new RawClient(served.address);
    expect(await again.call(NFS_PROC.MKDIR, making, { xid: 50 })).toMatchObject(ok);
    expect(await again.call(NFS_PROC.MKDIR, making, { xid: 51 })).toMatchObject({
      response: { status: STATUS.EXIST },
    });
    const exclusive = { where: { dir: root, name: "f" }, how: { mode: 2, verf: Buffer.from("12345678") } };
    expect(await again.call(NFS_PROC.CREATE, exclusive, { xid: 52 })).toMatchObject(ok);
    expect(await again.call(NFS_PROC.CREATE, exclusive, { xid: 53 })).toMatchObject(ok);
    const others = { ...exclusive, how: { mode: 2, verf: Buffer.from("87654321") } };
    expect(await again.call(NFS_PROC.CREATE, others, { xid: 54 })).toMatchObject({
      response: { status: STATUS.EXIST },
    });
    again.end();
  });

  test("a stable WRITE and a COMMIT are answered when the agent has it, an unstable WRITE before", async () => {
    served.fake.remoteWrite("a", Buffer.from("0123456789"));
    const root = await client.mount();
    const file = await client.lookup(root, "a");
    const data = Buffer.from("xy");
    const write = (stable: number, offset: bigint) =>
      client.call(NFS_PROC.WRITE, { file, offset, count: data.length, stable, data });
    expect(await write(STABLE.UNSTABLE, 0n)).toMatchObject({ response: { resok: { committed: STABLE.UNSTABLE } } });
    expect(served.fake.bytesAt("a")?.toString()).toBe("0123456789");
    expect(await client.call(NFS_PROC.COMMIT, { file, offset: 0n, count: 0 })).toMatchObject({
      response: { status: STATUS.OK },
    });
    expect(served.fake.bytesAt("a")?.toString()).toBe("xy23456789");
    expect(await write(STABLE.FILE_SYNC, 8n)).toMatchObject({ response: { resok: { committed: STABLE.FILE_SYNC } } });
    expect(served.fake.bytesAt("a")?.toString()).toBe("xy234567xy");
    // A commit that fails is the client's error, and may be asked for again.
    await write(STABLE.UNSTABLE, 4n);
    served.fake.failNext("commit", "NoSpace");
    const commit = (): Promise<unknown> => client.call(NFS_PROC.COMMIT, { file, offset: 0n, count: 0 });
    expect(await commit()).toMatchObject({ response: { status: STATUS.NOSPC } });
    expect(await commit()).toMatchObject({ response: { status: STATUS.OK } });
    expect(served.fake.bytesAt("a")?.toString()).toBe("xy23xy67xy");
  });

  test("what nobody asks for is committed after a while, and its failure told to who asks next", async () => {
    served.fake.remoteWrite("a", Buffer.from("0123456789"));
    const root = await client.mount();
    const file = await client.lookup(root, "a");
    served.fake.failNext("commit", "Quota");
    await client.call(NFS_PROC.WRITE, { file, offset: 0n, count: 1, stable: 0, data: Buffer.from("x") });
    await waitUntil(async () => served.fake.drive.statistics().openFiles === 0);
    const commit = (): Promise<unknown> => client.call(NFS_PROC.COMMIT, { file, offset: 0n, count: 0 });
    expect(await commit()).toMatchObject({ response: { status: STATUS.DQUOT } });
    expect(await commit()).toMatchObject({ response: { status: STATUS.OK } });
  });

  test("what was written is committed a while after the last WRITE, also while it is read all the time", async () => {
    const slower = await serveNfs({}, { quietMs: 500 });
    const reader = new RawClient(slower.address);
    const file = await createFile(reader, await reader.mount(), "a");
    await reader.call(NFS_PROC.WRITE, { file, offset: 0n, count: 1, stable: 0, data: Buffer.from("x") });
    await waitUntil(async () => {
      await reader.call(NFS_PROC.READ, { file, offset: 0n, count: 1 });
      return slower.fake.bytesAt("a")?.toString() === "x";
    });
    reader.end();
    await slower.close();
  });

  test("handles outlive their names' changes, but not their file; names meet in either normal form", async () => {
    const composed = "caf\u00e9";
    served.fake.remoteWrite(composed.normalize("NFD"), Buffer.from("text"));
    const root = await client.mount();
    // It keeps the form that the volume has, whichever its client writes.
    const making = { where: { dir: root, name: composed }, how: { mode: 0, objAttributes: NO_CHANGE } };
    expect(await client.call(NFS_PROC.CREATE, making)).toMatchObject({ response: { status: STATUS.OK } });
    await createFile(client, root, "other");
    const replacing = { from: { dir: root, name: "other" }, to: { dir: root, name: composed } };
    expect(await client.call(NFS_PROC.RENAME, replacing)).toMatchObject({ response: { status: STATUS.OK } });
    expect(served.fake.bytesAt(composed)).toBeUndefined();
    expect(served.fake.bytesAt(composed.normalize("NFD"))).toHaveLength(0);
    const object = await client.lookup(root, composed);
    served.fake.remoteRename(composed.normalize("NFD"), "renamed");
    expect(await client.call(NFS_PROC.GETATTR, { object })).toMatchObject({ response: { status: STATUS.OK } });
    const removed = await client.call(NFS_PROC.REMOVE, { object: { dir: root, name: "renamed" } });
    expect(removed).toMatchObject({ response: { status: STATUS.OK } });
    expect(await client.call(NFS_PROC.GETATTR, { object })).toMatchObject({ response: { status: STATUS.STALE } });
  });

  test("a name that is no UTF-8 is the text that the volume has for it, and bytes that are none are refused", async () => {
    const text = "a\uf7ff";
    served.fake.remoteWrite(text, Buffer.from("text"));
    const root = await client.mount();
    expect((await client.lookup(root, text)).data).toHaveLength(32);
    const asked = nfsCall(NFS_PROC.LOOKUP, { what: { dir: root, name: "abcd" } }, { xid: 9 });
    asked[asked.indexOf("abcd")] = 0xff;
    expect(readReply(await client.ask(asked), 0)).toMatchObject({ accepted: ACCEPT.GARBAGE_ARGS });
  });

  test("a program that reads on meets what others have saved", async () => {
    served.fake.remoteWrite("a", Buffer.from("text"));
    const root = await client.mount();
    const file = await client.lookup(root, "a");
    const read = (offset: bigint): Promise<object> => client.call(NFS_PROC.READ, { file, offset, count: 4 });
    expect(await read(0n)).toMatchObject({ response: { resok: { data: Buffer.from("text"), eof: true } } });
    served.fake.remoteWrite("a", Buffer.from("a longer text"));
    expect(await read(4n)).toMatchObject({ response: { resok: { data: Buffer.from("nger"), eof: false } } });
  });

  test("a folder is read page by page, each name once; a cookie holds when the folder has changed, and another serves it", async () => {
    const asked = (answering: RawClient, dir: { data: Uint8Array }, cookie: bigint) =>
      answering.call(NFS_PROC.READDIRPLUS, {
        dir,
        cookie,
        cookieverf: new Uint8Array(8),
        dircount: 2000,
        maxcount: 4096,
      });
    /** Reads on from a cookie, for so many pages. */
    async function readOn(by: RawClient, from: bigint, pages: number): Promise<{ names: string[]; cookie: bigint }> {
      const dir = await by.lookup(await by.mount(), "many");
      const names: string[] = [];
      let cookie = from;
      for (let page = 0, eof = false; !eof && page < pages; page++) {
        const { response } = await asked(by, dir, cookie);
        type Entry = { name: string; cookie: bigint; nextentry?: Entry };
        const { reply } = (response as { resok: { reply: { eof: boolean; entries?: Entry } } }).resok;
        for (let entry = reply.entries; entry !== undefined; entry = entry.nextentry) {
          names.push(entry.name);
          ({ cookie } = entry);
        }
        ({ eof } = reply);
      }
      return { names, cookie };
    }
    await served.fake.fill("many", 300);
    const all = [".", "..", ...Array.from({ length: 300 }, (_, at) => `f${at}`)].sort();
    expect((await readOn(client, 0n, Infinity)).names.sort()).toEqual(all);
    const begun = await readOn(client, 0n, 3);
    expect(begun.names.length).toBeLessThan(100);
    const before = served;
    served = await serveNfs();
    await served.fake.fill("many", 300);
    served.fake.remoteWrite("many/new", Buffer.from("new"));
    const other = new RawClient(served.address);
    const rest = await readOn(other, begun.cookie, Infinity);
    const seen = [...begun.names, ...rest.names].filter((name) => name !== "new");
    expect(seen.sort()).toEqual(all);
    other.end();
    await served.close();
    served = before;
  });

  test("a fetch that fails is an I/O error of the READ, and the next READ fetches again", async () => {
    served.fake.remoteWrite("a", Buffer.from("text"));
    const root = await client.mount();
    const file = await client.lookup(root, "a");
    served.fake.failNext("fetch", "Unreachable");
    const read = (): Promise<unknown> => client.call(NFS_PROC.READ, { file, offset: 0n, count: 100 });
    expect(await read()).toMatchObject({ response: { status: STATUS.IO } });
    expect(await read()).toMatchObject({ response: { resok: { count: 4, eof: true, data: Buffer.from("text") } } });
  });

  test("has bounds: connections, and what a connection leaves unfinished", async () => {
    const many = Array.from({ length: CONNECTIONS_MAX + 5 }, () => new RawClient(served.address));
    await waitUntil(async () => many.filter(({ isClosed }) => isClosed).length >= 5);
    for (const one of many) one.end();
    await waitUntil(async () => many.every(({ isClosed }) => isClosed));
    const unfinished = new RawClient(served.address);
    unfinished.send(Buffer.from([0, 4, 0, 0]));
    for (let sent = 0; sent < 3; sent++) unfinished.send(Buffer.alloc(100_000));
    await waitUntil(async () => unfinished.isClosed);
  });
});

describe("a drive that the system mounts", () => {
  const done: string[] = [];
  let isThere: boolean;
  let looks: number;
  let mounted: NfsServed;
  let first: RawClient;

  beforeEach(async () => {
    done.length = 0;
    isThere = true;
    looks = 0;
    let address = "";
    const system: SystemMount = {
      mount: async (port, path, mountpoint) => {
        done.push(`mount ${mountpoint}`);
        address = `nfs://127.0.0.1/${path}?nfsport=${port}`;
      },
      unmount: async (_, force) => {
        done.push(force ? "unmount by force" : "unmount");
        if (!force) await new Promise(() => undefined);
      },
      isMounted: async () => {
        looks += 1;
        return isThere;
      },
    };
    const clock: Clock = { ...processClock, after: (delayMs, fire) => processClock.after(delayMs / 100, fire) };
    mounted = await serveNfs({}, { systemMount: system, clock });
    first = new RawClient(address);
  });

  afterEach(async () => {
    first.end();
    await mounted.close();
  });

  const hasEnded = async (): Promise<boolean> => mounted.fake.log.some(({ op }) => op === "unmounted");

  test("gives its path to the first who asks alone, and ends when it is unmounted by others", async () => {
    expect(mounted.drive.address).toBeUndefined();
    expect((await first.mount()).data).toHaveLength(32);
    expect(await first.mountStatus()).toBe(STATUS.NOENT);
    isThere = false;
    // Whoever says so, and however often: the system is asked.
    await Promise.allSettled(Array.from({ length: 50 }, () => first.unmounted()));
    await waitUntil(async () => first.isClosed);
    await waitUntil(hasEnded);
    expect(looks).toBe(1);
    expect(done).toEqual(["mount "]);
  });

  test("goes on when a client says that it has unmounted it and the system has not, and looks again at the next word", async () => {
    await first.unmounted();
    await waitUntil(async () => looks === LOOKS_FOR_UNMOUNT);
    expect(await hasEnded()).toBe(false);
    isThere = false;
    await waitUntil(async () => {
      if (!first.isClosed) await first.unmounted().catch(() => undefined);
      return hasEnded();
    });
  });

  test("is unmounted by force while it is being unmounted, and programs or the server hold that up", async () => {
    void mounted.drive.close(false);
    await mounted.drive.close(true);
    expect(done).toEqual(["mount ", "unmount", "unmount by force"]);
    expect(await hasEnded()).toBe(true);
  });
});

test("a drive is closed by force while it waits for a commit; who waits otherwise is told when it has ended", async () => {
  const client = new RawClient(served.address);
  const file = await createFile(client, await client.mount(), "a");
  await client.call(NFS_PROC.WRITE, { file, offset: 0n, count: 1, stable: 0, data: Buffer.from("x") });
  served.fake.hold("commit");
  const closing = [served.drive.close(false), served.drive.close(false)];
  await waitUntil(async () => served.fake.heldCount() === 1);
  let ended = 0;
  for (const one of closing) void one.then(() => (ended += 1));
  await new Promise((resolve) => setImmediate(resolve));
  expect(ended).toBe(0);
  await served.drive.close(true);
  await Promise.all(closing);
});
