// Objects whose recipe the server makes itself have the one that their name is the OID of, whichever way they were cut.
import { describe, expect, test } from "@jest/globals";
import { type ChunkKind, OBJECTS_FOLDER, ROOT_NODE, encodeRecipe, presetFor } from "@runnel/shared";
import { VolumeRig, bytesOf } from "./volume-rig.ts";

const SIZES = [1, 65_535, 65_536, 65_537, 300_000];

async function oidOf(rig: VolumeRig, bytes: Uint8Array, kind: ChunkKind): Promise<string> {
  const recipe = await rig.executor.chunkBytes(bytes, presetFor(bytes.length, kind));
  return Buffer.from(await rig.executor.digest([encodeRecipe(recipe)])).toString("hex");
}

/** The OID of the recipe that the index has for a file. */
async function knownOid(rig: VolumeRig, name: string): Promise<string | undefined> {
  const { meta } = rig.volume;
  const folder = await meta.lookup(ROOT_NODE, OBJECTS_FOLDER);
  const state = await meta.lookup(folder?.node ?? 0, name);
  const recipe = await meta.recipe({ node: state?.node ?? 0, seq: state?.version ?? 0 });
  return recipe && Buffer.from(await rig.executor.digest([encodeRecipe(recipe)])).toString("hex");
}

describe.each(["content", "fixed"] as const)("[W211] objects that are cut as %s", (kind) => {
  test.each(SIZES)("keep their recipe when the index is lost: %d bytes", async (size) => {
    const rig = await VolumeRig.open();
    const bytes = bytesOf(3, size);
    const oid = await oidOf(rig, bytes, kind);
    const node = await rig.make(await rig.folder(ROOT_NODE, OBJECTS_FOLDER), oid);
    const recipe = await rig.executor.chunkBytes(bytes, presetFor(size, kind));
    await rig.writeRuns(node, recipe, [{ from: "log", at: 0, length: size }], bytes);
    await rig.settle();
    expect(await knownOid(rig, oid)).toBe(oid);
    // The log has no need to have it any more.
    await rig.close();
    rig.loseMeta();
    await rig.open();
    await rig.settle();
    expect(await knownOid(rig, oid)).toBe(oid);
  });

  test("have it when another program brings them, settled or just written", async () => {
    const rig = await VolumeRig.open();
    await rig.folder(ROOT_NODE, OBJECTS_FOLDER);
    await rig.settle();
    const bytes = bytesOf(4, 300_000);
    const oid = await oidOf(rig, bytes, kind);
    await rig.writeFile(`${OBJECTS_FOLDER}/${oid}`, bytes);
    await rig.settle();
    expect(await knownOid(rig, oid)).toBe(oid);
  });
});

test("[W211] what is no object of its name is cut as any file: other bytes, and the right ones elsewhere", async () => {
  const rig = await VolumeRig.open();
  const bytes = bytesOf(5, 300_000);
  const [asContent, asFixed] = [await oidOf(rig, bytes, "content"), await oidOf(rig, bytes, "fixed")];
  const wrong = asFixed.replaceAll("0", "1");
  await rig.folder(ROOT_NODE, OBJECTS_FOLDER);
  await rig.settle();
  await rig.writeFile(`${OBJECTS_FOLDER}/${wrong}`, bytes);
  await rig.writeFile(asFixed, bytes);
  await rig.settle();
  for (const isNewIndex of [false, true]) {
    if (isNewIndex) {
      await rig.close();
      rig.loseMeta();
      await rig.open();
      await rig.settle();
    }
    expect(await knownOid(rig, wrong)).toBe(asContent);
    const state = await rig.volume.meta.lookup(ROOT_NODE, asFixed);
    const recipe = await rig.volume.meta.recipe({ node: state?.node ?? 0, seq: state?.version ?? 0 });
    expect(recipe?.lengths).toEqual((await rig.executor.chunkBytes(bytes)).lengths);
  }
});
