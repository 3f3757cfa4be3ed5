// Clients of the NFS drive that lie, break off, or ask for more than there is.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { Nfsv3Request } from "@jsonjoy.com/json-pack/lib/nfs/v3/messages.js";
import { CONNECTIONS_MAX, NAME_BYTES_MAX } from "../../src/drive/nfs/wire/bounds.ts";
import { MOUNT_PROC, NFS_PROC, STABLE, STATUS } from "../../src/drive/nfs/wire/constants.ts";
import { waitUntil } from "../support/drive-rig.ts";
import { mountCall, recordOf } from "./nfs-calls.ts";
import { type NfsServed, serveNfs } from "./nfs-rig.ts";
import { createFile, type FileHandle, NO_CHANGE, RawClient } from "./raw-client.ts";

let served: NfsServed;
let client: RawClient;
let root: FileHandle;

beforeEach(async () => {
  served = await serveNfs({}, { quietMs: 100 });
  client = new RawClient(served.address);
  root = await client.mount();
});

afterEach(async () => {
  client.end();
  await served.close();
});

const withStatus = (status: number): object => ({ response: { status } });
const U32_MAX = 0xffff_ffff;
const U64_MAX = 2n ** 64n - 1n;

describe("numbers beyond any file", () => {
  test.each([2n ** 38n, 2n ** 53n + 1n, 2n ** 63n - 1n, 2n ** 63n, U64_MAX])("as offset: %d", async (offset) => {
    served.fake.remoteWrite("a", Buffer.from("text"));
    const file = await client.lookup(root, "a");
    const data = Buffer.from("xy");
    const size = { set: true, size: offset < U64_MAX ? offset + 1n : offset };
    expect(await client.call(NFS_PROC.READ, { file, offset, count: U32_MAX })).toMatchObject({
      response: { status: STATUS.OK, resok: { count: 0, eof: true } },
    });
    for (const [procedure, request] of [
      [NFS_PROC.WRITE, { file, offset, count: 2, stable: STABLE.FILE_SYNC, data }],
      [NFS_PROC.SETATTR, { object: file, newAttributes: { ...NO_CHANGE, size }, guard: { check: false } }],
      [NFS_PROC.CREATE, { where: { dir: root, name: "a" }, how: { mode: 0, objAttributes: { ...NO_CHANGE, size } } }],
    ] as const)
      expect(await client.call(procedure, request)).toMatchObject(withStatus(STATUS.FBIG));
    expect(await client.call(NFS_PROC.COMMIT, { file, offset, count: U32_MAX })).toMatchObject(withStatus(STATUS.OK));
    expect(served.fake.bytesAt("a")?.toString()).toBe("text");
  });

  test("as count and cookie", async () => {
    served.fake.remoteWrite("a", Buffer.from("text"));
    const file = await client.lookup(root, "a");
    const data = Buffer.from("x");
    const writing = { file, offset: 0n, count: U32_MAX, stable: STABLE.FILE_SYNC, data };
    expect(await client.call(NFS_PROC.WRITE, writing)).toMatchObject(withStatus(STATUS.INVAL));
    const listing = { dir: root, cookieverf: new Uint8Array(8) };
    const most = { count: U32_MAX, dircount: U32_MAX, maxcount: U32_MAX };
    for (const procedure of [NFS_PROC.READDIR, NFS_PROC.READDIRPLUS]) {
      expect(await client.call(procedure, { ...listing, ...most, cookie: U64_MAX })).toMatchObject({
        response: { status: STATUS.OK, resok: { reply: { eof: true } } },
      });
      const none = { count: 0, dircount: 0, maxcount: 0, cookie: 0n };
      expect(await client.call(procedure, { ...listing, ...none })).toMatchObject(withStatus(STATUS.TOOSMALL));
    }
  });
});

/** Each call that gives a name, with one. */
function naming(name: string, file: FileHandle): readonly (readonly [number, Nfsv3Request])[] {
  const named = { dir: root, name };
  const there = { dir: root, name: "a" };
  return [
    [NFS_PROC.CREATE, { where: named, how: { mode: 0, objAttributes: NO_CHANGE } }],
    [NFS_PROC.MKDIR, { where: named, attributes: NO_CHANGE }],
    [NFS_PROC.SYMLINK, { where: named, symlinkAttributes: NO_CHANGE, symlinkData: "a" }],
    [NFS_PROC.MKNOD, { where: named, what: { type: 7, pipe: NO_CHANGE } }],
    [NFS_PROC.REMOVE, { object: named }],
    [NFS_PROC.RMDIR, { object: named }],
    [NFS_PROC.RENAME, { from: named, to: there }],
    [NFS_PROC.RENAME, { from: there, to: named }],
    [NFS_PROC.LINK, { file, link: named }],
  ];
}

test.each([
  ["nothing", ""],
  ["a slash", "/"],
  ["a path", "a/b"],
  ["NUL in it", "a\0b"],
  ["the folder itself", "."],
  ["the folder above", ".."],
  ["a byte too many", "n".repeat(NAME_BYTES_MAX + 1)],
  ["a byte too many, in characters of two", "é".repeat(NAME_BYTES_MAX / 2 + 1)],
])("a name that is none is refused by each call that gives one: %s", async (_, name) => {
  served.fake.remoteWrite("a", Buffer.from("text"));
  const file = await client.lookup(root, "a");
  for (const [procedure, request] of naming(name, file)) {
    const { response } = await client.call(procedure, request);
    expect([procedure, response?.status]).not.toEqual([procedure, STATUS.OK]);
    expect([procedure, response?.status]).not.toEqual([procedure, STATUS.SERVERFAULT]);
  }
  const asked = served.fake.log.map(({ op }) => op);
  for (const op of ["create", "make", "link", "remove", "rename"] as const) expect(asked).not.toContain(op);
});

test("no handle is good that this drive has not given out in this life", async () => {
  const other = await serveNfs();
  const others = new RawClient(other.address);
  const foreign = await others.mount();
  const changed = Buffer.from(root.data);
  changed[7] = (changed[7] ?? 0) + 1;
  const forged = [foreign.data, changed, Buffer.alloc(32), Buffer.alloc(0), Buffer.alloc(64)];
  for (const data of forged) {
    const { response } = await client.call(NFS_PROC.GETATTR, { object: { data } });
    expect([STATUS.STALE, STATUS.BADHANDLE]).toContain(response?.status);
    const what = { dir: { data }, name: "x" };
    const made = await client.call(NFS_PROC.MKDIR, { where: what, attributes: NO_CHANGE });
    expect([STATUS.STALE, STATUS.BADHANDLE]).toContain(made.response?.status);
  }
  expect(await client.mountStatus(new URL(other.address).pathname)).toBe(STATUS.NOENT);
  expect(await client.mountStatus("/")).toBe(STATUS.NOENT);
  expect(await client.mountStatus(`${new URL(served.address).pathname}/../..`)).not.toBe(STATUS.OK);
  others.end();
  await other.close();
});

test("who breaks off in a record, or sends fragments without end, holds up nobody", async () => {
  const halves = Array.from({ length: 20 }, () => new RawClient(served.address));
  for (const half of halves) half.send(Buffer.from([0x80, 4, 0, 0, 1, 2, 3]));
  const endless = new RawClient(served.address);
  for (let sent = 0; sent < 100; sent++) endless.send(Buffer.from([0, 0, 0, 1, sent]));
  await waitUntil(async () => endless.isClosed);
  expect(await client.call(NFS_PROC.GETATTR, { object: root })).toMatchObject(withStatus(STATUS.OK));
  for (const half of halves) half.end();
});

test("however many connections that prove nothing make room for those that do, where the system does not say whose they are", async () => {
  const open = await serveNfs({}, { peerUid: async () => "unknown" });
  const proven = new RawClient(open.address);
  const handle = { object: await proven.mount() };
  // The second round has the places that the first has left.
  const count = CONNECTIONS_MAX + 10;
  for (let round = 0; round < 2; round++) {
    const many = Array.from({ length: count }, () => new RawClient(open.address));
    // A forged handle is no proof, and neither is a name that is refused before the handle is looked at.
    for (const one of many) {
      one.call(NFS_PROC.GETATTR, { object: { data: Buffer.alloc(32) } }).catch(() => undefined);
      one.call(NFS_PROC.LOOKUP, { what: { dir: { data: Buffer.alloc(32) }, name: "" } }).catch(() => undefined);
    }
    await waitUntil(async () => many.filter(({ isClosed }) => isClosed).length >= count - CONNECTIONS_MAX);
    const next = new RawClient(open.address);
    expect(await next.call(NFS_PROC.GETATTR, handle)).toMatchObject(withStatus(STATUS.OK));
    next.end();
    for (const one of many) one.end();
    await waitUntil(async () => many.every(({ isClosed }) => isClosed));
  }
  expect(await proven.call(NFS_PROC.GETATTR, handle)).toMatchObject(withStatus(STATUS.OK));
  proven.end();
  await open.close();
});

/** Connects as another user, sends a record, and ends, all before the server has looked. */
const CLOSING_AT_ONCE = `
import os, socket, sys
os.setuid(65534)
connection = socket.socket()
connection.connect(("127.0.0.1", int(sys.argv[1])))
connection.send(bytes.fromhex(sys.argv[2]))
`;

/** A socket whose FIN has been answered, as /proc/net/tcp has it: the user is 0 there, whoever it was. */
const FIN_WAIT2 = "05";

(process.getuid?.() === 0 ? test : test.skip)(
  "another user is refused also when its program has ended by then, and that is logged once",
  async () => {
    const { pathname, searchParams } = new URL(served.address);
    const port = Number(searchParams.get("nfsport"));
    const record = recordOf(mountCall(MOUNT_PROC.MNT, pathname, { xid: 1 })).toString("hex");
    for (let times = 0; times < 2; times++) {
      expect(spawnSync("python3", ["-c", CLOSING_AT_ONCE, String(port), record]).status).toBe(0);
      // This process is the server: it accepts nobody before it lets the event loop go on.
      const closed = new RegExp(`:${port.toString(16).toUpperCase().padStart(4, "0")} ${FIN_WAIT2} `);
      while (!closed.test(readFileSync("/proc/self/net/tcp", "latin1")));
      await waitUntil(async () => !closed.test(readFileSync("/proc/self/net/tcp", "latin1")));
    }
    expect(served.logged).toEqual(["a connection to the NFS drive was refused: it is another user's"]);
  },
);

test("two that write to one file are both heard, also in what the other has not committed", async () => {
  const other = new RawClient(served.address);
  const file = await createFile(client, root, "a");
  const write = (by: RawClient, offset: bigint, text: string): Promise<object> =>
    by.call(NFS_PROC.WRITE, { file, offset, count: text.length, stable: STABLE.UNSTABLE, data: Buffer.from(text) });
  await Promise.all(
    Array.from({ length: 100 }, (_, at) => write(at % 2 === 0 ? client : other, BigInt(at * 2), `${at % 10}.`)),
  );
  const written = Array.from({ length: 100 }, (_, at) => `${at % 10}.`).join("");
  const wanted = { response: { resok: { data: Buffer.from(written) } } };
  expect(await other.call(NFS_PROC.READ, { file, offset: 0n, count: 1000 })).toMatchObject(wanted);
  expect(await client.call(NFS_PROC.COMMIT, { file, offset: 0n, count: 0 })).toMatchObject(withStatus(STATUS.OK));
  expect(served.fake.bytesAt("a")?.toString()).toBe(written);
  other.end();
});

test("a file that is unlinked, or renamed over, while it is written is gone for its writer alone", async () => {
  for (const isReplaced of [false, true]) {
    const file = await createFile(client, root, "a");
    const writing = { file, offset: 0n, count: 1, stable: STABLE.UNSTABLE, data: Buffer.from("x") };
    expect(await client.call(NFS_PROC.WRITE, writing)).toMatchObject(withStatus(STATUS.OK));
    const other = await createFile(client, root, "b");
    await client.call(NFS_PROC.WRITE, { ...writing, file: other, data: Buffer.from("y") });
    const [a, b] = ["a", "b"].map((name) => ({ dir: root, name }));
    if (a === undefined || b === undefined) throw new Error("no names");
    const taken = isReplaced
      ? await client.call(NFS_PROC.RENAME, { from: b, to: a })
      : await client.call(NFS_PROC.REMOVE, { object: a });
    expect(taken).toMatchObject(withStatus(STATUS.OK));
    expect(await client.call(NFS_PROC.WRITE, writing)).toMatchObject(withStatus(STATUS.STALE));
    expect(await client.call(NFS_PROC.COMMIT, { file, offset: 0n, count: 0 })).toMatchObject(withStatus(STATUS.STALE));
    await client.call(NFS_PROC.COMMIT, { file: other, offset: 0n, count: 0 });
    expect(served.fake.bytesAt(isReplaced ? "a" : "b")?.toString()).toBe("y");
    await client.call(NFS_PROC.REMOVE, { object: isReplaced ? a : b });
  }
  await waitUntil(async () => served.fake.drive.statistics().openFiles === 0);
});

test("a size is durable when SETATTR is answered, also of a file that is open and was not written to", async () => {
  const object = await createFile(client, root, "a");
  const newAttributes = { ...NO_CHANGE, size: { set: true, size: 5n } };
  const cut = await client.call(NFS_PROC.SETATTR, { object, newAttributes, guard: { check: false } });
  expect(cut).toMatchObject(withStatus(STATUS.OK));
  expect(served.fake.bytesAt("a")).toEqual(Buffer.alloc(5));
});
