// The index of a supply: the engines keep one contract.
import { afterEach, describe, expect, test } from "@jest/globals";
import { DIGEST_BYTES, SeededRandom, sliceRecipe } from "@runnel/shared";
import { MemorySupplyIndex, type SupplyIndex } from "@runnel/shared/supply";
import { SqliteSupplyIndex } from "../../src/agent/supply/sqlite-supply-index.ts";
import { executor } from "./supply-rig.ts";

const RECIPE = await executor.chunkBytes(new SeededRandom(1).bytes(100_000));
const FILE = { sizeBytes: 100_000, stamp: "1:2:3" };

describe.each<[string, () => SupplyIndex]>([
  ["SQLite", () => SqliteSupplyIndex.open(":memory:")],
  ["memory", () => new MemorySupplyIndex()],
])("the index of a supply in %s", (_engine, open) => {
  let index: SupplyIndex;
  afterEach(() => index.close());

  /** A file with all chunks. */
  function put(path: string, scan = 1): number {
    const id = index.begin({ path, ...FILE }, scan);
    index.put(id, RECIPE, 0);
    index.isWhole(id);
    return id;
  }

  test("says where a chunk lies, by its digest and length", () => {
    index = open();
    const id = put("a/file");
    const [first = 0, second = 0] = RECIPE.lengths;
    expect(index.places(RECIPE.digests, 1, second)).toEqual([{ file: id, offset: first, length: second }]);
    expect(index.places(RECIPE.digests, 1, second + 1)).toEqual([]);
    expect(index.places(new Uint8Array(DIGEST_BYTES), 0, first)).toEqual([]);
  });

  test("knows a file by its path and its number, and how many are whole", () => {
    index = open();
    const id = put("a/file");
    index.begin({ path: "half", ...FILE }, 1);
    expect(index.fileAt("a/file")).toMatchObject({ id, path: "a/file", isWhole: 1, ...FILE });
    expect(index.file(id)).toMatchObject({ path: "a/file" });
    expect(index.fileAt("half")).toMatchObject({ isWhole: 0 });
    expect([index.fileAt("none"), index.file(99)]).toEqual([undefined, undefined]);
    expect(index.totals).toEqual({ files: 1, bytes: FILE.sizeBytes });
  });

  test("begins a file anew in place of the one that was at its path", () => {
    index = open();
    const former = put("file");
    const next = index.begin({ path: "file", sizeBytes: 7, stamp: "other" }, 2);
    expect(next).not.toBe(former);
    expect(index.file(former)).toBeUndefined();
    expect(index.places(RECIPE.digests, 0, RECIPE.lengths[0] ?? 0)).toEqual([]);
  });

  test("forgets a file with its chunks, and no other one's", () => {
    index = open();
    const [one, two] = [put("one"), put("two")];
    const length = RECIPE.lengths[0] ?? 0;
    expect(index.places(RECIPE.digests, 0, length).map(({ file }) => file)).toEqual([one, two]);
    index.forget(one);
    expect(index.places(RECIPE.digests, 0, length).map(({ file }) => file)).toEqual([two]);
    index.forget(one);
    expect(index.totals.files).toBe(1);
  });

  test("names what a scan has not come to", () => {
    index = open();
    const [one, two] = [put("one", 1), put("two", 1)];
    expect(index.lastScan).toBe(1);
    index.seen(two, 2);
    expect([index.lastScan, index.unseen(2)]).toEqual([2, [one]]);
  });

  test("takes chunks of a file that has an index of its own; of equal ones the first", () => {
    index = open();
    const id = index.begin({ path: "pack", ...FILE }, 1);
    const digest = sliceRecipe(RECIPE, 0, 1).digests;
    index.putPlaces(id, [
      { digest, offset: 500, length: 10 },
      { digest, offset: 900, length: 10 },
    ]);
    expect(index.places(digest, 0, 10)).toEqual([{ file: id, offset: 500, length: 10 }]);
  });
});

test("an index in memory is full at its bound, and has room again when files are forgotten", () => {
  const index = new MemorySupplyIndex(RECIPE.lengths.length);
  const id = index.begin({ path: "file", ...FILE }, 1);
  index.put(id, RECIPE, 0);
  expect(index.isFull).toBe(true);
  index.forget(id);
  expect(index.isFull).toBe(false);
});
