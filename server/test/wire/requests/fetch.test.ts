// find, stat, fetch and getHash, as a client sees them.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import {
  FIND_ITEMS,
  LIMITS,
  ROOT_NODE,
  check,
  chunkAt,
  chunkOffsets,
  decodeRecipe,
  decodeRecipeDelta,
  encodeMessage,
  encodeRecipe,
  recipeSize,
  sliceRecipe,
} from "@runnel/shared";
import type { Channel, RecipePart } from "@runnel/shared";
import { bytesOf } from "../../volume/volume-rig.ts";
import { ServerRig, instanceOf, kindOf } from "../server-rig.ts";
import type { Attached } from "../server-rig.ts";

let wire: ServerRig;
let one: Attached;

beforeEach(async () => {
  wire = await ServerRig.open(2);
  one = await (await wire.greeted()).attach(instanceOf("1"));
});

afterEach(async () => {
  await wire.close();
});

describe("find", () => {
  test("[W40] lists a folder, and with isDeep those below, each as of a seq", async () => {
    const folder = await wire.rig.folder(ROOT_NODE, "d");
    const below = await wire.rig.folder(folder, "e");
    await wire.rig.file(below, "deep", "x");
    await wire.rig.file(ROOT_NODE, "a", "y");
    const flat = await one.find({});
    expect(flat.map(([node, asOf, isLast, entries]) => [node, asOf, isLast, entries.map(([name]) => name)])).toEqual([
      [ROOT_NODE, wire.rig.volume.seq, true, ["a", "d"]],
    ]);
    const deep = await one.find({ isDeep: true });
    expect(deep.map(([node, , isLast, entries]) => [node, isLast, entries.map(([name]) => name)])).toEqual([
      [ROOT_NODE, true, ["a", "d"]],
      [folder, true, ["e"]],
      [below, true, ["deep"]],
    ]);
  });

  test("[W40] sends more than 500 entries in pages, in order, of which the last says so", async () => {
    const names = Array.from({ length: 1_000 }, (_, index) => `file ${String(index).padStart(4, "0")}`);
    for (const name of names) await wire.rig.make(ROOT_NODE, name);
    const pages = await one.find({});
    expect(pages.flatMap((page) => page[3].map(([name]) => name))).toEqual(names);
    expect(pages.length).toBeGreaterThan(1);
    expect(pages.map((page) => page[2])).toEqual([...pages.slice(1).map(() => false), true]);
  });

  test("[W40] brings folders of few names together, and no item larger than it need be", async () => {
    const folders: number[] = [];
    for (let index = 0; index < 600; index++) folders.push(await wire.rig.folder(ROOT_NODE, `folder ${index}`));
    for (const folder of folders.slice(0, 500)) await wire.rig.make(folder, "one".repeat(20));
    const channel = one.client.connection.ask("find", one.request({ folder: ROOT_NODE, isDeep: true, follow: false }));
    const items: unknown[][] = [];
    for (let item = await wire.rig.run(channel.next()); item !== undefined; item = await wire.rig.run(channel.next()))
      items.push(item as unknown[]);
    const pages = items.flatMap((item) => check(FIND_ITEMS, item, "find item"));
    expect(pages).toHaveLength(602);
    expect(new Set(pages.map(([folder]) => folder)).size).toBe(601);
    expect(items.length).toBeLessThan(10);
    for (const item of items) expect(encodeMessage(item).length).toBeLessThan(64 * 1024);
  });

  test("[W40] of what is no folder, or is not there, is refused", async () => {
    const file = await wire.rig.file(ROOT_NODE, "a", "x");
    expect(await kindOf(one.find({ folder: file }))).toBe("NotFolder");
    const refusal = await one.find({ folder: 999_999 }).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ kind: "NotFound", detail: { asOf: wire.rig.volume.seq } });
  });

  test("[W41] with a predicate brings what matches, with the path of its folder", async () => {
    const folder = await wire.rig.folder(ROOT_NODE, "d");
    const below = await wire.rig.folder(folder, "e");
    await wire.rig.file(below, "found.txt", "x");
    await wire.rig.file(folder, "other.md", "x");
    await wire.rig.file(ROOT_NODE, "top.txt", "xx");
    const items = await one.find({ isDeep: true, predicate: ["and", ["name", "*.txt"], ["type", "f"]] });
    expect(items.map((item) => [item[4], item[3].map(([name]) => name)])).toEqual([
      ["", ["top.txt"]],
      ["d/e", ["found.txt"]],
    ]);
    const small = await one.find({ isDeep: true, predicate: ["not", ["or", ["size", "+", 1, "c"], ["type", "d"]]] });
    expect(small.flatMap((item) => item[3].map(([name]) => name)).sort()).toEqual(["found.txt", "other.md"]);
  });

  test("[W41] [limit predicateNodes] [limit predicateBytes] takes no predicate beyond its limits, nor one that is none", async () => {
    const many = ["or", ...Array.from({ length: LIMITS.predicateNodes }, () => ["type", "f"])];
    expect(await kindOf(one.find({ predicate: many }))).toBe("TooLarge");
    expect(await kindOf(one.find({ predicate: ["name", "x".repeat(LIMITS.predicateBytes + 1)] }))).toBe("TooLarge");
    expect(await kindOf(one.find({ predicate: ["regex", ".*"] }))).toBe("Invalid");
    expect(await kindOf(one.find({ predicate: 7 }))).toBe("Invalid");
  });

  test("[W42] follows before it reads: a change made while it lists comes as a feed item", async () => {
    const folder = await wire.rig.folder(ROOT_NODE, "d");
    const { meta } = wire.rig.volume;
    const list = meta.list.bind(meta);
    let made: Promise<unknown> | undefined;
    meta.list = async (...args) => {
      const entries = await list(...args);
      // After the read, before its answer is sent.
      if (args[0] === folder) await (made ??= wire.rig.make(folder, "meanwhile"));
      return entries;
    };
    const [item] = await one.find({ folder, follow: true });
    await wire.rig.clock.advance(50);
    expect(item?.[3]).toEqual([]);
    expect(one.seqs).toEqual([wire.rig.volume.seq]);
    expect(item?.[1]).toBeLessThan(wire.rig.volume.seq);
    await wire.rig.make(ROOT_NODE, "not followed");
    await wire.rig.clock.advance(50);
    expect(one.seqs).toHaveLength(1);
  });

  test("[W13] [limit followedFolders] follows at most so many folders", async () => {
    const follows = Array.from({ length: LIMITS.followedFolders }, (_, index) => 1_000_000 + index);
    const { epoch, seq } = one.facts;
    const follower = await one.client.attach(instanceOf("f"), { epoch, seq, follows });
    expect(await kindOf(follower.find({ follow: true }))).toBe("TooLarge");
  });

  test("[W43] [limit statNodes] stat takes at most 1000 nodes and names", async () => {
    const nodes = Array.from({ length: LIMITS.statNodes + 1 }, () => ROOT_NODE);
    const names = nodes.map((node) => [node, "a"]);
    expect(await kindOf(one.call("stat", { nodes, names: [] }))).toBe("Invalid");
    expect(await kindOf(one.call("stat", { nodes: [], names }))).toBe("Invalid");
    expect(await kindOf(one.call("stat", { nodes: [], names: names.slice(1) }))).toBe("done");
    const { nodes: states } = (await one.call("stat", { nodes: nodes.slice(1), names: [] })) as { nodes: unknown[] };
    expect(states).toHaveLength(LIMITS.statNodes);
  });
});

const FIRST = bytesOf(1, 300_000);
/** A content whose recipe comes to more than is said unasked. */
const LONG = bytesOf(6, 900_000);

async function twoVersions(
  content = FIRST,
): Promise<{ node: number; first: number; second: number; bytes: Uint8Array }> {
  const node = await wire.rig.make(ROOT_NODE, "a");
  const { version: first } = await wire.rig.write(node, content);
  await wire.rig.settle();
  const { version: second } = await wire.rig.prepend(node, Buffer.from("in front of it"));
  return { node, first, second, bytes: Buffer.concat([Buffer.from("in front of it"), content]) };
}

describe("fetch", () => {
  test("[W30] [limit heldVersions] takes at most 8 held versions", async () => {
    const { node, first, second } = await twoVersions();
    const held = Array.from({ length: LIMITS.heldVersions + 1 }, () => [node, first]);
    expect(await kindOf(one.fetch({ node, seq: second }, { held }))).toBe("Invalid");
    expect(await kindOf(one.fetch({ node, seq: second }, { held: held.slice(1) }))).toBe("done");
  });

  test("[W30] brings the recipe and all chunks to a client that holds nothing", async () => {
    const { node, first } = await twoVersions();
    const { items, bulk } = await one.fetch({ node, seq: first });
    const recipe = await one.recipe(node, first);
    const [head, ...runs] = items;
    expect(
      head?.[0] === "v" && head[2] !== null && encodeRecipe(decodeRecipeDelta(head[2] as RecipePart[], [])),
    ).toEqual(encodeRecipe(recipe));
    expect(runs.reduce((count, item) => count + (item[0] === "d" ? item[2] : 0), 0)).toBe(recipe.lengths.length);
    expect(Buffer.concat(bulk).equals(FIRST)).toBe(true);
  });

  test("[W30] [W31] brings to one that holds an older version only what that lacks, the recipe as a delta", async () => {
    const { node, first, second } = await twoVersions();
    const { items, bulk } = await one.fetch({ node, seq: second }, { held: [[node, first]] });
    expect(Buffer.concat(bulk).length).toBeLessThan(60);
    const [head] = items;
    if (head?.[0] !== "v" || head[2] === null) throw new Error("no recipe");
    const delta = decodeRecipeDelta(head[2] as RecipePart[], [await one.recipe(node, first)]);
    expect(encodeRecipe(delta)).toEqual(encodeRecipe(await one.recipe(node, second)));
    const literal = (head[2] as RecipePart[]).filter((each) => each instanceof Uint8Array);
    expect(literal.reduce((sum, each) => sum + each.length, 0)).toBe(36);
  });

  test("[W30] a held version that is not known counts as empty and keeps its index", async () => {
    const { node, first, second } = await twoVersions();
    const { items } = await one.fetch(
      { node, seq: second },
      {
        held: [
          [node, 999_999],
          [node, first],
        ],
      },
    );
    const [head] = items;
    if (head?.[0] !== "v" || head[2] === null) throw new Error("no recipe");
    expect((head[2] as RecipePart[]).filter(Array.isArray).every(([held]) => held === 1)).toBe(true);
    expect(
      await kindOf(one.fetch({ node, seq: second }, { held: Array.from({ length: 9 }, () => [node, first]) })),
    ).toBe("Invalid");
  });

  test("[W30] brings the chunks that overlap a range, and no recipe to one that has it", async () => {
    const { node, first } = await twoVersions();
    const { items, bulk } = await one.fetch({ node, seq: first }, { offset: 100_000, length: 1, hasRecipe: true });
    expect(items[0]).toEqual(["v", FIRST.length, null]);
    expect(items).toHaveLength(2);
    const recipe = await one.recipe(node, first);
    const item = items[1];
    if (item?.[0] !== "d") throw new Error("no run");
    const before = recipeSize({ lengths: recipe.lengths.slice(0, item[1]), digests: recipe.digests });
    expect(before).toBeLessThanOrEqual(100_000);
    expect(Buffer.concat(bulk).equals(FIRST.subarray(before, before + (recipe.lengths[item[1]] ?? 0)))).toBe(true);
    expect((await one.fetch({ node, seq: first }, { offset: 100_000, length: 0, hasRecipe: true })).bulk).toHaveLength(
      0,
    );
    expect(
      (await one.fetch({ node, seq: first }, { offset: FIRST.length + 5, length: 10, hasRecipe: true })).bulk,
    ).toHaveLength(0);
  });

  test("[W30] reads raw ranges of a file that has no recipe yet, up to its end", async () => {
    // A log among so many that none is cut at once, and too young for it to be done besides.
    for (let other = 0; other < 100; other++) await wire.rig.writeFile(`log ${other}`, "x");
    await wire.rig.writeFile("log", bytesOf(4, 5_000));
    await wire.rig.clock.advance(1_200);
    const state = await wire.rig.volume.meta.lookup(ROOT_NODE, "log");
    const young = { node: state?.node ?? 0, seq: state?.version ?? 0 };
    expect(await wire.rig.volume.meta.recipe(young)).toBeUndefined();
    const { items, bulk } = await one.fetch(young, { offset: 4_000, length: 2 ** 40 });
    expect(items[0]).toEqual(["v", 5_000, null]);
    expect(items[1]?.slice(0, 2)).toEqual(["raw", 4_000]);
    expect(Buffer.concat(bulk).equals(bytesOf(4, 5_000).subarray(4_000))).toBe(true);
  });

  test("[W140] says a recipe to one that can do without only when it is little; else chunks come with their descriptors", async () => {
    const { node, first, second } = await twoVersions(LONG);
    const part = { part: 64 * 1024 };
    const range = { offset: 100_000, length: 30_000, ...part };
    const recipe = await one.recipe(node, first);
    const { items, bulk } = await one.fetch({ node, seq: first }, range);
    expect(items[0]).toEqual(["v", LONG.length, null]);
    let at = 0;
    for (const item of items.slice(1)) {
      if (item[0] !== "s") throw new Error("not with its descriptors");
      const [, offset, descriptors] = item;
      if (at === 0) expect(offset).toBeLessThanOrEqual(100_000);
      else expect(offset).toBe(at);
      const index = chunkAt(recipe, offset);
      const chunks = descriptors.length / 36;
      expect(descriptors).toEqual(encodeRecipe(sliceRecipe(recipe, index, index + chunks)));
      at = offset + recipeSize(decodeRecipe(descriptors));
    }
    expect(at).toBeGreaterThanOrEqual(130_000);
    const from = Number(items[1]?.[1]);
    expect(Buffer.concat(bulk).equals(LONG.subarray(from, at))).toBe(true);
    // It has most of it, or it is short.
    const [head] = (await one.fetch({ node, seq: second }, { ...range, held: [[node, first]] })).items;
    expect(head?.[0] === "v" && head[2] !== null).toBe(true);
    const short = await one.make(ROOT_NODE, "short");
    const { version } = await one.write(short, 0, LONG.subarray(0, 60_000));
    const [shortHead, run] = (await one.fetch({ node: short, seq: version }, part)).items;
    expect(shortHead?.[0] === "v" && shortHead[2] !== null).toBe(true);
    expect(run?.[0]).toBe("d");
    // A client that has it, is not told.
    const [known, chunks] = (await one.fetch({ node, seq: first }, { ...range, hasRecipe: true })).items;
    expect([known?.[2], chunks?.[0]]).toEqual([null, "d"]);
  });

  test("[W141] cuts a chunk that is longer than wanted, and not all within the range, to that", async () => {
    const { node, first } = await twoVersions(LONG);
    const recipe = await one.recipe(node, first);
    const index = recipe.lengths.findIndex((length, at) => at > 2 && length > 8_000);
    const [start = 0, end = 0] = [chunkOffsets(recipe)[index], chunkOffsets(recipe)[index + 1]];
    const range = { offset: start + 1_000, length: 2_000, part: 4_096 };
    for (const hasRecipe of [false, true]) {
      const { items, bulk } = await one.fetch({ node, seq: first }, { ...range, hasRecipe });
      expect(items.slice(1).map((item) => item.slice(0, 2))).toEqual([["raw", start + 1_000]]);
      expect(Buffer.concat(bulk).equals(LONG.subarray(start + 1_000, start + 3_000))).toBe(true);
    }
    const all = await one.fetch({ node, seq: first }, { offset: start - 5, length: end - start + 10, part: 4_096 });
    // It is whole between its neighbours, of which a part may come.
    expect(all.items.some((item) => item[0] === "s" && item[1] <= start && item[1] + item[4] >= end)).toBe(true);
    const from = Number(all.items[1]?.[1]);
    expect(from).toBeLessThanOrEqual(start - 5);
    expect(Buffer.concat(all.bulk).equals(LONG.subarray(from, from + Buffer.concat(all.bulk).length))).toBe(true);
  });

  test("[W142] sends what is not waited for when no other channel has anything to send", async () => {
    const { node, first } = await twoVersions(LONG);
    const [asked, length] = [20_000, LONG.length];
    const whole = { version: [node, first], held: [], hasRecipe: false, offset: 0, length, part: 64 * 1024 };
    const slow = await (await wire.greeted({ bytesPerSecond: 100_000 })).attach(instanceOf("2"));
    const arrivals: string[] = [];
    const follow = async (name: string, channel: Channel): Promise<void> => {
      for (let item = await channel.next(); item !== undefined; item = await channel.next()) {
        const [kind, offset, , , , encodedBytes] = item as [string, number, unknown, unknown, unknown, number];
        if (kind === "v") continue;
        await channel.readBulk(encodedBytes);
        arrivals.push(`${name} ${offset < asked ? "asked" : "ahead"}`);
      }
    };
    const ask = (more: object): Channel => slow.client.connection.ask("fetch", slow.request({ ...whole, ...more }));
    const ofFirst = follow("first", ask({ asked }));
    await wire.rig.clock.advance(300);
    const ofSecond = follow("second", ask({ length: 60_000, asked: 60_000 }));
    const beganMs = wire.rig.clock.bootMs();
    await wire.rig.run(ofSecond);
    // The fetch is as fast as if it were alone: shared, the line would take twice as long.
    expect(wire.rig.clock.bootMs() - beganMs).toBeLessThan(900);
    await wire.rig.run(ofFirst);
    // The second was asked for in the middle of the first, and is there before the rest of that.
    const lastOfSecond = arrivals.findLastIndex((each) => each.startsWith("second"));
    expect(arrivals[0]).toBe("first asked");
    expect(arrivals.slice(lastOfSecond).filter((each) => each === "first ahead").length).toBeGreaterThan(1);
  });

  test("[W30] of a version that is not kept is Gone; one that another program overwrote yields no other bytes", async () => {
    const { node, first, second } = await twoVersions();
    expect(await kindOf(one.fetch({ node, seq: first + 1_000 }))).toBe("Gone");
    await wire.rig.settle();
    await wire.rig.writeFile("a", "overwritten");
    expect(["Stale", "Lost"]).toContain(await kindOf(one.fetch({ node, seq: second })));
  });

  /**
   * A file that another program has just written, too large to be cut while it is told of; nothing in the background
   * cuts it.
   */
  async function uncut(): Promise<{ bytes: Uint8Array; version: [number, number] }> {
    wire.rig.volume.meta.withoutRecipe = async () => [];
    const before = wire.rig.volume.seq;
    const bytes = bytesOf(4, 17 * 1024 * 1024);
    await wire.rig.writeFile("large", bytes);
    await wire.rig.clock.runUntil(() => wire.rig.volume.seq > before);
    const state = await wire.rig.volume.meta.lookup(ROOT_NODE, "large");
    return { bytes, version: [state?.node ?? 0, state?.version ?? 0] };
  }

  test("[W33] getHash that wants the OID of a version without a recipe has it cut, once that can be done", async () => {
    const { bytes, version } = await uncut();
    const ask = { version, from: 0, count: 0, oid: true };
    expect(await one.call("getHash", ask)).toEqual({ sizeBytes: bytes.length, recipe: null, chunks: 0, oid: null });
    await wire.rig.clock.advance(3_000);
    const unasked = { ...ask, oid: false };
    expect(await one.call("getHash", unasked)).toEqual({ sizeBytes: bytes.length, recipe: null, chunks: 0 });
    const recipe = await wire.rig.executor.chunkBytes(bytes);
    const oid = await wire.rig.executor.digest([encodeRecipe(recipe)]);
    const [first, second] = await Promise.all([one.call("getHash", ask), one.call("getHash", ask)]);
    expect(first).toMatchObject({ chunks: recipe.lengths.length, oid });
    expect(second).toEqual(first);
    expect(await one.recipe(...version)).toEqual(recipe);
  });

  test("[W33] getHash waits a second for a recipe that takes longer, which is there when it is asked again", async () => {
    const { version } = await uncut();
    const cut = wire.rig.executor.chunkFile.bind(wire.rig.executor);
    wire.rig.executor.chunkFile = async (...args) => {
      await new Promise<void>((resolve) => wire.rig.clock.after(3_000, resolve));
      return cut(...args);
    };
    await wire.rig.clock.advance(3_000);
    const ask = { version, from: 0, count: 0, oid: true };
    const beganMs = wire.rig.clock.bootMs();
    expect(await one.call("getHash", ask)).toMatchObject({ oid: null });
    expect(wire.rig.clock.bootMs() - beganMs).toBeGreaterThanOrEqual(1_000);
    expect(wire.rig.clock.bootMs() - beganMs).toBeLessThan(1_200);
    await wire.rig.clock.advance(3_000);
    expect(await one.call("getHash", ask)).toMatchObject({ oid: expect.any(Uint8Array) });
  });

  test("[W33] [limit recipeDescriptorsPerItem] getHash brings descriptors of a range, at most 4096, and the count", async () => {
    const { node, first, second } = await twoVersions();
    const recipe = await one.recipe(node, first);
    const some = (await one.call("getHash", { version: [node, first], from: 1, count: 2 })) as { recipe: Uint8Array };
    expect(some).toMatchObject({ sizeBytes: FIRST.length, chunks: recipe.lengths.length });
    expect(some.recipe.length).toBe(72);
    expect(await kindOf(one.call("getHash", { version: [node, 999_999], from: 0, count: 1 }))).toBe("Gone");
    const past = (await one.call("getHash", { version: [node, first], from: 10_000, count: 5 })) as {
      recipe: Uint8Array;
    };
    expect(past.recipe.length).toBe(0);
    const oid = await wire.rig.executor.digest([encodeRecipe(recipe)]);
    expect(await one.call("getHash", { version: [node, first], from: 0, count: 0, oid: true })).toMatchObject({ oid });
    expect(some).not.toHaveProperty("oid");
    const long = { lengths: new Uint32Array(LIMITS.recipeDescriptorsPerItem + 5).fill(1), digests: new Uint8Array(0) };
    long.digests = new Uint8Array(32 * long.lengths.length);
    wire.rig.volume.recipes.get = async () => long;
    const most = (await one.call("getHash", { version: [node, second], from: 0, count: long.lengths.length })) as {
      recipe: Uint8Array;
      chunks: number;
    };
    expect([most.recipe.length / 36, most.chunks]).toEqual([LIMITS.recipeDescriptorsPerItem, long.lengths.length]);
  });
});
