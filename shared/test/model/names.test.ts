import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { checkName, foldKey, nameFault } from "../../src/model/names.ts";

describe("a name", () => {
  test.each([
    ["a", undefined],
    [" ", undefined],
    ["...", undefined],
    [".runnel-store2", undefined],
    [".Runnel-store", undefined],
    ["a\nb", undefined],
    ["a\\b:*?", undefined],
    ["😀".repeat(63), undefined],
    ["é".repeat(127), undefined],
    ["x".repeat(255), undefined],
    ["", "reserved"],
    [".", "reserved"],
    ["..", "reserved"],
    [".runnel-store", "reserved"],
    ["a/b", "characters"],
    ["/", "characters"],
    ["a\0", "characters"],
    ["x".repeat(256), "length"],
    ["é".repeat(128), "length"],
    ["😀".repeat(64), "length"],
    ["caf\uf7e9", undefined],
    ["\uf7c3\uf7a9", "bytes"],
    ["\uf7ef\uf79e\uf780", undefined],
    ["\ud800", "UTF-8"],
    ["a\udc00b", "UTF-8"],
    ["\ude00\ud83d", "UTF-8"],
  ])("%j breaks the rule %s", (name, rule) => {
    expect(nameFault(name)).toBe(rule);
    if (rule === undefined) expect(checkName(name)).toBeUndefined();
    else expect(() => checkName(name)).toThrow(expect.objectContaining({ kind: "BadName", detail: { rule } }));
  });
});

describe("the fold key", () => {
  test.each([
    ["README.txt", "readme.TXT"],
    ["Straße", "STRASSE"],
    ["ẞ", "ß"],
    ["ΟΔΟΣ", "οδος"],
    ["σ", "ς"],
    ["é", "E\u0301"],
    ["Å", "\u212b"],
    ["K", "\u212a"],
    ["ﬁ", "FI"],
    ["Ⓐ", "ⓐ"],
    ["ꭰ", "Ꭰ"],
    ["𐐀", "𐐨"],
  ])("is the same for %s and %s", (a, b) => {
    expect(foldKey(a)).toBe(foldKey(b));
  });

  test.each([
    ["ı", "i"],
    ["İ", "i"],
    ["a", "á"],
    ["ａ", "a"],
    ["a b", "ab"],
  ])("differs for %s and %s", (a, b) => {
    expect(foldKey(a)).not.toBe(foldKey(b));
  });

  test("is its own key, and that of any case or composition", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (name) => {
        const key = foldKey(name);
        expect(foldKey(key)).toBe(key);
        expect(foldKey(name.normalize("NFD"))).toBe(key);
        if (/^[\x20-\x7e]*$/.test(name)) expect(foldKey(name.toUpperCase())).toBe(key);
      }),
    );
  });
});
