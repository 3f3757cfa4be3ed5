// Old bytes that are taken for new ones.
import { describe, expect, test } from "@jest/globals";
import { LIMITS } from "../../src/limits.ts";
import type { Recipe } from "../../src/model/recipe.ts";
import { DeltaRegions } from "../../src/protocol/delta-regions.ts";
import * as fc from "fast-check";

const KIB = 1024;

/** A recipe with a chunk for each letter, each letter a content of its own. */
function recipe(letters: string, length = 100 * KIB): Recipe {
  const digests = new Uint8Array(letters.length * 32);
  for (let index = 0; index < letters.length; index++)
    digests.fill(letters.charCodeAt(index), index * 32, index * 32 + 32);
  return { lengths: new Uint32Array(letters.length).fill(length), digests };
}

function region(content: string, base: string, from: number, count: number, length = 100 * KIB): string | undefined {
  const found = new DeltaRegions(recipe(content, length), recipe(base, length)).regionFor(from, count);
  return found && base.slice(found.from, found.from + found.count);
}

describe("the region of a delta", () => {
  test.each([
    ["a chunk that was changed: the old one between its neighbours", "abXde", "abcde", 2, 1, "bcd"],
    ["an insertion: its neighbours", "abXcd", "abcd", 2, 1, "bc"],
    ["something new at the front: the first of the old", "Xabc", "abc", 0, 1, "a"],
    ["something new at the end: the last of the old", "abcX", "abc", 3, 1, "c"],
    ["a whole that has nothing of the old: the whole old", "XYZ", "abc", 0, 3, "abc"],
    ["a part of what is missing: its share", "aUVWXYZb", "acdefghb", 1, 1, "acd"],
    ["neighbours that changed places: what comes after the one before", "dXa", "abcdefg", 1, 1, "def"],
  ])("is for %s", (_what, content, base, from, count, expected) => {
    expect(region(content, base, from, count)).toBe(expected);
  });

  test("is none against an empty base", () => {
    expect(region("a", "", 0, 1)).toBeUndefined();
  });

  test("is never more than a run, and lies in the base", () => {
    const letters = fc.stringMatching(/^[a-h]{1,60}$/);
    fc.assert(
      fc.property(letters, letters, fc.integer({ min: 1, max: LIMITS.runBytes }), (content, base, length) => {
        const regions = new DeltaRegions(recipe(content, length), recipe(base, length));
        for (let from = 0; from < content.length; from++) {
          const found = regions.regionFor(from, 1);
          if (found === undefined) throw new Error("no region");
          expect(found.count).toBeGreaterThan(0);
          expect(found.from + found.count).toBeLessThanOrEqual(base.length);
          expect(found.count * length).toBeLessThanOrEqual(LIMITS.runBytes);
        }
      }),
    );
  });
});
