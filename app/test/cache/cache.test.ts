import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { EMPTY_RECIPE, type VersionId, chunkOffsets, digestAt, sliceRecipe } from "@runnel/shared";
import type { ByteRange } from "@runnel/native/drive";
import type { Cache, CachedContent } from "../../src/agent/cache/cache.ts";
import { CacheMachine } from "./cache-machine.ts";
import type { Sample } from "./cache-machine.ts";

let machine: CacheMachine;
let cache: Cache;

beforeEach(async () => {
  machine = new CacheMachine();
  cache = await machine.open();
});

afterEach(async () => {
  await cache.close();
  machine.clean();
});

const VERSION = { node: 2 ** 40, seq: 2 ** 35 };

/** A new content that nobody holds. */
async function made(version: VersionId, sizeBytes: number): Promise<CachedContent> {
  using hold = await cache.create(version, sizeBytes);
  return hold.content;
}

async function fill(sample: Sample, version = VERSION): Promise<CachedContent> {
  const content = await made(version, sample.bytes.length);
  await cache.write(content, 0, sample.bytes);
  return cache.setRecipe(content, sample.recipe, sample.oid, true);
}

test("what was written is present, the rest is missing", async () => {
  const content = await made(VERSION, 1000);
  expect(cache.present(content)).toEqual([]);
  await cache.write(content, 100, new Uint8Array(50).fill(1));
  await cache.write(content, 150, new Uint8Array(50).fill(2));
  expect(cache.present(content)).toEqual([{ offset: 100, length: 100 }]);
  expect(cache.missing(content, { offset: 90, length: 120 })).toEqual([
    { offset: 90, length: 10 },
    { offset: 200, length: 10 },
  ]);
  expect([...(await cache.read(content, 149, 2))]).toEqual([1, 2]);
  await expect(cache.read(content, 199, 2)).rejects.toMatchObject({ kind: "Gone" });
  await expect(cache.write(content, 990, new Uint8Array(11))).rejects.toThrow(RangeError);
  expect(cache.usedBytes()).toBe(100);
});

test("large contents with a recipe are listed, the one used last first", async () => {
  const [small, one, two] = [
    await machine.sample(1, 1000),
    await machine.sample(2, 9000),
    await machine.sample(3, 9001),
  ];
  for (const [at, sample] of [small, one, two].entries()) await fill(sample, { node: 1 + at, seq: 1 });
  await made({ node: 9, seq: 1 }, 9000);
  expect(cache.lately(10, 5000).map(({ version }) => version.node)).toEqual([3, 2]);
  expect(cache.lately(1, 500).map(({ version }) => version.node)).toEqual([3]);
});

test("a content is found by its version, once made", async () => {
  expect(cache.find(VERSION)).toBeUndefined();
  const [content, again] = await Promise.all([made(VERSION, 10), made(VERSION, 10)]);
  expect(again.id).toBe(content.id);
  expect(cache.find(VERSION)).toBe(content);
  expect(cache.byId(content.id)).toBe(content);
  await made({ ...VERSION, seq: 7 }, 5);
  expect(cache.versionsOf(VERSION.node).map(({ version }) => version.seq)).toEqual([2 ** 35, 7]);
});

test("a content of another size takes the place of a version's content, which goes when its holder lets go", async () => {
  const content = await made(VERSION, 10);
  const notified: number[] = [];
  cache.onEvicting((id) => notified.push(id) > 0);
  const hold = cache.hold(content);
  const other = await made(VERSION, 11);
  await cache.write(content, 0, new Uint8Array(10));
  expect(cache.find(VERSION)?.id).toBe(other.id);
  hold[Symbol.dispose]();
  expect(cache.byId(content.id)).toBeUndefined();
  expect(notified).toEqual([content.id]);
  await expect(cache.write(content, 0, new Uint8Array(1))).rejects.toMatchObject({ kind: "Gone" });
});

test("a content is started over as an empty one of the same version and recipe; the former goes when its holder lets go", async () => {
  const sample = await machine.sample(3, 300_000);
  const content = await fill(sample);
  const hold = cache.hold(content);
  const { hold: anewHold, formerEvicted } = await cache.startOver(content);
  const { content: anew } = anewHold;
  expect(anew).toMatchObject({ version: VERSION, sizeBytes: 300_000, recipe: content.recipe, oid: content.oid });
  expect(cache.find(VERSION)?.id).toBe(anew.id);
  expect(cache.present(anew)).toEqual([]);
  expect(cache.byId(content.id)).toBeDefined();
  await expect(cache.startOver(content)).rejects.toMatchObject({ kind: "Gone" });
  hold[Symbol.dispose]();
  await formerEvicted;
  expect(cache.byId(content.id)).toBeUndefined();
  await cache.write(anew, 0, sample.bytes);
  expect(Buffer.compare(await cache.read(anew, 0, 300_000), sample.bytes)).toBe(0);
  anewHold[Symbol.dispose]();
});

test("a hold counts once, however often it is disposed of", async () => {
  const content = await made(VERSION, 10);
  const [one, other] = [cache.hold(content), cache.hold(content)];
  await cache.write(content, 0, new Uint8Array(10));
  one[Symbol.dispose]();
  one[Symbol.dispose]();
  await cache.evict(0);
  expect(cache.byId(content.id)).toBeDefined();
  other[Symbol.dispose]();
  await cache.evict(0);
  expect(cache.byId(content.id)).toBeUndefined();
});

test("where all is kept it is not looked through at once again, unless there is more", async () => {
  const content = await made(VERSION, 10);
  await cache.write(content, 0, new Uint8Array(10));
  let asked = 0;
  cache.keep(({ seq }) => {
    asked++;
    return seq === VERSION.seq;
  });
  for (let count = 0; count < 3; count++) await cache.evict(0);
  expect(asked).toBe(1);
  const other = await made({ ...VERSION, seq: VERSION.seq + 1 }, 10);
  await cache.write(other, 0, new Uint8Array(10));
  await cache.evict(0);
  expect([cache.byId(content.id), cache.byId(other.id)]).toEqual([expect.anything(), undefined]);
  await machine.clock.advance(30_000);
  await cache.evict(0);
  expect(asked).toBeGreaterThan(3);
});

test("copies are of present bytes only", async () => {
  const [from, to] = [await made(VERSION, 100), await made({ ...VERSION, seq: 1 }, 100)];
  await cache.write(
    from,
    0,
    Uint8Array.from({ length: 50 }, (_, at) => at),
  );
  await cache.copy(from, 10, to, 20, 30);
  expect(cache.present(to)).toEqual([{ offset: 20, length: 30 }]);
  expect([...(await cache.read(to, 20, 2))]).toEqual([10, 11]);
  await expect(cache.copy(from, 40, to, 0, 20)).rejects.toMatchObject({ kind: "Gone" });
});

test("contents outlive a close, with ranges, recipe and OID", async () => {
  const sample = await machine.sample(1, 100_000);
  const content = await made(VERSION, 100_000);
  await cache.write(content, 0, sample.bytes.subarray(0, 60_000));
  cache.setRecipe(content, sample.recipe, sample.oid);
  await cache.close();
  machine.boot++;
  cache = await machine.open();
  const found = cache.find(VERSION) as CachedContent;
  expect(found).toMatchObject({ id: content.id, sizeBytes: 100_000, recipe: sample.recipe, oid: sample.oid });
  expect(found.path).toBe(`/cache/contents/01/${content.id}`);
  expect(cache.absent(found, { offset: 0, length: 100_000 })).toEqual([{ offset: 60_000, length: 40_000 }]);
  expect(cache.usedBytes()).toBe(60_000);
  expect(await cache.read(found, 0, 60_000)).toEqual(sample.bytes.subarray(0, 60_000));
  expect(cache.present(found)).toEqual([{ offset: 0, length: 60_000 }]);
});

test("an adopted file is whole; below the cache's root it gets a second name, elsewhere it is copied; it stays where it was", async () => {
  const sample = await machine.sample(2, 50_000);
  await machine.writeFile(machine.journal, "overlay-1", sample.bytes);
  await machine.writeFile(machine.root, "overlay-2", sample.bytes);
  const copied = await cache.adopt("/journal/overlay-1", { version: VERSION, sizeBytes: 50_000, ...sample });
  const linked = await cache.adopt("/cache/overlay-2", {
    version: { ...VERSION, seq: 3 },
    sizeBytes: 50_000,
    ...sample,
  });
  for (const content of [copied, linked]) {
    expect(cache.present(content)).toEqual([{ offset: 0, length: 50_000 }]);
    expect(await cache.read(content, 0, 50_000)).toEqual(sample.bytes);
  }
  expect((await machine.root.stat("overlay-2")).nlink).toBe(2);
  await machine.journal.stat("overlay-1");
  await expect(cache.adopt("/journal/none", { version: VERSION, sizeBytes: 50_000, ...sample })).rejects.toMatchObject({
    kind: "NotFound",
  });
  await expect(cache.adopt("/elsewhere/x", { version: VERSION, sizeBytes: 50_000, ...sample })).rejects.toThrow(
    TypeError,
  );
  expect(cache.find(VERSION)?.id).toBe(copied.id);
  expect((await machine.files()).length).toBe(2);
});

test("whoever makes a version's content may use it, whenever a file is taken in for that version", async () => {
  const sample = await machine.sample(2, 50_000);
  await machine.writeFile(machine.root, "overlay", sample.bytes);
  for (let seq = 1; seq <= 60; seq++) {
    const version = { ...VERSION, seq };
    const adopting = cache.adopt("/cache/overlay", { version, sizeBytes: 50_000, ...sample });
    for (let turn = 0; turn < seq; turn++) await Promise.resolve();
    const hold = await cache.create(version, 50_000);
    const { content } = hold;
    expect(cache.byId(content.id)?.sizeBytes).toBe(50_000);
    const adopted = await adopting;
    expect(cache.find(version)?.id).toBe(adopted.id);
    hold[Symbol.dispose]();
    expect(cache.byId(content.id)?.id).toBe(content.id === adopted.id ? content.id : undefined);
  }
});

/** Held by nobody else. */
const ALONE = { holds: 0, release: () => true };

/** The edit's bytes, in a file beside the cache. */
async function editWith(
  content: CachedContent,
  { sample, seq, keptBytes, at }: { sample: Sample; seq: number; keptBytes: number; at: readonly ByteRange[] },
  users = ALONE,
): Promise<CachedContent> {
  await machine.writeFile(machine.journal, "edit", sample.bytes);
  const file = await machine.journal.open("edit", "read");
  const pieces = at.map(({ offset, length }) => ({ file, from: offset, offset, length }));
  const { recipe, oid } = sample;
  const next = { version: { ...VERSION, seq }, sizeBytes: sample.bytes.length, recipe, oid };
  try {
    return await cache.edit(content, users, next, { keptBytes, pieces });
  } finally {
    await file.close();
  }
}

test("[F55] an edited content has a new id, the new version, and the chunks of both ends", async () => {
  const sample = await machine.sample(3, 200_000);
  const content = await fill(sample);
  const edited = sample.bytes.slice(0, 190_000);
  edited.set(new Uint8Array(500), 100_000);
  const next = await machine.sampleOf(edited);
  const how = { sample: next, seq: 9, keptBytes: 190_000, at: [{ offset: 100_000, length: 500 }] };
  const hold = cache.hold(content);
  await expect(editWith(content, how)).rejects.toMatchObject({ kind: "Busy" });
  await expect(editWith(content, how, { holds: 1, release: () => false })).rejects.toMatchObject({ kind: "Busy" });
  expect(cache.find(VERSION)?.id).toBe(content.id);
  const release = (): boolean => {
    hold[Symbol.dispose]();
    return true;
  };
  const changed = await editWith(content, how, { holds: 1, release });
  expect(cache.find(VERSION)).toBeUndefined();
  expect(cache.byId(content.id)).toBeUndefined();
  expect(changed.id).not.toBe(content.id);
  expect(cache.find({ ...VERSION, seq: 9 })).toBe(changed);
  expect(await cache.read(changed, 0, 190_000)).toEqual(next.bytes);
  const found = cache.findChunks(next.recipe.digests);
  for (const chunk of found) expect(chunk?.content.id).toBe(changed.id);
  const old = cache.findChunks(sample.recipe.digests).filter((chunk) => chunk === undefined);
  expect(old.length).toBeGreaterThan(0);
  expect(old.length).toBeLessThan(10);
  expect(cache.usedBytes()).toBe(190_000);
});

test("an edited content lacks what the old one lacked, has zeros where it grew, and what is in doubt stays so", async () => {
  const sample = await machine.sample(3, 100_000);
  const content = await made(VERSION, 100_000);
  await cache.write(content, 0, sample.bytes.subarray(0, 40_000));
  cache.setRecipe(content, sample.recipe, sample.oid);
  cache.markUnverified(content);
  const edited = new Uint8Array(120_000);
  edited.set(sample.bytes.subarray(0, 80_000));
  edited.set(new Uint8Array(1000).fill(7), 10_000);
  edited.set(new Uint8Array(1000).fill(8), 70_000);
  edited.set(new Uint8Array(1000).fill(9), 100_000);
  const at = [10_000, 70_000, 100_000].map((offset) => ({ offset, length: 1000 }));
  const next = await machine.sampleOf(edited);
  const changed = await editWith(content, { sample: next, seq: 9, keptBytes: 80_000, at });
  expect(cache.present(changed)).toEqual([
    { offset: 10_000, length: 1000 },
    { offset: 70_000, length: 1000 },
    { offset: 80_000, length: 40_000 },
  ]);
  expect(cache.absent(changed, { offset: 0, length: 120_000 })).toEqual([
    { offset: 40_000, length: 30_000 },
    { offset: 71_000, length: 9_000 },
  ]);
  expect(await cache.read(changed, 0, 30_000)).toEqual(edited.subarray(0, 30_000));
  expect(await cache.read(changed, 80_000, 40_000)).toEqual(edited.subarray(80_000));
});

test("[F51] an edit leaves alone an adopted file that still has its other name", async () => {
  const sample = await machine.sample(9, 10_000);
  await machine.writeFile(machine.root, "overlay", sample.bytes);
  const content = await cache.adopt("/cache/overlay", { version: VERSION, sizeBytes: 10_000, ...sample });
  const next = await machine.sample(10, 10_000);
  const changed = await editWith(content, {
    sample: next,
    seq: 9,
    keptBytes: 10_000,
    at: [{ offset: 0, length: 10_000 }],
  });
  expect(await cache.read(changed, 0, 10_000)).toEqual(next.bytes);
  const file = await machine.root.open("overlay", "read");
  expect(await file.read(0, 10_000)).toEqual(sample.bytes);
  await file.close();
});

test("what a full disk has no room for is absent from an edited content", async () => {
  const sample = await machine.sample(3, 100_000);
  const content = await fill(sample);
  const next = await machine.sampleOf(Buffer.concat([sample.bytes, Buffer.alloc(50_000, 1)]));
  machine.disk.fault = (operation) => (operation === "copyFrom" ? "NoSpace" : undefined);
  const at = [{ offset: 100_000, length: 50_000 }];
  const changed = await editWith(content, { sample: next, seq: 9, keptBytes: 100_000, at });
  machine.disk.fault = undefined;
  expect(cache.absent(changed, { offset: 0, length: 150_000 })).toEqual(at);
  expect(await cache.read(changed, 0, 100_000)).toEqual(sample.bytes);
});

test("[F54] chunks are found only where their bytes are present", async () => {
  const sample = await machine.sample(4, 100_000);
  const content = await made(VERSION, 100_000);
  cache.setRecipe(content, sample.recipe, sample.oid);
  await cache.write(content, 0, sample.bytes.subarray(0, 50_000));
  const found = cache.findChunks(sample.recipe.digests);
  let offset = 0;
  for (const [index, length] of sample.recipe.lengths.entries()) {
    const expected = offset + length <= 50_000 ? { content: cache.byId(content.id), index, offset, length } : undefined;
    expect(found[index]).toEqual(expected);
    offset += length;
  }
  expect(cache.findChunks(new Uint8Array(64))).toEqual([undefined, undefined]);
  await cache.evict(0);
  expect(cache.findChunks(digestAt(sample.recipe, 0))).toEqual([undefined]);
});

test("[F54] a long recipe is indexed in slices, also over a restart", async () => {
  const count = 20_000;
  const random = await machine.sample(5, count * 32);
  const recipe = { lengths: new Uint32Array(count).fill(1), digests: random.bytes };
  const content = await made(VERSION, count);
  await cache.write(content, 0, new Uint8Array(count));
  cache.setRecipe(content, recipe, random.oid);
  const last = digestAt(recipe, count - 1);
  expect(cache.findChunks(last)).toEqual([undefined]);
  await cache.close();
  cache = await machine.open();
  expect(cache.findChunks(last)).toEqual([undefined]);
  await machine.clock.advance(100);
  expect(cache.findChunks(last)[0]).toMatchObject({ index: count - 1, offset: count - 1, length: 1 });
});

test("a file of a hundred thousand equal chunks is indexed in no time", async () => {
  const count = 100_000;
  const content = await made(VERSION, count);
  cache.setRecipe(
    content,
    { lengths: new Uint32Array(count).fill(1), digests: new Uint8Array(count * 32) },
    new Uint8Array(32),
  );
  await cache.write(content, 0, new Uint8Array(10));
  expect(cache.findChunks(new Uint8Array(32))[0]).toMatchObject({ index: 0 });
});

test("the least recently used contents are evicted first, held ones never", async () => {
  const contents: CachedContent[] = [];
  for (let seq = 1; seq <= 4; seq++) {
    const content = await made({ ...VERSION, seq }, 100);
    await cache.write(content, 0, new Uint8Array(100));
    contents.push(content);
  }
  const notified: number[] = [];
  cache.onEvicting((id) => notified.push(id) > 0);
  cache.find({ ...VERSION, seq: 1 });
  const hold = cache.hold(contents[1] as CachedContent);
  await cache.evict(200);
  expect(notified).toEqual([contents[2]?.id, contents[3]?.id]);
  expect(cache.usedBytes()).toBe(200);
  await cache.evict(0);
  expect(notified.length).toBe(3);
  expect((await machine.files()).length).toBe(1);
  hold[Symbol.dispose]();
  await cache.evict(0);
  expect(await machine.files()).toEqual([]);
  expect(cache.usedBytes()).toBe(0);
});

test("a content that is still read from stays, until it is let go", async () => {
  const content = await made(VERSION, 10);
  await cache.write(content, 0, new Uint8Array(10));
  let isRead = true;
  using holds = new DisposableStack();
  cache.onEvicting((id) => {
    if (isRead) holds.use(cache.hold(cache.byId(id) as CachedContent));
    return !isRead;
  });
  const other = await made(VERSION, 11);
  expect(cache.find(VERSION)?.id).toBe(other.id);
  expect(cache.present(content)).toEqual([{ offset: 0, length: 10 }]);
  isRead = false;
  holds.dispose();
  expect(cache.byId(content.id)).toBeUndefined();
});

test("many held contents leave room for one more", async () => {
  const many = 600;
  using holds = new DisposableStack();
  for (let seq = 1; seq <= many; seq++) holds.use(cache.hold(await made({ ...VERSION, seq }, 10)));
  const one = await made({ node: 7, seq: 8 }, 10);
  await cache.write(one, 0, new Uint8Array(10));
  const hold = cache.hold(one);
  holds.dispose();
  hold[Symbol.dispose]();
  expect(cache.present(one)).toEqual([{ offset: 0, length: 10 }]);
});

test("in a new epoch contents are found by OID only, and those without one are gone", async () => {
  const sample = await machine.sample(6, 20_000);
  const named = await fill(sample);
  await made({ ...VERSION, seq: 2 }, 10);
  cache.forgetVersions();
  expect(cache.find(VERSION)).toBeUndefined();
  const other = { node: 5, seq: 6 };
  const found = cache.find(other, sample.oid);
  expect(found).toMatchObject({ id: named.id, version: other });
  expect(cache.find(other)?.id).toBe(named.id);
  expect(cache.find({ node: 7, seq: 8 }, sample.oid)).toBeUndefined();
  await cache.close();
  cache = await machine.open();
  expect((await machine.files()).length).toBe(1);
});

test("an empty content is a content", async () => {
  const content = cache.setRecipe(await made(VERSION, 0), EMPTY_RECIPE, new Uint8Array(32));
  expect(cache.missing(content, { offset: 0, length: 0 })).toEqual([]);
  expect(await cache.read(content, 0, 0)).toEqual(new Uint8Array(0));
});

test("no room leaves no content", async () => {
  machine.disk.fault = (operation) => (operation === "truncate" ? "NoSpace" : undefined);
  await expect(made(VERSION, 100)).rejects.toMatchObject({ kind: "NoSpace" });
  machine.disk.fault = undefined;
  expect(cache.find(VERSION)).toBeUndefined();
  expect(await machine.files()).toEqual([]);
});

test("[F50] files that the index does not know, or knows with another length, are removed at opening; others are left alone", async () => {
  const keep = await made(VERSION, 100);
  const cut = await made({ ...VERSION, seq: 1 }, 100);
  const lost = await made({ ...VERSION, seq: 2 }, 100);
  await cache.close();
  await machine.writeFile(machine.root, "mine.txt", new Uint8Array(1));
  await machine.writeFile(machine.root, "contents/01/999", new Uint8Array(1));
  await machine.writeFile(machine.root, `contents/01/${cut.id}`, new Uint8Array(100));
  await machine.writeFile(machine.root, "contents/01/x", new Uint8Array(1));
  await machine.root.makeSymlink("contents/01/4", "/etc/passwd");
  await machine.root.removeFile(`contents/03/${lost.id}`);
  const file = await machine.root.open(`contents/02/${cut.id}`, "write");
  await file.truncate(99);
  await file.close();
  cache = await machine.open();
  expect(await machine.files()).toEqual([String(keep.id)]);
  expect(cache.versionsOf(VERSION.node).map(({ id }) => id)).toEqual([keep.id]);
  await machine.root.stat("mine.txt");
});

test("after close operations are interrupted; close waits for those under way", async () => {
  const content = await made(VERSION, 100);
  const writing = cache.write(content, 0, new Uint8Array(100));
  const next = await machine.sample(3, 1000);
  const other = await made({ ...VERSION, seq: 1 }, 1000);
  await machine.writeFile(machine.journal, "edit", next.bytes);
  const pieces = [{ file: await machine.journal.open("edit", "read"), from: 0, offset: 0, length: 1000 }];
  const { recipe, oid } = next;
  const version = { ...VERSION, seq: 2 };
  const editing = cache.edit(other, ALONE, { version, sizeBytes: 1000, recipe, oid }, { keptBytes: 1000, pieces });
  const closing = cache.close();
  await writing;
  const interrupted = { kind: "Interrupted" };
  expect(() => cache.find(VERSION)).toThrow(expect.objectContaining(interrupted));
  await expect(cache.read(content, 0, 1)).rejects.toMatchObject(interrupted);
  await closing;
  const edited = await editing;
  await cache.close();
  cache = await machine.open();
  expect((await cache.read(cache.find(VERSION) as CachedContent, 0, 100)).length).toBe(100);
  expect(await cache.read(cache.find({ ...VERSION, seq: 2 }) as CachedContent, 0, 1000)).toEqual(next.bytes);
  expect(await machine.files()).toEqual([String(content.id), String(edited.id)]);
});

test("[F47] the sample of format 1 is read", async () => {
  await cache.close();
  copyFileSync(join(import.meta.dirname, "samples/format-1/cache.sqlite"), machine.indexPath);
  const sample = await machine.sample(1, 60_000);
  for (const [id, sizeBytes] of [
    [1, 60_000],
    [2, 2 ** 45],
  ] as const) {
    await machine.root.makeFolder(`contents/0${id}`);
    await machine.writeFile(machine.root, `contents/0${id}/${id}`, id === 1 ? sample.bytes : new Uint8Array(0));
    const file = await machine.root.open(`contents/0${id}/${id}`, "write");
    await file.truncate(sizeBytes);
    await file.close();
  }
  cache = await machine.open();
  const found = cache.find(VERSION) as CachedContent;
  expect(found).toMatchObject({ id: 1, sizeBytes: 60_000, recipe: sample.recipe, oid: sample.oid });
  expect(cache.absent(found, { offset: 0, length: 60_000 })).toEqual([{ offset: 0, length: 5000 }]);
  expect(cache.findChunks(sample.recipe.digests).at(-1)).toMatchObject({ index: sample.recipe.lengths.length - 1 });
  expect(cache.find({ node: 3, seq: 4 })).toMatchObject({ id: 2, sizeBytes: 2 ** 45, recipe: undefined });
});

test("[F47] a damaged index means an empty cache", async () => {
  await made(VERSION, 100);
  await cache.close();
  writeFileSync(machine.indexPath, "this is no database".repeat(1000));
  cache = await machine.open();
  expect(cache.find(VERSION)).toBeUndefined();
  expect(await machine.files()).toEqual([]);
});

/** Other bytes at a place of a content's file, as a disk that rots or a power cut leaves them. */
async function spoil(content: CachedContent, offset: number, count: number): Promise<void> {
  const file = await machine.root.open(content.path.slice("/cache/".length), "write");
  const bytes = await file.read(offset, count);
  await file.write(
    offset,
    bytes.map((byte) => byte ^ 0x10),
  );
  await file.close();
}

for (const end of ["a close", "a kill", "a power cut"] as const) {
  test(`[F53] after ${end} a content counts as empty until what is read of it has been digested; what is wrong is dropped and told`, async () => {
    const sample = await machine.sample(8, 100_000);
    const content = cache.setRecipe(await made(VERSION, 100_000), sample.recipe, sample.oid);
    await cache.write(content, 0, sample.bytes);
    await machine.clock.advance(2000);
    await spoil(content, 60_000, 1);
    const wasted = cache;
    if (end === "a close") await cache.close();
    if (end === "a power cut") machine.boot++;
    cache = await machine.open();
    const notified: [number, number][] = [];
    cache.onDamaged(({ seq }, bytes) => notified.push([seq, bytes]));
    const found = cache.find(VERSION) as CachedContent;
    expect(cache.present(found)).toEqual([]);
    expect(cache.absent(found, { offset: 0, length: 100_000 })).toEqual([]);
    expect(cache.usedBytes()).toBe(100_000);
    // Only what is asked for is looked at.
    await cache.verify(found, { offset: 1000, length: 1000 });
    expect(cache.missing(found, { offset: 1000, length: 1000 })).toEqual([]);
    expect(cache.missing(found, { offset: 99_000, length: 1000 })).not.toEqual([]);
    expect(notified).toEqual([]);
    await expect(cache.read(found, 59_990, 20)).rejects.toMatchObject({ kind: "Gone" });
    const [wrong, ...others] = cache.absent(found, { offset: 0, length: 100_000 });
    expect(others).toEqual([]);
    expect(wrong?.offset).toBeLessThanOrEqual(60_000);
    expect(notified).toEqual([[VERSION.seq, wrong?.length]]);
    expect(cache.usedBytes()).toBe(100_000 - (wrong?.length ?? 0));
    await cache.verify(found);
    expect(cache.missing(found, { offset: 0, length: 100_000 })).toEqual([wrong]);
    if (end !== "a close") await wasted.close();
  });
}

test("[F53] what is doubted counts as missing until it has been digested again, unless it is in use", async () => {
  const sample = await machine.sample(8, 100_000);
  const content = await fill(sample);
  const whole = { offset: 0, length: 100_000 };
  const hold = cache.hold(content);
  cache.markUnverified(content);
  expect(cache.present(content)).toEqual([whole]);
  hold[Symbol.dispose]();
  await spoil(content, 60_000, 1);
  cache.markUnverified(content);
  expect(cache.present(content)).toEqual([]);
  expect(cache.absent(content, whole)).toEqual([]);
  const notified: number[] = [];
  cache.onDamaged((_version, bytes) => notified.push(bytes));
  await cache.verify(content);
  const [wrong, ...others] = cache.missing(content, whole);
  expect(others).toEqual([]);
  expect(wrong?.offset).toBeLessThanOrEqual(60_000);
  expect(notified).toEqual([wrong?.length]);
});

test("[F53] what was written without a recipe is proved run by run, also when the recipe has come", async () => {
  const sample = await machine.sample(8, 50_000);
  for (const seq of [1, 2]) {
    const content = await made({ ...VERSION, seq }, 50_000);
    for (const offset of [10_000, 20_000]) {
      await cache.write(content, offset, sample.bytes.subarray(offset, offset + 10_000));
    }
    if (seq === 2) cache.setRecipe(content, sample.recipe, sample.oid);
    await spoil(content, 25_000, 1);
  }
  await cache.close();
  cache = await machine.open();
  for (const seq of [1, 2]) {
    const found = cache.find({ ...VERSION, seq }) as CachedContent;
    expect(await cache.read(found, 10_000, 10_000)).toEqual(sample.bytes.subarray(10_000, 20_000));
    await expect(cache.read(found, 20_000, 1)).rejects.toMatchObject({ kind: "Gone" });
    await cache.verify(found);
    // Whatever chunk lies wholly in the second run, before or behind the wrong byte, is right too.
    const wrong = cache.missing(found, { offset: 20_000, length: 10_000 });
    expect(wrong.length).toBe(1);
    expect(wrong[0]?.offset).toBeLessThanOrEqual(25_000);
    if (seq === 1) expect(wrong).toEqual([{ offset: 20_000, length: 10_000 }]);
  }
});

test("[F53] what is adopted in doubt is proved when it is read", async () => {
  const sample = await machine.sample(2, 50_000);
  const bytes = Uint8Array.from(sample.bytes);
  bytes[40_000] = (bytes[40_000] ?? 0) ^ 1;
  await machine.writeFile(machine.journal, "composed-1", bytes);
  const unverified = [{ offset: 20_000, length: 30_000 }];
  const content = await cache.adopt(
    "/journal/composed-1",
    { version: VERSION, sizeBytes: 50_000, ...sample },
    unverified,
  );
  expect(cache.present(content)).toEqual([{ offset: 0, length: 20_000 }]);
  expect(cache.usedBytes()).toBe(50_000);
  await expect(cache.read(content, 40_000, 1)).rejects.toMatchObject({ kind: "Gone" });
  expect(await cache.read(content, 0, 20_000)).toEqual(sample.bytes.subarray(0, 20_000));
});

/**
 * A content of which the second chunk's bytes are here, as a range or as what the server described; without its recipe.
 */
async function inPart(
  sample: Sample,
  written: "range" | "chunks",
  { spoils, seq }: { spoils: boolean; seq: number },
): Promise<CachedContent> {
  const content = await made({ ...VERSION, seq }, sample.bytes.length);
  const [start = 0, end = 0] = chunkOffsets(sample.recipe).subarray(1);
  const bytes = sample.bytes.slice(start, end);
  if (spoils) bytes[5] = (bytes[5] ?? 0) ^ 1;
  if (written === "chunks") await cache.write(content, start, bytes, sliceRecipe(sample.recipe, 1, 2));
  else {
    await cache.write(content, start, bytes.subarray(0, 100), "range");
    await cache.write(content, start + 100, bytes.subarray(100), "range");
  }
  return content;
}

test("[F140] what came in part is proved by what the server described, and by the recipe once that has come", async () => {
  const sample = await machine.sample(8, 50_000);
  const [start = 0, end = 0] = chunkOffsets(sample.recipe).subarray(1);
  const second = { offset: start, length: end - start };
  await inPart(sample, "chunks", { spoils: false, seq: 1 });
  await cache.close();
  cache = await machine.open();
  const found = cache.find({ ...VERSION, seq: 1 }) as CachedContent;
  expect(cache.present(found)).toEqual([]);
  await cache.verify(found);
  expect(cache.present(found)).toEqual([second]);
  // The file's own word is not enough any more.
  cache.setRecipe(found, sample.recipe, sample.oid);
  expect(cache.missing(found, second)).toEqual([second]);
  expect(cache.absent(found, second)).toEqual([]);
  await cache.verify(found);
  expect(cache.present(found)).toEqual([second]);
  // A disk that rots meanwhile is found out without a recipe, too.
  const other = await machine.sample(9, 50_000);
  const rotten = await inPart(other, "chunks", { spoils: false, seq: 2 });
  const [from = 0] = chunkOffsets(other.recipe).subarray(1);
  await spoil(rotten, from + 10, 1);
  cache.markUnverified(rotten);
  await cache.verify(rotten);
  expect(cache.present(rotten)).toEqual([]);
});

test.each([false, true])(
  "[F141] ranges are compared with the recipe when they have made up a chunk; is one wrong: %s",
  async (isWrong) => {
    const sample = await machine.sample(8, 50_000);
    const [start = 0, end = 0] = chunkOffsets(sample.recipe).subarray(1);
    const second = { offset: start, length: end - start };
    const notified: number[] = [];
    cache.onDamaged((_version, bytes) => notified.push(bytes));
    // All of it before the recipe, and the end of it after.
    for (const endsAfter of [false, true]) {
      const content = await inPart(sample, "range", { spoils: isWrong, seq: endsAfter ? 2 : 1 });
      expect(cache.present(content)).toEqual([second]);
      const rest = sample.bytes.subarray(start + 100, end);
      cache.setRecipe(content, sample.recipe, sample.oid);
      if (endsAfter) await cache.write(content, start + 100, rest, "range");
      await cache.verify(content);
      expect(cache.present(content)).toEqual(isWrong ? [] : [second]);
    }
    expect(notified).toHaveLength(isWrong ? 2 : 0);
  },
);
