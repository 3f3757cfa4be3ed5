// findGet: small contents in one stream, as a client sees them.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { FIND_GET_ITEM, LIMITS, ROOT_NODE, check, decodeRecipe, recipeSize } from "@runnel/shared";
import { bytesOf } from "../../volume/volume-rig.ts";
import { ServerRig, instanceOf, kindOf } from "../server-rig.ts";
import type { Attached } from "../server-rig.ts";

let wire: ServerRig;
let one: Attached;

beforeEach(async () => {
  wire = await ServerRig.open(4);
  one = await (await wire.greeted()).attach(instanceOf("1"));
});

afterEach(() => wire.close());

async function small(name: string, bytes: Uint8Array): Promise<[number, number]> {
  const node = await one.make(ROOT_NODE, name);
  const { version } = await one.write(node, 0, bytes);
  return [node, version];
}

/** Contents that came, by index, and in how many runs. */
async function findGet(versions: [number, number][]): Promise<{ came: Map<number, Uint8Array>; runs: number[] }> {
  const channel = one.client.connection.ask("findGet", one.request({ versions }));
  const came = new Map<number, Uint8Array>();
  const runs: number[] = [];
  for (;;) {
    const message = await wire.rig.run(channel.next());
    if (message === undefined) break;
    const [, named, encoding, rawBytes, encodedBytes] = check(FIND_GET_ITEM, message, "findGet item");
    const encoded = await wire.rig.run(channel.readBulk(encodedBytes));
    const bytes = encoding === "zstd" ? await wire.rig.executor.decompress(encoded, rawBytes) : encoded;
    expect(bytes.length).toBe(rawBytes);
    runs.push(named.length);
    let at = 0;
    for (const [index, recipe] of named) {
      const length = recipeSize(decodeRecipe(recipe));
      came.set(index, bytes.slice(at, at + length));
      at += length;
    }
    expect(at).toBe(bytes.length);
  }
  await channel.result();
  return { came, runs };
}

describe("findGet", () => {
  test("[W34] brings small contents in the order asked for, several in a run", async () => {
    const contents = Array.from({ length: 60 }, (_, index) => bytesOf(index, 500 + 400 * index));
    const versions: [number, number][] = [];
    for (const [index, bytes] of contents.entries()) versions.push(await small(`file ${index}`, bytes));
    versions.reverse();
    contents.reverse();
    const { came, runs } = await findGet(versions);
    expect([...came.keys()]).toEqual(contents.map((_, index) => index));
    for (const [index, bytes] of contents.entries())
      expect(Buffer.compare(came.get(index) ?? bytesOf(0, 1), bytes)).toBe(0);
    expect(runs.length).toBeLessThan(6);
  });

  test("[W34] brings recipes alone where a client asks for no more", async () => {
    const versions: [number, number][] = [];
    for (let index = 0; index < 100; index++)
      versions.push(await small(`file ${index}`, bytesOf(index, 500 + 100 * index)));
    const large = await small("large", bytesOf(3, LIMITS.smallFileBytes + 1));
    const channel = one.client.connection.ask(
      "findGet",
      one.request({ versions: [large, ...versions], recipesOnly: true }),
    );
    const came = new Map<number, Uint8Array>();
    for (
      let message = await wire.rig.run(channel.next());
      message !== undefined;
      message = await wire.rig.run(channel.next())
    ) {
      const [, named, , ...lengths] = check(FIND_GET_ITEM, message, "findGet item");
      expect(lengths).toEqual([0, 0]);
      for (const [index, recipe] of named) came.set(index, recipe);
    }
    await channel.result();
    expect([...came.keys()]).toEqual(versions.map((_, index) => index + 1));
    const all = (await findGet(versions)).came;
    for (const [index, recipe] of came) expect(recipeSize(decodeRecipe(recipe))).toBe(all.get(index - 1)?.length);
  });

  test("[W34] brings what a program wrote in the served folder, before its recipe is stored", async () => {
    const node = await wire.rig.file(ROOT_NODE, "outside", "as it lies there");
    await wire.rig.settle();
    const { meta } = wire.rig.volume;
    meta.recipe = async () => undefined;
    const version = (await meta.node(node))?.version ?? 0;
    const { came } = await findGet([[node, version]]);
    expect(Buffer.from(came.get(0) ?? []).toString()).toBe("as it lies there");
  });

  test("[W34] [limit smallFileBytes] passes over what is not kept, empty or too large", async () => {
    const kept = await small("kept", bytesOf(1, 2_000));
    const largest = await small("largest", bytesOf(2, LIMITS.smallFileBytes));
    const large = await small("large", bytesOf(3, LIMITS.smallFileBytes + 1));
    const empty: [number, number] = [await one.make(ROOT_NODE, "empty"), one.rig.volume.seq];
    const { came } = await findGet([[999_999, 1], large, [kept[0], kept[1] + 1000], empty, kept, largest]);
    expect([...came.keys()]).toEqual([4, 5]);
    expect((await findGet([])).came.size).toBe(0);
  });

  test("[W34] [limit findGetVersions] takes at most 2048 versions", async () => {
    const many = Array.from({ length: LIMITS.findGetVersions + 1 }, () => [999_999, 1] as [number, number]);
    expect(await kindOf(findGet(many))).toBe("Invalid");
    expect((await findGet(many.slice(1))).came.size).toBe(0);
  });

  test("[W34] reads nothing more once it is cancelled", async () => {
    const versions: [number, number][] = [];
    for (let index = 0; index < 40; index++) versions.push(await small(`file ${index}`, bytesOf(index, 30_000)));
    await wire.rig.settle();
    const { content } = wire.rig.volume;
    const open = content.open.bind(content);
    let opened = 0;
    content.open = (version) => {
      opened++;
      return open(version);
    };
    const channel = one.client.connection.ask("findGet", one.request({ versions }));
    await wire.rig.run(channel.next());
    channel.cancel();
    await wire.rig.clock.advance(1_000);
    expect(opened).toBeGreaterThan(0);
    expect(opened).toBeLessThan(versions.length);
  });
});
