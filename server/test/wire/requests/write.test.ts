// The write channel: items, what the server asks for, what it refuses, and how a broken write goes on.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import {
  EMPTY_RECIPE,
  LIMITS,
  ROOT_NODE,
  TIMING,
  chunkOffsets,
  concatRecipes,
  encodeRecipe,
  recipeSize,
  sliceRecipe,
} from "@runnel/shared";
import type { Recipe, VersionId } from "@runnel/shared";
import type { HeldVersions } from "../../../src/upload/held-versions.ts";
import { receivedAs, resolveReference } from "../../../src/upload/references.ts";
import { bytesOf } from "../../volume/volume-rig.ts";
import { ServerRig, instanceOf, kindOf, part } from "../server-rig.ts";
import type { Attached, Upload } from "../server-rig.ts";

let wire: ServerRig;
let one: Attached;
const ONE = instanceOf("1");
const OLD = bytesOf(1, 200_000);
const NEW = bytesOf(2, 30_000);

async function start(options: Parameters<typeof ServerRig.open>[1] = {}): Promise<void> {
  wire = await ServerRig.open(3, options);
  one = await (await wire.greeted()).attach(ONE);
}

beforeEach(() => start());

afterEach(async () => {
  await wire.close();
});

function repeated(bytes: Uint8Array, count: number): Uint8Array {
  return new Uint8Array(Buffer.alloc(bytes.length * count, bytes));
}

function ofChunks(count: number): Recipe {
  return { lengths: new Uint32Array(count).fill(1), digests: new Uint8Array(32 * count) };
}

interface Base {
  node: number;
  version: VersionId;
  recipe: Recipe;
}

/** A file with OLD in it, up and settled. */
async function base(name = "a", bytes = OLD): Promise<Base> {
  const node = await one.make(ROOT_NODE, name);
  const { version } = await one.write(node, 0, bytes);
  await wire.rig.settle();
  return { node, version: { node, seq: version }, recipe: await one.recipe(node, version) };
}

async function fileAt(path: string): Promise<Uint8Array> {
  await wire.rig.settle();
  return wire.rig.readFile(path);
}

async function chunks(bytes: Uint8Array): Promise<Recipe> {
  return wire.rig.executor.chunkBytes(bytes);
}

async function tempFiles(): Promise<string[]> {
  const names: string[] = [];
  await wire.rig.other.list(".runnel-store/temp", (entries) => {
    for (const { name } of entries) names.push(name ?? "");
  });
  return names;
}

describe("a write", () => {
  test("[W20] [W175] of a small file is one call: its items come in the opening", async () => {
    const node = await one.make(ROOT_NODE, "small");
    const bytes = Buffer.from("a few words");
    const oid = await wire.rig.executor.digest([encodeRecipe(await chunks(bytes))]);
    const opening = { node, base: 0, sizeBytes: bytes.length, attributes: {}, isResumed: false };
    const items = [
      ["d", "raw", bytes.length, bytes],
      ["e", oid],
    ];
    const { version } = await one.change("write", { ...opening, items });
    expect(Buffer.from(await fileAt("small")).toString()).toBe("a few words");
    // A wrong item in it is refused as in a stream, and changes nothing.
    const wrongs: [unknown[], string][] = [
      [
        [
          ["d", "raw", bytes.length, Buffer.from("other words")],
          ["e", oid],
        ],
        "Corrupt",
      ],
      [[["d", "raw", bytes.length, bytes]], "Invalid"],
      [[["x"], ["e", oid]], "Invalid"],
      [
        [
          ["h", encodeRecipe(await chunks(Buffer.from("not here..."))), null, 0],
          ["e", oid],
        ],
        "Invalid",
      ],
    ];
    for (const [wrong, kind] of wrongs)
      expect(await kindOf(one.change("write", { ...opening, base: version, items: wrong }))).toBe(kind);
    expect(Buffer.from(await fileAt("small")).toString()).toBe("a few words");
  });

  test("[W35] of many items is told how many have been taken", async () => {
    const { node, version, recipe } = await base("a", bytesOf(5, 500));
    const count = 9000;
    const whole = { lengths: new Uint32Array(count).fill(500), digests: repeated(recipe.digests, count) };
    const upload = one.openWrite({ node, base: version.seq, sizeBytes: 500 * count });
    for (let item = 0; item < count; item++) upload.copy(version, 0, 1);
    await upload.end(whole);
    expect(await upload.reply()).toBe(undefined);
    expect(upload.taken).toEqual([4096, 8192]);
    expect(await fileAt("a")).toEqual(repeated(bytesOf(5, 500), count));
  });

  test("[W35] of items with much in them is told earlier", async () => {
    const node = await one.make(ROOT_NODE, "a");
    const runs = Array.from({ length: 40 }, (_, index) => bytesOf(index, 16_384));
    const upload = one.openWrite({ node, base: 0, sizeBytes: 40 * 16_384 });
    for (const run of runs) upload.channel.send(["d", "raw", run.length, run]);
    await upload.end(concatRecipes(await Promise.all(runs.map((run) => chunks(run)))));
    expect(await upload.reply()).toBe(undefined);
    expect(upload.taken).toEqual([16, 32]);
  });

  test("[W20] [W21] [W175] begun in its opening goes on with items, also with what is needed", async () => {
    const { node, version, recipe } = await base();
    const tail = bytesOf(9, 5_000);
    const whole = Buffer.concat([OLD, tail]);
    const gone = encodeRecipe(await chunks(bytesOf(77, 3_000)));
    const items = [["c", [version.node, version.seq], 0, recipe.lengths.length - 1]];
    const last = chunkOffsets(recipe)[recipe.lengths.length - 1] ?? 0;
    const upload = one.openWrite({ node, base: version.seq, sizeBytes: whole.length, items });
    await upload.data(whole.subarray(last));
    expect((await upload.finish(await chunks(whole))).conflict).toBe(false);
    expect(Buffer.compare(await fileAt("a"), whole)).toBe(0);
    const unknown = one.openWrite({ node, base: version.seq, sizeBytes: 3_000, items: [["h", gone, null, 0]] });
    await unknown.end(await chunks(bytesOf(77, 3_000)));
    expect(await unknown.reply()).toEqual(["need", [0]]);
    unknown.channel.cancel();
  });

  test.each([
    ["nothing", 0],
    ["a few bytes", 10],
    ["several chunks in the log", 200_000],
    ["more than a megabyte, staged in a file", 2_500_000],
  ])("[W20] of %s becomes the file, and its version is the answer", async (_what, length) => {
    const bytes = bytesOf(7, length);
    const node = await one.make(ROOT_NODE, "a");
    const result = await one.write(node, 0, bytes);
    expect(result).toEqual({ node, seq: wire.rig.volume.seq, version: wire.rig.volume.seq, conflict: false });
    expect(Buffer.from(await wire.rig.read(node, result.version)).equals(bytes)).toBe(true);
    expect(Buffer.from(await fileAt("a")).equals(bytes)).toBe(true);
    expect(await tempFiles()).toEqual([]);
  });

  test.each([1, 2, 3, 4] as const)(
    "[W62] [W211] is cut with preset %i when it names it, also where data is asked for",
    async (preset) => {
      const bytes = bytesOf(7, 3_000_000);
      const recipe = await wire.rig.executor.chunkBytes(bytes, preset);
      const node = await one.make(ROOT_NODE, "a");
      const upload = one.openWrite({ node, sizeBytes: bytes.length, preset });
      await upload.data(bytes, ["d"], preset);
      const { version } = await upload.finish(recipe);
      expect(await one.recipe(node, version)).toEqual(recipe);
      expect(Buffer.from(await fileAt("a")).equals(bytes)).toBe(true);

      const news = Buffer.concat([bytes.subarray(0, 1_500_000), bytesOf(8, 1_500_000)]);
      const wanted = await wire.rig.executor.chunkBytes(news, preset);
      const again = one.openWrite({ node, base: version, sizeBytes: news.length, preset });
      again.known(wanted, null, 0);
      await again.end(wanted);
      expect(await again.reply()).toEqual(["need", [0]]);
      await again.data(news, ["r", 0], preset);
      const after = await again.finish(wanted);
      expect(await one.recipe(node, after.version)).toEqual(wanted);
    },
  );

  test("[W21] takes data for chunks that were named as they were named, whatever they were cut with", async () => {
    const bytes = bytesOf(9, 300_000);
    const fixed = await wire.rig.executor.chunkBytes(bytes, 3);
    const node = await one.make(ROOT_NODE, "a");
    const upload = one.openWrite({ node, sizeBytes: bytes.length });
    upload.known(fixed, null, 0);
    await upload.end(fixed);
    expect(await upload.reply()).toEqual(["need", [0]]);
    await upload.data(bytes, ["r", 0]);
    const { version } = await upload.finish(fixed);
    expect(await one.recipe(node, version)).toEqual(fixed);
    expect(Buffer.from(await fileAt("a")).equals(bytes)).toBe(true);
  });

  test("[W21] data that ends within a named chunk is Corrupt", async () => {
    const bytes = bytesOf(9, 300_000);
    const fixed = await wire.rig.executor.chunkBytes(bytes, 3);
    const upload = one.openWrite({ node: await one.make(ROOT_NODE, "a"), sizeBytes: bytes.length });
    upload.known(fixed, null, 0);
    await upload.end(fixed);
    expect(await upload.reply()).toEqual(["need", [0]]);
    const sent = async (): Promise<unknown> => {
      await upload.data(bytes.subarray(0, 100_000), ["r", 0]);
      return upload.finish(fixed);
    };
    await expect(sent()).rejects.toMatchObject({ kind: "Corrupt" });
  });

  test("[W62] that is cut with another preset than it names is Corrupt", async () => {
    const bytes = bytesOf(7, 3_000_000);
    const node = await one.make(ROOT_NODE, "a");
    const upload = one.openWrite({ node, sizeBytes: bytes.length });
    await upload.data(bytes, ["d"], 1);
    await expect(upload.finish(await wire.rig.executor.chunkBytes(bytes, 1))).rejects.toMatchObject({
      kind: "Corrupt",
    });
  });

  test("[W20] copies chunks of versions by place and by digest, beside new data", async () => {
    const { node, version, recipe } = await base();
    const upload = one.openWrite({ node, base: version.seq, sizeBytes: OLD.length + NEW.length });
    upload.copy(version, 0, 3);
    await upload.data(NEW);
    upload.known(sliceRecipe(recipe, 3, 5), version, 3);
    upload.known(sliceRecipe(recipe, 5, recipe.lengths.length), null, 0);
    const whole = concatRecipes([
      sliceRecipe(recipe, 0, 3),
      await chunks(NEW),
      sliceRecipe(recipe, 3, recipe.lengths.length),
    ]);
    const result = await upload.finish(whole);
    expect(result.conflict).toBe(false);
    const before = part(OLD, recipe, 0, 3).bytes;
    expect(Buffer.from(await fileAt("a")).equals(Buffer.concat([before, NEW, OLD.subarray(before.length)]))).toBe(true);
  });

  test("[W27] on a base that is not current is a conflict that the answer tells", async () => {
    const { node, version } = await base();
    await one.write(node, version.seq, Buffer.from("mine"));
    expect((await one.write(node, version.seq, Buffer.from("theirs"))).conflict).toBe(true);
    expect(Buffer.from(await fileAt("a")).toString()).toBe("theirs");
  });

  test("[W27] to a file that another instance has removed goes into a new one beside, which the answer names", async () => {
    const { node, version } = await base("a.txt");
    const two = await (await wire.greeted()).attach(instanceOf("2"));
    await two.change("remove", { folder: ROOT_NODE, name: "a.txt", node, isFolder: false });
    const result = await one.write(node, version.seq, NEW);
    expect(result.conflict).toBe(true);
    expect(result.node).not.toBe(node);
    const entries = (await one.find({ folder: ROOT_NODE })).flatMap(([, , , page]) => page);
    expect(entries.map(([, state]) => [state.node, state.sizeBytes])).toEqual([[result.node, NEW.length]]);
  });

  test("[W23] with another OID is Corrupt, and nothing is changed", async () => {
    const { node, version } = await base();
    const { seq } = wire.rig.volume;
    const upload = one.openWrite({ node, base: version.seq, sizeBytes: NEW.length });
    await upload.data(NEW);
    expect(await kindOf(upload.finish(await chunks(OLD)))).toBe("Corrupt");
    expect(wire.rig.volume.seq).toBe(seq);
  });

  test.each<[string, string, (upload: Upload, at: Base) => Promise<unknown> | unknown]>([
    ["fewer bytes than announced", "Invalid", () => undefined],
    ["more bytes than announced", "Invalid", (upload) => upload.data(bytesOf(1, 40_000))],
    ["a run of no bytes", "Invalid", (upload) => upload.channel.send(["d", "raw", 0, new Uint8Array(0)])],
    [
      "[limit runBytes] a run above a megabyte",
      "Invalid",
      (upload) => upload.channel.send(["d", "raw", LIMITS.runBytes + 1, 10]),
    ],
    ["another length than announced", "Invalid", (upload) => upload.channel.send(["d", "raw", 5, new Uint8Array(4)])],
    ["an encoded length that cannot be", "Invalid", (upload) => upload.channel.send(["d", "zstd", 10, 10_000])],
    ["what zstd cannot decode", "Corrupt", (upload) => upload.channel.send(["d", "zstd", 10, new Uint8Array(12)])],
    [
      "chunks that the version has not",
      "Invalid",
      (upload, { version, recipe }) => upload.copy(version, recipe.lengths.length, 1),
    ],
    ["a copy of no chunks", "Invalid", (upload, { version }) => upload.copy(version, 0, 0)],
    ["a copy of a version that is not kept", "Gone", (upload, { node }) => upload.copy({ node, seq: 999_999 }, 0, 1)],
    ["no descriptors", "Invalid", (upload) => upload.known(EMPTY_RECIPE, null, 0)],
    [
      "[limit recipeDescriptorsPerItem] too many descriptors",
      "Invalid",
      (upload) => upload.known(ofChunks(LIMITS.recipeDescriptorsPerItem + 1), null, 0),
    ],
    [
      "data for an item that was not asked for",
      "Invalid",
      (upload) => upload.channel.send(["r", 0, "raw", 3, new Uint8Array(3)]),
    ],
    ["an item that is none", "Invalid", (upload) => upload.channel.send(["x", 1])],
  ])("[W20] with %s is %s, and nothing is changed", async (_what, kind, act) => {
    const at = await base();
    const { seq } = wire.rig.volume;
    const upload = one.openWrite({ node: at.node, base: at.version.seq, sizeBytes: NEW.length });
    await act(upload, at);
    const refusal = await upload.finish(await chunks(NEW)).catch((error: unknown) => error);
    expect(refusal).toMatchObject(
      kind === "Invalid" ? { kind, detail: { rule: expect.stringMatching(/W(20|10)/) } } : { kind },
    );
    expect(wire.rig.volume.seq).toBe(seq);
    expect(await tempFiles()).toEqual([]);
    // The connection goes on.
    expect(await one.call("space", {})).toBeDefined();
  });

  test("[W20] [limit recipeDescriptors] has at most so many chunks, counted before anything is copied", async () => {
    const count = 60_000;
    const recipe = { lengths: new Uint32Array(count).fill(1), digests: bytesOf(1, 32 * count) };
    const node = await one.make(ROOT_NODE, "a");
    const { meta } = wire.rig.volume;
    meta.recipe = async () => recipe;
    const upload = one.openWrite({ node, sizeBytes: LIMITS.fileBytes });
    for (let item = 0; item <= Math.floor(LIMITS.recipeDescriptors / count); item++)
      upload.copy({ node, seq: 0 }, 0, count);
    expect(await kindOf(upload.finish(EMPTY_RECIPE))).toBe("TooLarge");
  });

  test("[W20] [limit fileBytes] of a file longer than can be is refused", async () => {
    const node = await one.make(ROOT_NODE, "a");
    const upload = one.openWrite({ node, sizeBytes: LIMITS.fileBytes + 1 });
    expect(await kindOf(upload.result())).toBe("Invalid");
  });

  test("[limit stagedBytes] is Quota beyond what one instance may stage, and what another stages does not count", () => {
    const staged = wire.rig.volume.uploads;
    const allowance = staged.allowance(ONE);
    for (let bytes = 0; bytes < LIMITS.stagedBytes; bytes += LIMITS.runBytes) allowance.reserveBytes(LIMITS.runBytes);
    const quota = expect.objectContaining({ kind: "Quota", detail: { limit: LIMITS.stagedBytes } });
    expect(() => allowance.reserveBytes(1)).toThrow(quota);
    expect(() => staged.allowance(ONE).reserveBytes(1)).toThrow(quota);
    staged.allowance(instanceOf("2")).reserveBytes(LIMITS.runBytes);
    allowance.releaseBytes(1);
    allowance.reserveBytes(1);
  });

  test("[W20] [limit unfinishedDescriptors] is Busy where its unfinished writes have too many, until one of them has ended", async () => {
    const { node, version, recipe } = await base();
    const count = recipe.lengths.length;
    const others = wire.rig.volume.uploads.allowance(ONE);
    const copy = async (): Promise<string> => {
      const upload = one.openWrite({ node, base: version.seq, sizeBytes: 2 * OLD.length });
      for (let times = 0; times < 2; times++) upload.copy(version, 0, count);
      return kindOf(upload.finish(EMPTY_RECIPE));
    };
    // Chunks that are copied from, and two items with their chunks.
    const held = count + 2 * (count + 8);
    others.holdDescriptors(LIMITS.unfinishedDescriptors - held + 1);
    expect(await copy()).toBe("Busy");
    others.holdDescriptors(-1);
    for (let times = 0; times < 3; times++) expect(await copy()).toBe("Corrupt");
    const upload = one.openWrite({ node, base: version.seq, sizeBytes: OLD.length });
    upload.copy(version, 0, count);
    upload.channel.cancel();
    await wire.rig.clock.advance(1_000);
    expect(await copy()).toBe("Busy");
    await wire.rig.volume.uploads.take(ONE, one.n - 1)?.discard();
    expect(await copy()).toBe("Corrupt");
  });

  test("[W20] what is named by digest counts for each place where it was found, and is not kept twice", async () => {
    const { node, version, recipe } = await base();
    const count = recipe.lengths.length;
    const first = sliceRecipe(recipe, 0, 1);
    const named = concatRecipes(Array.from({ length: 100 }, () => first));
    const others = wire.rig.volume.uploads.allowance(ONE);
    const write = async (): Promise<string> => {
      const upload = one.openWrite({ node, base: version.seq, sizeBytes: recipeSize(named) });
      upload.known(named, null, 0);
      return kindOf(upload.finish(EMPTY_RECIPE));
    };
    others.holdDescriptors(LIMITS.unfinishedDescriptors - (count + 100 + 8 + 3 * 99) + 1);
    expect(await write()).toBe("Busy");
    others.holdDescriptors(-1);
    expect(await write()).toBe("Corrupt");
    const held = { get: async () => undefined } as unknown as HeldVersions;
    const meta = { findChunks: async () => [undefined] };
    const resolved = await resolveReference(["h", encodeRecipe(first), null, 7], held, meta);
    expect(resolved.reference).toEqual(["h", null, 7]);
    expect(receivedAs(resolved.reference, resolved.recipe)).toEqual(["h", encodeRecipe(first), null, 7]);
  });

  test("[limit unfinishedDescriptors] leaves room to write the largest recipe over another of that size", () => {
    const items = LIMITS.unfinishedDescriptors - 2 * LIMITS.recipeDescriptors;
    expect(items).toBeGreaterThanOrEqual(8 * 100_000);
    // The memory of all, at 36 bytes each.
    expect(36 * LIMITS.unfinishedDescriptors).toBeLessThan(350 * 1024 * 1024);
  });

  test("[W21] [limit neededItems] asks for so many items at once, and for the others after the next end", async () => {
    const at = await base("a", bytesOf(1, 3));
    // Chunks of the right length, none of which the volume has.
    const items = LIMITS.neededItems + 1;
    const upload = one.openWrite({ node: at.node, base: at.version.seq, sizeBytes: items });
    for (let item = 0; item < items; item++) {
      upload.known(ofChunks(1), null, 0);
      if (item % 4096 === 0) await wire.rig.clock.advance(50);
    }
    await upload.end(EMPTY_RECIPE);
    const all = Array.from({ length: items }, (_, index) => index);
    expect(await upload.reply()).toEqual(["need", all.slice(0, -1)]);
    upload.channel.cancel();
  }, 60_000);

  test("is Quota beyond what one instance may stage, and what was staged is given back", async () => {
    await wire.close();
    await start({ stagedBytesMax: 50_000 });
    const node = await one.make(ROOT_NODE, "a");
    const upload = one.openWrite({ node, sizeBytes: 60_000 });
    await upload.data(bytesOf(1, 60_000));
    expect(await kindOf(upload.finish(await chunks(bytesOf(1, 60_000))))).toBe("Quota");
    expect((await one.write(node, 0, bytesOf(2, 45_000))).conflict).toBe(false);
    const { version } = (await wire.rig.volume.meta.node(node)) ?? { version: 0 };
    expect((await one.write(node, version, bytesOf(3, 45_000))).conflict).toBe(false);
  });

  test("is NoSpace when the server's disk is full, and nothing is changed", async () => {
    const { node, version } = await base();
    const { seq } = wire.rig.volume;
    wire.rig.disk.capacityBytes = 3_000_000;
    const upload = one.openWrite({ node, base: version.seq, sizeBytes: 4_000_000 });
    await upload.data(bytesOf(5, 4_000_000)).catch(() => undefined);
    expect(await kindOf(upload.finish(await chunks(bytesOf(5, 4_000_000))))).toBe("NoSpace");
    expect(wire.rig.volume.seq).toBe(seq);
    expect(await tempFiles()).toEqual([]);
  });
});

describe("what is not where it was said to be", () => {
  test("[W21] is asked for: a version that another program changed, and digests that nobody has", async () => {
    const { node, version, recipe } = await base();
    await wire.rig.writeFile("a", bytesOf(9, OLD.length));
    const upload = one.openWrite({ node, base: version.seq, sizeBytes: OLD.length + NEW.length });
    upload.copy(version, 0, recipe.lengths.length);
    const unknown = await chunks(NEW);
    upload.known(unknown, null, 0);
    const whole = concatRecipes([recipe, unknown]);
    await upload.end(whole);
    expect(await upload.reply()).toEqual(["need", [0, 1]]);
    await upload.data(OLD, ["r", 0]);
    await upload.data(NEW, ["r", 1]);
    const result = await upload.finish(whole);
    expect(Buffer.from(await wire.rig.read(node, result.version)).equals(Buffer.concat([OLD, NEW]))).toBe(true);
  });

  test("[W21] comes in several runs, and from the beginning when it is asked for again", async () => {
    const node = await one.make(ROOT_NODE, "a");
    const recipe = await chunks(OLD);
    const upload = one.openWrite({ node, sizeBytes: OLD.length });
    upload.known(recipe, null, 0);
    await upload.end(recipe);
    expect(await upload.reply()).toEqual(["need", [0]]);
    await upload.data(part(OLD, recipe, 0, 4).bytes, ["r", 0]);
    await upload.end(recipe);
    expect(await upload.reply()).toEqual(["need", [0]]);
    await upload.data(part(OLD, recipe, 0, 4).bytes, ["r", 0]);
    await upload.data(part(OLD, recipe, 4, recipe.lengths.length).bytes, ["r", 0]);
    const result = await upload.finish(recipe);
    expect(Buffer.from(await wire.rig.read(node, result.version)).equals(OLD)).toBe(true);
  });

  test("[W21] must be what its descriptors say", async () => {
    const node = await one.make(ROOT_NODE, "a");
    const recipe = await chunks(NEW);
    const upload = one.openWrite({ node, sizeBytes: NEW.length });
    upload.known(recipe, null, 0);
    await upload.end(recipe);
    expect(await upload.reply()).toEqual(["need", [0]]);
    await upload.data(bytesOf(8, NEW.length), ["r", 0]);
    expect(await kindOf(upload.finish(recipe))).toBe("Corrupt");
  });
});

describe("a write whose link broke", () => {
  /** The items of one write, that can be sent from any of them on. */
  async function planned(): Promise<{
    at: Base;
    whole: Recipe;
    bytes: Uint8Array;
    send: (upload: Upload, from: number, to: number) => Promise<void>;
  }> {
    const at = await base();
    const middle = bytesOf(21, 1_400_000);
    const bytes = Buffer.concat([NEW, OLD, middle, OLD]);
    const whole = concatRecipes([await chunks(NEW), at.recipe, await chunks(middle), at.recipe]);
    const [first, second] = [
      part(middle, await chunks(middle), 0, 60),
      part(middle, await chunks(middle), 60, (await chunks(middle)).lengths.length),
    ];
    const items: ((upload: Upload) => Promise<void> | void)[] = [
      (upload) => upload.data(NEW),
      (upload) => upload.copy(at.version, 0, at.recipe.lengths.length),
      (upload) => upload.data(first.bytes),
      (upload) => upload.data(second.bytes),
      (upload) => upload.known(at.recipe, null, 0),
    ];
    const send = async (upload: Upload, from: number, to: number): Promise<void> => {
      for (const item of items.slice(from, to)) await item(upload);
    };
    return { at, whole, bytes, send };
  }

  test.each([0, 1, 2, 3, 4, 5])("[W26] after item %i goes on there, on another connection", async (count) => {
    const { at, whole, bytes, send } = await planned();
    const opening = { node: at.node, base: at.version.seq, sizeBytes: bytes.length };
    const broken = one.openWrite(opening, 50);
    await send(broken, 0, count);
    await wire.rig.clock.advance(200);
    one.client.link.cut();
    await wire.rig.clock.advance(50);
    const again = await (await wire.greeted()).attach(ONE);
    const upload = again.openWrite({ ...opening, isResumed: true }, 50);
    expect(await upload.reply()).toEqual(["from", count]);
    await send(upload, count, 5);
    const result = await upload.finish(whole);
    expect(Buffer.from(await wire.rig.read(at.node, result.version)).equals(bytes)).toBe(true);
    await wire.rig.settle();
    expect(await tempFiles()).toEqual([]);
  });

  test("[W26] asks for what has changed meanwhile", async () => {
    const { at, whole, bytes, send } = await planned();
    const opening = { node: at.node, base: at.version.seq, sizeBytes: bytes.length };
    await send(one.openWrite(opening, 50), 0, 5);
    await wire.rig.clock.advance(200);
    one.client.link.cut();
    await wire.rig.clock.advance(50);
    await wire.rig.writeFile("a", "destroyed");
    const again = await (await wire.greeted()).attach(ONE);
    const upload = again.openWrite({ ...opening, isResumed: true }, 50);
    expect(await upload.reply()).toEqual(["from", 5]);
    await upload.end(whole);
    expect(await upload.reply()).toEqual(["need", [1, 4]]);
    await upload.data(OLD, ["r", 1]);
    await upload.data(OLD, ["r", 4]);
    const result = await upload.finish(whole);
    expect(Buffer.from(await wire.rig.read(at.node, result.version)).equals(bytes)).toBe(true);
  });

  test("[W26] [limit stagedKeepMs] is forgotten after a day, with what it staged; and one that nobody began is sent from 0", async () => {
    const { at, bytes, send } = await planned();
    const opening = { node: at.node, base: at.version.seq, sizeBytes: bytes.length };
    await send(one.openWrite(opening, 50), 0, 5);
    await wire.rig.clock.advance(200);
    one.client.link.cut();
    await wire.rig.clock.advance(50);
    expect(await tempFiles()).toEqual(["staged-1", "staged-1.notes"]);
    await wire.rig.clock.advance(TIMING.stagedKeepMs);
    expect(await tempFiles()).toEqual([]);
    const again = await (await wire.greeted()).attach(ONE);
    const upload = again.openWrite({ ...opening, isResumed: true }, 50);
    expect(await upload.reply()).toEqual(["from", 0]);
    upload.channel.cancel();
  });

  test.each([
    ["another length", { sizeBytes: 5 }],
    ["another preset", { sizeBytes: 4, preset: 1 }],
  ])("[W26] of %s than what is kept under its number begins anew", async (_what, before) => {
    const node = await one.make(ROOT_NODE, "a");
    await one.openWrite({ node, ...before }, 50).data(Buffer.from("old"));
    await wire.rig.clock.advance(200);
    one.client.link.cut();
    await wire.rig.clock.advance(50);
    const again = await (await wire.greeted()).attach(ONE);
    const upload = again.openWrite({ node, sizeBytes: 4, isResumed: true }, 50);
    expect(await upload.reply()).toEqual(["from", 0]);
    await upload.data(Buffer.from("anew"));
    expect((await upload.finish(await chunks(Buffer.from("anew")))).conflict).toBe(false);
  });

  test("is one of at most 64 kept for an instance: the oldest goes", async () => {
    const node = await one.make(ROOT_NODE, "a");
    for (let n = 100; n < 165; n++) await one.openWrite({ node, sizeBytes: NEW.length + 1 }, n).data(NEW);
    await wire.rig.clock.advance(200);
    one.client.link.cut();
    await wire.rig.clock.advance(50);
    const again = await (await wire.greeted()).attach(ONE);
    for (const [n, from] of [
      [100, 0],
      [101, 1],
      [164, 1],
    ]) {
      expect(await again.openWrite({ node, sizeBytes: NEW.length + 1, isResumed: true }, n).reply()).toEqual([
        "from",
        from,
      ]);
    }
  });

  test("[W24] [W26] [W176] that had been executed is answered with the stored result; another content by the number is refused", async () => {
    const node = await one.make(ROOT_NODE, "a");
    const big = bytesOf(5, 1_200_000);
    const result = await one.write(node, 0, big, 50);
    const resumed = one.openWrite({ node, sizeBytes: big.length, isResumed: true }, 50);
    expect(await resumed.reply()).toBeUndefined();
    expect(await resumed.result()).toEqual(result);
    expect(await one.write(node, 0, big, 50)).toEqual(result);
    await wire.rig.settle();
    expect(await tempFiles()).toEqual([]);
    expect(await kindOf(one.write(node, 0, bytesOf(6, 1_200_000), 50))).toBe("Invalid");
    expect(await kindOf(one.openWrite({ node, sizeBytes: 7, isResumed: true }, 50).result())).toBe("Invalid");
    expect(await tempFiles()).toEqual([]);
  });
});

test("a version that a write copies from stays until the commit is accepted, however short of room the trash is", async () => {
  const { node, version, recipe } = await base();
  const upload = one.openWrite({ node, base: version.seq, sizeBytes: OLD.length });
  upload.copy(version, 0, recipe.lengths.length);
  await wire.rig.clock.advance(100);
  // Overtaken: the version goes to the trash, which is emptied.
  const { version: current } = await one.write(node, version.seq, Buffer.from("short"));
  await wire.rig.settle();
  await wire.rig.clock.advance(60 * 24 * 3_600_000);
  const result = await upload.finish(recipe);
  expect(result.conflict).toBe(true);
  expect(current).toBeLessThan(result.version);
  expect(Buffer.from(await fileAt("a")).equals(OLD)).toBe(true);
});
