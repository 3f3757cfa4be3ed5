// status, as a client sees it: how the volume stands with its folder, and what is kept of what went wrong.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { LIMITS, ROOT_NODE, STATUS_ITEM, check, checkResult } from "@runnel/shared";
import type { StatusEntry, VolumeStatus } from "@runnel/shared";
import { ServerRig, instanceOf } from "../server-rig.ts";
import type { Attached } from "../server-rig.ts";

let wire: ServerRig;
let one: Attached;

async function attach(): Promise<void> {
  one = await (await wire.greeted()).attach(instanceOf("1"));
}

beforeEach(async () => {
  wire = await ServerRig.open(3);
  await attach();
});

afterEach(async () => {
  await wire.close();
});

async function ask(): Promise<{ items: StatusEntry[][]; status: VolumeStatus }> {
  const channel = one.client.connection.ask("status", one.request({}));
  const answer = (async () => {
    const items: StatusEntry[][] = [];
    for (let item = await channel.next(); item !== undefined; item = await channel.next())
      items.push(check(STATUS_ITEM, item, "status item"));
    return { items, status: checkResult("status", await channel.result()) };
  })();
  return wire.rig.run(answer);
}

async function entries(): Promise<StatusEntry[]> {
  return (await ask()).items.flat();
}

test("[W45] says nothing but the seq when all is well", async () => {
  await wire.rig.file(ROOT_NODE, "a", "x");
  await wire.rig.settle();
  expect(await ask()).toEqual({ items: [], status: { seq: wire.rig.volume.seq, pending: 0, excluded: 0 } });
});

test("[W45] says that the folder is looked through, how far, and no more when the feed has told all of it", async () => {
  const { rig } = wire;
  for (const name of ["a", "b"]) await rig.file(await rig.folder(ROOT_NODE, name), "in", "x");
  await rig.settle();
  await one.find({ isDeep: true, follow: true });
  // A program makes a file, and nobody tells of it.
  await rig.other.removeFile("b/in");
  let left = 2;
  rig.disk.fault = (operation, path) => (operation === "list" && path === "b" && left > 0 ? "Io" : undefined);
  void rig.volume.content.scan();
  const during = (await ask()).status.scan;
  expect(during).toMatchObject({ why: "missed", total: expect.any(Number) });
  expect(during?.total).toBeGreaterThanOrEqual(during?.done ?? Infinity);
  expect(during?.done).toBeGreaterThan(0);
  left = 0;
  for (let status = (await ask()).status; status.scan !== undefined; { status } = await ask())
    await rig.clock.advance(100);
  const { seq, scan } = (await ask()).status;
  expect({ seq, scan }).toEqual({ seq: rig.volume.seq, scan: undefined });
  expect(one.seqs).toContain(seq);
  expect((await one.find({ folder: await rig.nodeAt("b") }))[0]?.[3]).toEqual([]);
});

test("[W45] says what is not in the plain files yet, at which path it is stuck and why, and when it goes on", async () => {
  const { rig } = wire;
  const docs = await rig.folder(ROOT_NODE, "docs");
  await rig.settle();
  rig.disk.fault = (operation, path) => (operation === "write" && path.includes("temp") ? "NoSpace" : undefined);
  await rig.file(docs, "a", "x");
  await rig.file(docs, "b", "x");
  await rig.clock.advance(5_000);
  expect((await ask()).status).toMatchObject({ pending: 3, stuck: { path: "docs/a", kind: "NoSpace" } });
  rig.disk.fault = undefined;
  await rig.settle();
  const { pending, stuck } = (await ask()).status;
  expect({ pending, stuck }).toEqual({ pending: 0, stuck: undefined });
});

test("[W45] tells conflicts until the file beside is gone, and lost versions, over a restart too", async () => {
  const { rig } = wire;
  const node = await rig.file(ROOT_NODE, "a", "first");
  await rig.settle();
  const { version } = (await rig.volume.meta.node(node)) ?? { version: 0 };
  rig.disk.fault = (operation, path) => (operation === "write" && path.includes("temp") ? "NoSpace" : undefined);
  await rig.write(node, Buffer.from("committed"));
  await rig.writeFile("a", "in place");
  rig.disk.fault = undefined;
  await rig.settle();
  const told = await entries();
  expect(told).toMatchObject([
    { kind: "conflict", path: "a", conflictCopy: expect.stringContaining("conflict") },
    { kind: "lost", path: "a", node, seq: version, versions: 1 },
  ]);
  await rig.kill();
  await rig.open();
  await rig.settle();
  await attach();
  expect(await entries()).toEqual(told);
  const [conflict] = told;
  await rig.other.removeFile(conflict?.kind === "conflict" ? conflict.conflictCopy : "");
  expect(await entries()).toEqual(told.slice(1));
  rig.clock.suspend(31 * 24 * 3_600_000);
  await rig.settle();
  await attach();
  expect(await entries()).toEqual([]);
});

test("[W45] keeps conflicts while the folder is away", async () => {
  const { rig } = wire;
  const conflict = { kind: "conflict", path: "a", conflictCopy: "b", atMs: 1 } as const;
  await rig.other.rename(".runnel-store/volume", ".runnel-store/away", "keep");
  await rig.volume.meta.note([conflict]);
  const { items } = await ask();
  expect(items).toEqual([[conflict]]);
  await rig.kill();
  await rig.other.rename(".runnel-store/away", ".runnel-store/volume", "keep");
  await rig.open();
  await rig.settle();
  await attach();
  expect(await entries()).toEqual([]);
});

test("[W45] tells what was brought back after the loss of the index, and what was not", async () => {
  const { rig } = wire;
  const big = await rig.file(ROOT_NODE, "big", "x".repeat(5_000));
  const small = await rig.file(ROOT_NODE, "small", "first");
  await rig.settle();
  rig.disk.fault = (operation, path) => (operation === "write" && path.includes("temp") ? "NoSpace" : undefined);
  const { seq } = await rig.prepend(big, Buffer.from("in front "));
  await rig.write(small, Buffer.from("second"));
  await rig.kill();
  rig.loseMeta();
  await rig.writeFile("big", "overwritten");
  await rig.open();
  await rig.settle();
  await attach();
  const told = await entries();
  expect(told).toMatchObject([
    { kind: "salvaged", changes: 1 },
    { kind: "missing", path: "big", seq },
  ]);
  await rig.kill();
  await rig.open();
  await attach();
  expect(await entries()).toEqual(told);
});

test("[W45] tells names that cannot be offered, and however much there is to tell, in items that fit", async () => {
  const { rig } = wire;
  await rig.other.makeFolder("nested");
  await rig.other.makeFolder("nested/.runnel-store");
  await rig.writeFile("nested/.runnel-store/volume", JSON.stringify({ format: 1, volume: "ab".repeat(16) }));
  void rig.volume.content.scan();
  await rig.settle();
  const atMs = Number(rig.clock.wallNs() / 1_000_000n);
  const many = Array.from({ length: LIMITS.notices }, (_, index) => {
    return { kind: "missing", path: `${"long/".repeat(500)}${index}`, seq: index, atMs } as const;
  });
  await rig.volume.meta.note(many);
  const { items, status } = await ask();
  expect(items.flat()).toEqual([...many, { kind: "excluded", path: "nested (a volume of its own)" }]);
  expect(items.length).toBeGreaterThan(2);
  expect(status.excluded).toBe(1);
});
