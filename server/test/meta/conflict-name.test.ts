import { describe, expect, test } from "@jest/globals";
import { LIMITS } from "@runnel/shared";
import { conflictName } from "../../src/meta/conflict-name.ts";
import { START_NS } from "./meta-harness.ts";

const MARK = " (conflict 2026-11-21 03.09.02)";

describe("the name of what is kept beside", () => {
  test.each([
    ["report.txt", `report${MARK}.txt`],
    ["archive.tar.gz", `archive.tar${MARK}.gz`],
    ["none", `none${MARK}`],
    [".profile", `.profile${MARK}`],
    ["ends.", `ends${MARK}.`],
    [`a.${"long".repeat(9)}`, `a.${"long".repeat(9)}${MARK}`],
  ])("%s has its mark before the extension", (name, expected) => {
    expect(conflictName(name, START_NS, 1)).toBe(expected);
  });

  test("further ones are counted", () => {
    expect(conflictName("a.b", START_NS, 12)).toBe("a (conflict 2026-11-21 03.09.02 12).b");
  });

  test.each(["x", "ä", "\u{1f600}"])("a long name of %s is cut at a code point and keeps its extension", (letter) => {
    const name = letter.repeat(Math.floor((LIMITS.nameBytes - 4) / Buffer.byteLength(letter))) + ".txt";
    const made = conflictName(name, START_NS, 1);
    expect(made.endsWith(`${letter}${MARK}.txt`)).toBe(true);
    const bytes = Buffer.byteLength(made);
    expect(bytes).toBeLessThanOrEqual(LIMITS.nameBytes);
    expect(bytes).toBeGreaterThan(LIMITS.nameBytes - Buffer.byteLength(letter));
    expect(made.isWellFormed()).toBe(true);
  });
});
