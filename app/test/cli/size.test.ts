import { expect, test } from "@jest/globals";
import { parseSize } from "../../src/cli/size.ts";

test("sizes are whole numbers with a unit of powers of 1024", () => {
  expect(parseSize("0")).toBe(0);
  expect(parseSize("500")).toBe(500);
  expect(parseSize("64k")).toBe(65_536);
  expect(parseSize("500M")).toBe(524_288_000);
  expect(parseSize("20G")).toBe(21_474_836_480);
});

test.each(["", "G", "-1", "1.5G", "20GB", "1025T", "99999999999999999"])("%s is not a size", (typed) => {
  expect(() => parseSize(typed)).toThrow("Write a number and K, M, G or T");
});
