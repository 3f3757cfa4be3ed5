// An edit over another: what a reader sees of both is what it sees of the two one after the other.
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import type { Edit } from "../../../src/agent/drive/saving/stack-edit.ts";
import { stackEdit } from "../../../src/agent/drive/saving/stack-edit.ts";

const BASE = "abcdefghijklmnop";

/** `files`: bytes by file, at the offsets they have. */
function shown(base: string, { baseBytes, sizeBytes, layers }: Edit): string {
  const bytes = Array.from({ length: sizeBytes }, (_, at) => (at < baseBytes ? (base[at] ?? ".") : "."));
  for (const { file, extents } of layers)
    for (const { offset, length } of extents)
      for (let at = offset; at < Math.min(offset + length, sizeBytes); at++) bytes[at] = file;
  return bytes.join("");
}

/** Edits of a content of that size by a program: what is cut off is gone also where the file grows again. */
function edits(files: string): fc.Arbitrary<(baseSize: number) => Edit> {
  const layer = (file: string) =>
    fc.array(fc.tuple(fc.nat(20), fc.integer({ min: 1, max: 6 })), { maxLength: 3 }).map((ranges) => ({
      file,
      extents: ranges.map(([offset, length]) => ({ offset, length })).sort((one, other) => one.offset - other.offset),
    }));
  return fc
    .tuple(fc.nat(20), fc.nat(24), fc.tuple(...[...files].map(layer)))
    .map(([cut, sizeBytes, layers]) => (baseSize: number) => {
      const baseBytes = Math.min(cut, baseSize, sizeBytes);
      return { baseBytes, sizeBytes, mtimeNs: 1n, ctimeNs: 1n, layers };
    });
}

test("an edit over an edit is both, and names all files of both", () => {
  fc.assert(
    fc.property(edits("12"), edits("34"), (first, second) => {
      const below = first(BASE.length);
      const above = second(below.sizeBytes);
      const both = stackEdit(below, above);
      expect(shown(BASE, both)).toBe(shown(shown(BASE, below), above));
      expect(both.layers.map(({ file }) => file).join("")).toBe("1234");
    }),
    { numRuns: 500 },
  );
});
