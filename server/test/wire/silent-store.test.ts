// A program that stores to a mapped file: the system stamps the first store only, and tells nobody of the others.
// Whoever reads finds that the bytes are not what was recorded, and the file is looked at anew.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { ROOT_NODE, chunkOffsets } from "@runnel/shared";
import { readRun } from "../../src/content/version-reader.ts";
import { FOLDER, bytesOf } from "../volume/volume-rig.ts";
import { ServerRig, instanceOf, kindOf } from "./server-rig.ts";
import type { Attached } from "./server-rig.ts";

let wire: ServerRig;
let one: Attached;
const OLD = bytesOf(1, 200_000);

beforeEach(async () => {
  wire = await ServerRig.open(3);
  one = await (await wire.greeted()).attach(instanceOf("1"));
});

afterEach(() => wire.close());

/** Bytes that show in no tuple and in no event. */
function store(path: string, offset: number, bytes: Uint8Array): void {
  let inode = wire.rig.disk.root;
  for (const name of `${FOLDER}/${path}`.split("/").filter((part) => part !== "")) {
    const next = inode.entries?.get(name);
    if (next === undefined) throw new Error(`There is no ${name}.`);
    inode = next;
  }
  inode.content?.write(offset, bytes);
}

test("[F165] what is not as recorded when it is read is taken in anew", async () => {
  const { volume, executor } = wire.rig;
  const node = await one.make(ROOT_NODE, "a");
  const { version } = await one.write(node, 0, OLD);
  await wire.rig.settle();
  const recipe = await one.recipe(node, version);
  store("a", 100, Buffer.from("stored unseen"));
  await wire.rig.settle();
  expect((await volume.meta.node(node))?.version).toBe(version);

  const open = await volume.content.open({ node, seq: version });
  const run = { from: 0, count: 1, offset: 0, length: chunkOffsets(recipe)[1] ?? OLD.length };
  expect(await kindOf(wire.rig.run(readRun(open, recipe, run, executor)))).toBe("Stale");
  await open.close();
  await wire.rig.settle();

  const now = (await volume.meta.node(node))?.version ?? 0;
  expect(now).toBeGreaterThan(version);
  const wanted = Buffer.from(OLD);
  wanted.write("stored unseen", 100);
  expect(Buffer.from(await wire.rig.run(wire.rig.read(node, now))).equals(wanted)).toBe(true);
  expect(await one.recipe(node, now)).toEqual(await executor.chunkBytes(wanted));
});
