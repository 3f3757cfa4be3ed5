// Folders that hold what no drive shows: who removes them is told, instead of seeing them come again.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { ROOT_NODE, RunnelError } from "@runnel/shared";
import { ServerRig, instanceOf } from "./server-rig.ts";
import type { Attached } from "./server-rig.ts";

let wire: ServerRig;
let one: Attached;
let top: number;
let sub: number;

/** A folder with a file and one below it, which another program puts a volume of its own into. */
beforeEach(async () => {
  wire = await ServerRig.open(7);
  one = await (await wire.greeted()).attach(instanceOf("1"));
  top = await one.make(ROOT_NODE, "top", "folder");
  await one.make(top, "file");
  sub = await one.make(top, "sub", "folder");
  await wire.rig.settle();
  await wire.rig.other.makeFolder("top/sub/nested");
  await wire.rig.other.makeFolder("top/sub/nested/.runnel-store");
  await wire.rig.writeFile(
    "top/sub/nested/.runnel-store/volume",
    JSON.stringify({ format: 1, volume: "ab".repeat(16) }),
  );
  void wire.rig.volume.content.scan();
  await wire.rig.settle();
});

afterEach(() => wire.close());

async function refusal(promise: Promise<unknown>): Promise<Partial<RunnelError>> {
  const error = await promise.then(
    () => new Error("It was not refused."),
    (reason: unknown) => reason,
  );
  if (!(error instanceof RunnelError)) throw error as Error;
  return { kind: error.kind, message: error.message };
}

const remove = (folder: number, name: string, node: number): Promise<unknown> =>
  one.change("remove", { folder, name, node, isFolder: true });
const removeAll = (): Promise<unknown> =>
  one.change("removeAll", { folder: ROOT_NODE, name: "top", node: top, asOf: wire.rig.volume.seq });
const NOT_EMPTY = { kind: "NotEmpty", message: expect.stringContaining("top/sub/nested (a volume of its own)") };

test("[W161] removing them is NotEmpty and names it, and nothing of the whole tree is removed", async () => {
  expect(await refusal(remove(top, "sub", sub))).toEqual(NOT_EMPTY);
  expect(await refusal(removeAll())).toEqual(NOT_EMPTY);
  await wire.rig.settle();
  expect(await wire.rig.volume.meta.lookup(top, "file")).toBeDefined();
  expect(await wire.rig.volume.meta.lookup(top, "sub")).toMatchObject({ node: sub });
});

test("[W161] once it is gone from the server they are removed, though no whole scan has passed since", async () => {
  await wire.rig.other.removeFile("top/sub/nested/.runnel-store/volume");
  await wire.rig.other.removeFolder("top/sub/nested/.runnel-store");
  await wire.rig.other.removeFolder("top/sub/nested");
  await removeAll();
  await wire.rig.settle();
  expect(await wire.rig.volume.meta.lookup(ROOT_NODE, "top")).toBeUndefined();
  expect(wire.rig.volume.content.status().excluded).toEqual({ count: 0, examples: [] });
});

test("[W161] nothing is put in their place, by make, link or rename, until they are gone", async () => {
  const file = await one.make(top, "other");
  const taken = { kind: "BadName", message: expect.stringContaining("top/sub/nested is taken on the server") };
  const toNested = { folder: top, name: "other", node: file, toFolder: sub, toName: "nested", how: "replace" };
  expect(await refusal(one.make(sub, "nested", "folder"))).toEqual(taken);
  expect(await refusal(one.make(sub, "nested"))).toEqual(taken);
  expect(await refusal(one.change("link", { node: file, folder: sub, name: "nested" }))).toEqual(taken);
  expect(await refusal(one.change("rename", toNested))).toEqual(taken);
  await wire.rig.other.rename("top/sub/nested", "nested", "keep");
  const node = await one.make(sub, "nested", "folder");
  await wire.rig.settle();
  expect(await wire.rig.volume.meta.lookup(sub, "nested")).toMatchObject({ node });
});

test("[W161] nothing is put where another file system is mounted", async () => {
  await wire.rig.other.makeFolder("top/disk");
  wire.rig.disk.mountOver(`${wire.rig.other.path}/top/disk`);
  void wire.rig.volume.content.scan();
  await wire.rig.settle();
  expect(await refusal(one.make(top, "disk", "folder"))).toEqual({
    kind: "BadName",
    message: expect.stringContaining("top/disk is taken on the server, by what is on no drive (another file system)"),
  });
});
