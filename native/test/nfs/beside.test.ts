// Calls as a kernel makes them and libnfs does not: of one connection beside one another, where one that waits for the
// server holds up no other, and by handles alone.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { TIME_HOW } from "../../src/drive/nfs/wire/constants.ts";
import { waitUntil } from "../support/drive-rig.ts";
import { type NfsServed, serveNfs } from "./nfs-rig.ts";
import { createFile, type FileHandle, NFS_PROC, NO_CHANGE, RawClient, STABLE, STATUS } from "./raw-client.ts";

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

const ok = { response: { status: STATUS.OK } };

const read = (file: FileHandle): Promise<object> => client.call(NFS_PROC.READ, { file, offset: 0n, count: 100 });
const write = (file: FileHandle, offset: bigint, text: string): Promise<object> =>
  client.call(NFS_PROC.WRITE, {
    file,
    offset,
    count: text.length,
    stable: STABLE.UNSTABLE,
    data: Buffer.from(text),
  });
const commit = (file: FileHandle): Promise<object> => client.call(NFS_PROC.COMMIT, { file, offset: 0n, count: 0 });
const holding = (data: string): object => ({ response: { status: STATUS.OK, resok: { data: Buffer.from(data) } } });

describe("a call that waits for the server holds up no other of its connection", () => {
  test.each(["open", "fetch"] as const)("a READ, for its %s", async (op) => {
    const names = Array.from({ length: 8 }, (_, at) => `slow-${at}`);
    for (const name of names) served.fake.remoteWrite(name, Buffer.from(name));
    served.fake.remoteWrite("here", Buffer.from("here"));
    served.fake.cache("here");
    const [here, ...slow] = await Promise.all(["here", ...names].map((name) => client.lookup(root, name)));
    if (here === undefined) throw new Error("no file");
    served.fake.hold(op);
    let answered = 0;
    const reads = slow.map(async (file) => read(file).finally(() => (answered += 1)));
    await waitUntil(async () => served.fake.heldCount() === slow.length);
    expect(await read(here)).toMatchObject(holding("here"));
    for (const object of slow) expect(await client.call(NFS_PROC.GETATTR, { object })).toMatchObject(ok);
    expect(await write(here, 0n, "HE")).toMatchObject(ok);
    expect(await read(here)).toMatchObject(holding("HEre"));
    expect(await commit(here)).toMatchObject(ok);
    const made = await client.call(NFS_PROC.MKDIR, { where: { dir: root, name: "d" }, attributes: NO_CHANGE });
    expect(made).toMatchObject(ok);
    expect(answered).toBe(0);
    served.fake.release();
    expect(await Promise.all(reads)).toMatchObject(names.map(holding));
  });

  test("a COMMIT, also of the file that it is of, which is committed again for what came since", async () => {
    const file = await createFile(client, root, "a");
    await write(file, 0n, "first");
    served.fake.hold("commit");
    const first = commit(file);
    await waitUntil(async () => served.fake.heldCount() === 1);
    expect(await write(file, 5n, " second")).toMatchObject(ok);
    expect(await read(file)).toMatchObject(holding("first second"));
    const second = commit(file);
    expect(await client.call(NFS_PROC.GETATTR, { object: file })).toMatchObject(ok);
    expect(served.fake.bytesAt("a")?.toString()).toBe("");
    served.fake.release();
    expect(await Promise.all([first, second])).toMatchObject([ok, ok]);
    expect(served.fake.bytesAt("a")?.toString()).toBe("first second");
    const sizes = served.fake.log.flatMap((entry) => (entry.op === "commit" ? [entry.sizeBytes] : []));
    expect(sizes).toEqual([5, 12]);
  });
});

test("a new file over which another client moves one before the answer is its client's own, unseen", async () => {
  served.fake.remoteWrite("other", Buffer.from("theirs"));
  served.fake.movedOverNext = "other";
  const file = await createFile(client, root, "a");
  expect(await write(file, 0n, "ours")).toMatchObject(ok);
  expect(await read(file)).toMatchObject(holding("ours"));
  expect(await read(await client.lookup(root, "a"))).toMatchObject(holding("theirs"));
  expect(served.fake.bytesAt("a")?.toString()).toBe("theirs");
});

test("times set by the handle of a file that was written go with its commit", async () => {
  const file = await createFile(client, root, "a");
  await write(file, 0n, "text");
  const mtime = { how: TIME_HOW.CLIENT, mtime: { seconds: 2, nseconds: 5 } };
  const setting = { object: file, newAttributes: { ...NO_CHANGE, mtime }, guard: { check: false } };
  expect(await client.call(NFS_PROC.SETATTR, setting)).toMatchObject(ok);
  expect(await commit(file)).toMatchObject(ok);
  expect(served.fake.entryAt("a")?.mtimeNs).toBe(2_000_000_005n);
  expect(served.fake.log.filter(({ op }) => op === "setattr")).toEqual([]);
});
