import { expect, test } from "@jest/globals";
import { askedOfColleagues, parseMetered, parseUp } from "../../src/cli/colleague-options.ts";

test("a limit for colleagues is a size, or none", () => {
  expect(askedOfColleagues({ colleaguesUp: parseUp("5M") }).colleaguesUpBytes).toBe(5 * 1024 ** 2);
  expect(askedOfColleagues({ colleaguesUp: parseUp("none") }).colleaguesUpBytes).toBeNull();
  expect(askedOfColleagues({}).colleaguesUpBytes).toBeUndefined();
  expect(() => parseUp("all")).toThrow('"all" is not a size.');
});

test("a line is metered, is not, or is as the system says", () => {
  const asked = ["yes", "no", "auto"].map((word) => askedOfColleagues({ metered: parseMetered(word) }).isMetered);
  expect(asked).toEqual([true, false, null]);
  expect(askedOfColleagues({}).isMetered).toBeUndefined();
  expect(() => parseMetered("maybe")).toThrow("Write yes, no or auto.");
});
