// Conflicts between clients: each is kept before its answer, told to who follows, and listed until a person settles it.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { LIMITS, ROOT_NODE, STATUS_ITEM, type StatusEntry, check } from "@runnel/shared";
import { type Attached, ServerRig, instanceOf, kindOf } from "../server-rig.ts";

const HELLO = { protocol: 1, software: "a client", features: ["conflicts"] };

let wire: ServerRig;
let one: Attached;
let two: Attached;

beforeEach(async () => {
  wire = await ServerRig.open();
  one = await (await wire.greeted()).attach(instanceOf("1"));
  two = await another("2");
});

afterEach(() => wire.close());

/** A client that understands conflicts. */
async function another(digit: string, hello: object = HELLO): Promise<Attached> {
  const client = wire.connect();
  await client.call("hello", hello);
  return client.attach(instanceOf(digit));
}

async function listed(by = two): Promise<StatusEntry[]> {
  const channel = by.client.connection.ask("status", by.request({}));
  const entries: StatusEntry[] = [];
  const next = (): Promise<unknown> => wire.rig.run(channel.next());
  for (let item = await next(); item !== undefined; item = await next())
    entries.push(...check(STATUS_ITEM, item, "status item"));
  return entries.filter(({ kind }) => kind === "clientConflict");
}

async function noticed(by = two): Promise<number> {
  await wire.rig.clock.advance(50);
  return by.feed.filter(([kind]) => kind === "noticed").length;
}

/** A file of a folder that both have saved over the same version. */
async function conflict(): Promise<{ node: number; seq: number; base: number }> {
  const folder = await one.make(ROOT_NODE, "folder", "folder");
  const node = await one.make(folder, "file");
  const { version: base } = await one.write(node, 0, Buffer.from("first"));
  await two.write(node, base, Buffer.from("hers"));
  const { seq } = await one.write(node, base, Buffer.from("his"));
  return { node, seq, base };
}

test("[W184] a save over another version is one, by whom, before it is answered, and no other save is", async () => {
  const { seq } = await conflict();
  expect(await listed()).toEqual([
    { kind: "clientConflict", path: "folder/file", seq, by: "test client", atMs: expect.any(Number) },
  ]);
});

test("[W184] of a file that had lost its name names where the save lies", async () => {
  const node = await one.make(ROOT_NODE, "gone.txt");
  const { version } = await one.write(node, 0, Buffer.from("first"));
  await two.change("remove", { folder: ROOT_NODE, name: "gone.txt", node, isFolder: false });
  await one.write(node, version, Buffer.from("his"));
  expect(await listed()).toMatchObject([
    { path: "gone.txt", conflictCopy: expect.stringMatching(/^gone \(conflict .*\)\.txt$/) },
  ]);
});

test("[W184] with a copy is listed also before that is in the plain folder, and until it has no such name any more", async () => {
  const node = two.newNode();
  const attributes = two.attributes("file");
  await wire.rig.settle();
  // Files lie in temp/ before they have their names.
  wire.rig.disk.fault = (_operation, path) => (path.includes("temp/") ? "NoSpace" : undefined);
  await two.change("make", { folder: ROOT_NODE, name: "copy", node, attributes, copyOf: "file" });
  expect((await wire.rig.files()).has("copy")).toBe(false);
  expect(await listed()).toHaveLength(1);
  wire.rig.disk.fault = undefined;
  await two.change("rename", { folder: ROOT_NODE, name: "copy", node, toFolder: ROOT_NODE, toName: "b", how: "keep" });
  expect(await listed()).toEqual([]);
});

test("[W184] a write that is repeated is one conflict; it outlives the server", async () => {
  const { node, base } = await conflict();
  const content = Buffer.from("his");
  const upload = one.openWrite({ node, base, sizeBytes: content.length, isResumed: true }, one.n);
  await upload.finish(await wire.rig.executor.chunkBytes(content));
  expect(await listed()).toHaveLength(1);
  await wire.rig.kill();
  await wire.rig.open();
  expect((await wire.rig.volume.content.notices()).map(({ kind }) => kind)).toEqual(["clientConflict"]);
});

test("[W185] is told to who follows and understands that, and to who comes later while there is one", async () => {
  expect(await noticed()).toBe(0);
  const { seq } = await conflict();
  expect([await noticed(), await noticed(one)]).toEqual([1, 0]);
  const later = await another("3");
  expect(await noticed(later)).toBe(1);
  await two.call("settle", { seq });
  expect([await noticed(), await noticed(later), await listed()]).toEqual([2, 2, []]);
  await two.call("settle", { seq });
  expect(await noticed()).toBe(2);
  expect(await noticed(await another("4"))).toBe(0);
});

test("[W185] [limit copyOf] a file that a client makes as a conflict copy is one, of the path that it says", async () => {
  const node = two.newNode();
  const attributes = two.attributes("file");
  const copy = { folder: ROOT_NODE, name: "plan (unsent).txt", node, attributes, copyOf: "work/plan.txt" };
  const { seq } = await two.change("make", copy);
  await two.change("make", copy, two.n);
  expect(await listed()).toMatchObject([
    { path: "work/plan.txt", conflictCopy: "plan (unsent).txt", seq, by: "a client" },
  ]);
  const long = { ...copy, name: "other", node: two.newNode(), copyOf: "x".repeat(LIMITS.copyOf + 1) };
  expect(await kindOf(two.change("make", long))).toBe("Invalid");
});

test("[W186] a rename that goes beside what it did not see is one, also when it is asked again; a removal is refused", async () => {
  const { node, base } = await conflict();
  const folder = (await wire.rig.volume.meta.lookup(ROOT_NODE, "folder"))?.node ?? 0;
  const expects = { node, version: base, own: [] };
  const removal = { folder, name: "file", node, isFolder: false, expects };
  await expect(two.change("remove", removal)).rejects.toMatchObject({ kind: "Stale", detail: { node } });
  const moved = await two.make(ROOT_NODE, "new");
  const rename = { folder: ROOT_NODE, name: "new", node: moved, toFolder: folder, toName: "file", how: "replace" };
  const before = await listed();
  const result = await two.change("rename", { ...rename, expects });
  expect(result).toMatchObject({ node: moved, conflict: true });
  // Says other expectations, which do not make it another one.
  for (const said of [{ expects }, {}, { expects: { ...expects, own: [1] } }])
    expect(await two.change("rename", { ...rename, ...said }, two.n)).toEqual(result);
  const added = (await listed()).slice(before.length);
  const conflictCopy = expect.stringMatching(/^folder\/file \(conflict .*\)$/);
  expect(added).toMatchObject([{ path: "folder/file", conflictCopy, seq: result.seq, by: "a client" }]);
  await wire.rig.settle();
  expect([...(await wire.rig.files()).keys()].filter((path) => path.startsWith("folder/"))).toHaveLength(2);
});
