// The entries that a map of the latest keeps.
import { expect, test } from "@jest/globals";
import { RecentMap } from "../../src/model/recent-map.ts";

test("keeps what was set last, however often before", () => {
  const map = new RecentMap<string, number>(2);
  map.set("a", 1).set("b", 2).set("a", 3).set("c", 4);
  expect([...map]).toEqual([
    ["a", 3],
    ["c", 4],
  ]);
  map.delete("c");
  map.set("d", 5);
  expect([...map.keys()]).toEqual(["a", "d"]);
});
