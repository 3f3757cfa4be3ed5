import { expect, test } from "@jest/globals";
import { type PathMove, movedBy, movedByAll } from "../../src/commit-log/path-moves.ts";

const move = (from: string, to: string, isExchange = false): PathMove => ({ from, to, isExchange });

test.each([
  ["the name itself", move("a", "b"), "a", "b"],
  ["what is below it", move("a", "b/c"), "a/x/y", "b/c/x/y"],
  ["a name that only begins so", move("a", "b"), "ab", "ab"],
  ["what was at the target", move("a", "b"), "b/x", "b/x"],
  ["what an exchange took away", move("a", "b", true), "b/x", "a/x"],
  ["what an exchange brought", move("a", "b", true), "a/x", "b/x"],
  ["anything, where the name is not known", move("", "b"), "a", "a"],
])("a move of %s", (_what, given, path, expected) => {
  expect(movedBy(given, path)).toBe(expected);
});

test("moves are followed one after another", () => {
  expect(movedByAll([move("a", "b"), move("b/x", "c"), move("b", "a")], "a/x/file")).toBe("c/file");
});
