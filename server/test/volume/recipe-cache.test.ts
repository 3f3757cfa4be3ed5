import { expect, test } from "@jest/globals";
import type { Recipe, VersionId } from "@runnel/shared";
import { RecipeCache } from "../../src/volume/recipe-cache.ts";

const CHUNKS = 10;
const RECIPE_BYTES = CHUNKS * 36;

/** A store of recipes that counts what it is asked; node 9 has none. */
function counting() {
  const asked: number[] = [];
  const recipe = async ({ node }: VersionId): Promise<Recipe | undefined> => {
    asked.push(node);
    return node === 9
      ? undefined
      : { lengths: new Uint32Array(CHUNKS).fill(node), digests: new Uint8Array(CHUNKS * 32) };
  };
  return { asked, meta: { recipe } };
}

const version = (node: number): VersionId => ({ node, seq: 1 });

test("a recipe is read once, also for those who ask at the same time", async () => {
  const { asked, meta } = counting();
  const cache = new RecipeCache(meta);
  const [one, other] = await Promise.all([cache.get(version(1)), cache.get(version(1))]);
  expect(one).toBe(other);
  expect(await cache.get(version(1))).toBe(one);
  expect(asked).toEqual([1]);
});

test("a version without a recipe is asked for again: it may get one", async () => {
  const { asked, meta } = counting();
  const cache = new RecipeCache(meta);
  expect(await cache.get(version(9))).toBeUndefined();
  expect(await cache.get(version(9))).toBeUndefined();
  expect(asked).toEqual([9, 9]);
});

test("the least recently used go when the bound is reached", async () => {
  const { asked, meta } = counting();
  const cache = new RecipeCache(meta, 2 * RECIPE_BYTES);
  for (const node of [1, 2, 1, 3, 1]) expect((await cache.get(version(node)))?.lengths[0]).toBe(node);
  expect(asked).toEqual([1, 2, 3]);
  expect([1, 2, 3].map((node) => cache.has(version(node)))).toEqual([true, false, true]);
});

test("what is above the bound is not kept, and shared by those who hold it at once", async () => {
  const { asked, meta } = counting();
  const cache = new RecipeCache(meta, RECIPE_BYTES - 1);
  const held = await cache.get(version(1));
  expect(cache.has(version(1))).toBe(false);
  expect(await cache.get(version(1))).toBe(held);
  expect(asked).toEqual([1]);
});
