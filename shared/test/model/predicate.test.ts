import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { LIMITS } from "../../src/limits.ts";
import { parsePredicate } from "../../src/model/parse-predicate.ts";
import { type Candidate, type Predicate, checkPredicate, matches } from "../../src/model/predicate.ts";

const FILE: Candidate = {
  name: "Report.txt",
  type: "file",
  sizeBytes: 1500,
  mtimeNs: 1_772_357_400_000_000_001n,
  seq: 70,
};

describe("words", () => {
  test.each<[string, Predicate]>([
    ["", ["and"]],
    ["-name *.txt", ["name", "*.txt"]],
    ["-iname 'a b'", ["iname", "a b"]],
    ['-name "a \\"b\\" \\*"', ["name", 'a "b" \\*']],
    ["-name a\\ b", ["name", "a b"]],
    ["-name ''", ["name", ""]],
    ["-type f", ["type", "f"]],
    ["-size +10k", ["size", "+", 10, "k"]],
    ["-size -3", ["size", "-", 3, "c"]],
    ["-size 1G", ["size", "=", 1, "G"]],
    ["-newer 17", ["newerSeq", 17]],
    ["-newer 2026-03-01", ["newerTime", Date.UTC(2026, 2, 1)]],
    ["-newer 2026-03-01T09:30", ["newerTime", Date.UTC(2026, 2, 1, 9, 30)]],
    ["-newer '2026-03-01 09:30:15.250+02:00'", ["newerTime", Date.UTC(2026, 2, 1, 7, 30, 15, 250)]],
    ["-type f -name a", ["and", ["type", "f"], ["name", "a"]]],
    ["-type f and -name a -a -name b", ["and", ["type", "f"], ["name", "a"], ["name", "b"]]],
    ["-type f or -type d -o -type l", ["or", ["type", "f"], ["type", "d"], ["type", "l"]]],
    ["-name a -name b or -name c", ["or", ["and", ["name", "a"], ["name", "b"]], ["name", "c"]]],
    ["-name a ( -name b or -name c )", ["and", ["name", "a"], ["or", ["name", "b"], ["name", "c"]]]],
    ["not -name a -name b", ["and", ["not", ["name", "a"]], ["name", "b"]]],
    ["! ( -name a or -name b )", ["not", ["or", ["name", "a"], ["name", "b"]]]],
    ["\\! \\( -name a \\) -not -type d", ["and", ["not", ["name", "a"]], ["not", ["type", "d"]]]],
    ["not not -type f", ["not", ["not", ["type", "f"]]]],
    ["-name and", ["name", "and"]],
    ["-name ( -or -name )", ["or", ["name", "("], ["name", ")"]]],
  ])("%j are a predicate", (text, predicate) => {
    expect(parsePredicate(text)).toEqual(predicate);
  });

  test("may come split already, and are then taken as they are", () => {
    expect(parsePredicate(["-name", "a b\\*'"])).toEqual(["name", "a b\\*'"]);
    expect(parsePredicate([])).toEqual(["and"]);
  });

  test.each([
    ["-name", "-name needs a value."],
    ["-type x", '-type is f (files), d (folders) or l (symlinks), not "x".'],
    ["-size big", "-size is a number"],
    ["-size +1b", "-size is a number"],
    ["-newer yesterday", "-newer is a seq or a time"],
    ["-newer 2026-02-30", "-newer is a seq or a time"],
    ["-newer 2026-13-01", "-newer is a seq or a time"],
    ["-newer 2026-03-01T25:00", "-newer is a seq or a time"],
    ["-exec rm", 'find does not know "-exec"'],
    ["-regex .*", 'find does not know "-regex"'],
    ["foo", 'find does not know "foo"'],
    ["( -name a", 'There is a "(" without a ")".'],
    ["-name a )", 'There is a ")" without a "(".'],
    ["( )", 'find does not know ")" here'],
    ["-name a or", "Something is missing at the end."],
    ["or -name a", 'find does not know "or" here'],
    ["not", "Something is missing at the end."],
    ["-name 'a", "A ' is never closed."],
  ])("%j are refused by a sentence", (text, sentence) => {
    expect(() => parsePredicate(text)).toThrow(
      expect.objectContaining({ kind: "Invalid", operation: "find", message: expect.stringContaining(sentence) }),
    );
  });

  test("[limit predicateNodes] [limit predicateBytes] are bounded in number, depth and length", () => {
    const many = Array<string>(LIMITS.predicateNodes).fill("-type f").join(" ");
    expect(() => parsePredicate(many)).toThrow(expect.objectContaining({ kind: "TooLarge" }));
    expect(() => parsePredicate(["-name", "x".repeat(LIMITS.predicateBytes + 1)])).toThrow(
      expect.objectContaining({ kind: "TooLarge" }),
    );
    for (const word of ["(", "not"]) {
      const words = Array<string>(100_000).fill(word);
      expect(() => parsePredicate(words)).toThrow(expect.objectContaining({ kind: "Invalid" }));
    }
  });
});

describe("a predicate", () => {
  test.each([
    ["-name Report.*", true],
    ["-name report.*", false],
    ["-iname REPORT.*", true],
    ["-type f", true],
    ["-type d", false],
    ["-size 1500", true],
    ["-size 1500c", true],
    ["-size 2k", true],
    ["-size +1k", true],
    ["-size +2k", false],
    ["-size -2k", false],
    ["-size -3k", true],
    ["-size -1M", false],
    ["-size 1M", true],
    ["-newer 69", true],
    ["-newer 70", false],
    ["-newer 2026-03-01T09:30Z", true],
    ["-newer 2026-03-01T09:30:00.001Z", false],
    ["not -type d", true],
    ["-type d or -name R*", true],
    ["-type d -name R*", false],
    ["", true],
  ])("%j of a file of 1500 bytes is %s", (text, isMatch) => {
    expect(matches(parsePredicate(text), FILE)).toBe(isMatch);
  });

  test("finds no specials, and an empty file below 1 M only", () => {
    expect(matches(parsePredicate("-type f or -type d or -type l"), { ...FILE, type: "fifo" })).toBe(false);
    expect(matches(parsePredicate("-size -1M"), { ...FILE, sizeBytes: 0 })).toBe(true);
    expect(matches(checkPredicate(["or"]), FILE)).toBe(false);
  });

  test("ignores composition with -iname only", () => {
    const composed = { ...FILE, name: "Cafe\u0301" };
    expect(matches(parsePredicate(["-iname", "CAFÉ"]), composed)).toBe(true);
    expect(matches(parsePredicate(["-name", "Café"]), composed)).toBe(false);
  });

  test("[W2] [W41] has numbers of whichever width CBOR gave them", () => {
    expect(checkPredicate(["newerTime", 1_700_000_000_000n])).toEqual(["newerTime", 1_700_000_000_000]);
    expect(checkPredicate(["not", ["newerSeq", 5n]])).toEqual(["not", ["newerSeq", 5]]);
    expect(checkPredicate(["size", "+", 7n, "k"])).toEqual(["size", "+", 7, "k"]);
    expect(() => checkPredicate(["newerSeq", 2n ** 64n])).toThrow(expect.objectContaining({ kind: "Invalid" }));
  });

  test("survives JSON", () => {
    const predicate = parsePredicate("-name a* ( -size +1M or not -newer 2026-03-01 ) -newer 5");
    expect(checkPredicate(JSON.parse(JSON.stringify(predicate)))).toEqual(predicate);
  });

  test.each<[unknown]>([
    [undefined],
    [null],
    ["-name a"],
    [{ 0: "name", 1: "a", length: 2 }],
    [[]],
    [["name"]],
    [["name", "a", "b"]],
    [["name", 5]],
    [["name", "\ud800"]],
    [["regex", "a"]],
    [["type", "x"]],
    [["type", "toString"]],
    [["size", "+", -1, "k"]],
    [["size", "+", 1.5, "k"]],
    [["size", "+", 1, "constructor"]],
    [["size", ">", 1, "k"]],
    [["newerSeq", "5"]],
    [["newerSeq", 2 ** 53]],
    [["newerTime", Number.NaN]],
    [["newerTime", 1e300]],
    [["not"]],
    [["not", ["type", "f"], ["type", "f"]]],
    [["and", "a"]],
    [["or", ["and", ["nothing"]]]],
  ])("is not %j", (value) => {
    expect(() => checkPredicate(value)).toThrow(expect.objectContaining({ kind: "Invalid" }));
  });

  test("from the wire is bounded in parts and text, however it is nested", () => {
    let deep: unknown = ["type", "f"];
    for (let level = 0; level < 100_000; level++) deep = ["not", deep];
    expect(() => checkPredicate(deep)).toThrow(expect.objectContaining({ kind: "TooLarge" }));
    const wide = ["and", ...Array.from({ length: 100_000 }, () => ["type", "f"])];
    expect(() => checkPredicate(wide)).toThrow(expect.objectContaining({ kind: "TooLarge" }));
    const text = ["and", ["name", "x".repeat(3000)], ["iname", "é".repeat(600)]];
    expect(() => checkPredicate(text)).toThrow(expect.objectContaining({ kind: "TooLarge" }));
  });

  test("is never made of anything else by any value at all", () => {
    fc.assert(
      fc.property(fc.anything({ maxDepth: 4 }), (value) => {
        try {
          matches(checkPredicate(value), FILE);
        } catch (error) {
          expect(["Invalid", "TooLarge"]).toContain((error as { kind?: string }).kind);
        }
      }),
    );
  });
});
