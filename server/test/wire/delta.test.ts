// Runs against old bytes, both ways: what they save, and what happens when the old bytes are others.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { FETCH_ITEM, LIMITS, ROOT_NODE, check, chunkOffsets } from "@runnel/shared";
import type { Recipe, VersionId } from "@runnel/shared";
import { bytesOf } from "../volume/volume-rig.ts";
import { ServerRig, instanceOf, kindOf } from "./server-rig.ts";
import type { Attached, Upload } from "./server-rig.ts";

let wire: ServerRig;
let one: Attached;
const OLD = bytesOf(1, 200_000);
/** Some bytes in the first half are others. */
const EDITED = Buffer.concat([OLD.subarray(0, 50_000), Buffer.from("a few new words"), OLD.subarray(50_020)]);

beforeEach(async () => {
  wire = await ServerRig.open(3);
  one = await (await wire.greeted()).attach(instanceOf("1"));
});

afterEach(() => wire.close());

interface Base {
  node: number;
  version: VersionId;
  recipe: Recipe;
}

async function base(): Promise<Base> {
  const node = await one.make(ROOT_NODE, "a");
  const { version } = await one.write(node, 0, OLD);
  await wire.rig.settle();
  return { node, version: { node, seq: version }, recipe: await one.recipe(node, version) };
}

/** EDITED as one delta against the whole base. */
async function sendDelta(upload: Upload, { version, recipe }: Base, prefix: Uint8Array = OLD): Promise<number> {
  const packed = await wire.rig.executor.compress(EDITED, 6, prefix);
  if (packed === undefined) throw new Error("no delta");
  const encoding = [[version.node, version.seq], 0, recipe.lengths.length];
  upload.channel.send(["d", encoding, EDITED.length, packed]);
  return packed.length;
}

async function edit(at: Base): Promise<{ upload: Upload; whole: Recipe }> {
  const upload = one.openWrite({ node: at.node, base: at.version.seq, sizeBytes: EDITED.length });
  return { upload, whole: await wire.rig.executor.chunkBytes(EDITED) };
}

async function content(): Promise<Uint8Array> {
  await wire.rig.settle();
  return wire.rig.readFile("a");
}

describe("a write of a delta", () => {
  test("[W28] costs little more than the difference, and is the whole", async () => {
    const at = await base();
    const { upload, whole } = await edit(at);
    expect(await sendDelta(upload, at)).toBeLessThan(150);
    expect((await upload.finish(whole)).conflict).toBe(false);
    expect(Buffer.compare(await content(), EDITED)).toBe(0);
  });

  test.each(["another file", "a file that was removed since"])(
    "[W150] of a new file against %s costs little more than the difference, and is the whole",
    async (which) => {
      const at = await base();
      const node = await one.make(ROOT_NODE, "a.tmp");
      if (which !== "another file")
        await one.change("remove", { folder: ROOT_NODE, name: "a", node: at.node, isFolder: false });
      await wire.rig.settle();
      const upload = one.openWrite({ node, base: 0, sizeBytes: EDITED.length });
      expect(await sendDelta(upload, at)).toBeLessThan(150);
      const { version } = await upload.finish(await wire.rig.executor.chunkBytes(EDITED));
      expect(Buffer.compare(await wire.rig.read(node, version), EDITED)).toBe(0);
    },
  );

  test.each<[string, (upload: Upload, at: Base) => Promise<unknown> | unknown]>([
    [
      "against bytes that have changed",
      async (upload, at) => {
        await wire.rig.writeFile("a", bytesOf(9, OLD.length));
        await sendDelta(upload, at);
      },
    ],
    [
      "against a version that is not kept",
      (upload, at) => sendDelta(upload, { ...at, version: { node: at.node, seq: 999_999 } }),
    ],
    ["made from other bytes", (upload, at) => sendDelta(upload, at, Uint8Array.from(EDITED))],
    [
      "that is none",
      (upload, { node, version }) =>
        upload.channel.send(["d", [[node, version.seq], 0, 1], EDITED.length, new Uint8Array(20)]),
    ],
  ])("[W28] %s is asked for again", async (_what, send) => {
    const at = await base();
    const { upload, whole } = await edit(at);
    await send(upload, at);
    await upload.end(whole);
    expect(await upload.reply()).toEqual(["need", [0]]);
    await upload.data(EDITED, ["r", 0]);
    const { node, version } = await upload.finish(whole);
    expect(Buffer.compare(await wire.rig.read(node, version), EDITED)).toBe(0);
  });

  test.each<[string, (at: Base) => unknown[]]>([
    ["chunks that the version has not", ({ node, version, recipe }) => [[node, version.seq], recipe.lengths.length, 1]],
    ["no chunks", ({ node, version }) => [[node, version.seq], 0, 0]],
  ])("[W28] against %s is Invalid", async (_what, encoding) => {
    const at = await base();
    const { upload, whole } = await edit(at);
    upload.channel.send(["d", encoding(at), EDITED.length, new Uint8Array(20)]);
    expect(await kindOf(upload.finish(whole))).toBe("Invalid");
  });

  test("[W28] against more than a megabyte is Invalid", async () => {
    const node = await one.make(ROOT_NODE, "large");
    const bytes = bytesOf(4, LIMITS.runBytes + 200_000);
    const { version } = await one.write(node, 0, bytes);
    const recipe = await one.recipe(node, version);
    const upload = one.openWrite({ node, base: version, sizeBytes: 100 });
    upload.channel.send(["d", [[node, version], 0, recipe.lengths.length], 100, new Uint8Array(20)]);
    expect(await kindOf(upload.finish(recipe))).toBe("Invalid");
  });
});

describe("a fetch of a version", () => {
  test("[W32] brings deltas against the held version that has most in common", async () => {
    const at = await base();
    const { version } = await one.write(at.node, at.version.seq, EDITED);
    await wire.rig.settle();
    const { items, bulk } = await one.fetch({ node: at.node, seq: version }, { held: [[at.node, at.version.seq]] });
    expect(Buffer.concat(bulk).length).toBeLessThan(150);
    const run = check(FETCH_ITEM, items[1], "fetch item");
    if (run[0] !== "d" || typeof run[3] === "string") throw new Error("no delta");
    const [held, from, count] = run[3];
    expect(held).toBe(0);
    const offsets = chunkOffsets(at.recipe);
    const old = OLD.slice(offsets[from], offsets[from + count]);
    const bytes = await wire.rig.executor.decompress(bulk[0] as Uint8Array, run[4], old);
    const start = chunkOffsets(await one.recipe(at.node, version))[run[1]] ?? 0;
    expect(Buffer.compare(bytes, EDITED.subarray(start, start + run[4]))).toBe(0);
  });
});
