import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { compileGlob } from "../../src/model/glob.ts";

describe("a glob", () => {
  test.each([
    ["", ["", "!a"]],
    ["a", ["a", "!", "!b", "!aa", "!A"]],
    ["*", ["", "a", ".hidden", "a\nb"]],
    ["*.txt", ["a.txt", ".txt", "!a.txt2", "!atxt"]],
    ["a*b*c", ["abc", "axbxc", "abbcc", "!acb", "!abcd"]],
    ["**a**", ["a", "bab", "!b"]],
    ["?", ["a", "é", "😀", "!", "!ab"]],
    ["a?c", ["abc", "a?c", "!ac"]],
    ["[abc]", ["a", "c", "!d", "!ab"]],
    ["[a-c]x", ["ax", "bx", "!dx", "!-x"]],
    ["[!a-c]", ["d", "-", "!a", "!b", "!"]],
    ["[^a]", ["b", "!a"]],
    ["[]a]", ["]", "a", "!b"]],
    ["[!]]", ["a", "!]"]],
    ["[a-]", ["a", "-", "!b"]],
    ["[-a]", ["a", "-", "!b"]],
    ["[a\\]b]", ["]", "a", "b", "!\\"]],
    ["[\\a-c]", ["b", "!\\"]],
    ["[c-a]", ["!a", "!b", "!c"]],
    ["[a", ["[a", "!a"]],
    ["[", ["["]],
    ["[]", ["[]"]],
    ["[!]", ["[!]"]],
    ["x[a-", ["x[a-"]],
    ["\\*", ["*", "!a", "!\\*"]],
    ["a\\", ["a\\"]],
    ["\\[a]", ["[a]", "!a"]],
    ["[α-ω]", ["λ", "!l"]],
    ["[😀-😎]*", ["😃x", "!🙏"]],
  ])("%j matches as it should", (glob, names) => {
    const matches = compileGlob(glob);
    for (const name of names) {
      const isNegative = name.startsWith("!");
      expect([name, matches(isNegative ? name.slice(1) : name)]).toEqual([name, !isNegative]);
    }
  });

  test("agrees with the regular expression it stands for", () => {
    const unit = fc.constantFrom("a", "b", "*", "?", "[ab]", "[!a]");
    fc.assert(
      fc.property(
        fc.array(unit, { maxLength: 8 }),
        fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 10 }),
        (units, name) => {
          const source = units
            .map((one) => (one === "*" ? ".*" : one === "?" ? "." : one.replace("[!", "[^")))
            .join("");
          expect(compileGlob(units.join(""))(name)).toBe(new RegExp(`^${source}$`, "s").test(name));
        },
      ),
      { numRuns: 2000 },
    );
  });

  test("that a backtracking matcher would never finish is decided in no time", () => {
    const matches = compileGlob(`${"a*".repeat(100)}b`);
    const start = performance.now();
    for (let count = 0; count < 100; count++) expect(matches("a".repeat(255))).toBe(false);
    expect(compileGlob("a*a*a*a*b")("a".repeat(100_000))).toBe(false);
    expect(performance.now() - start).toBeLessThan(2000);
  });
});
