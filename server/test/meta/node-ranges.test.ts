// [W12] Owners of node ids.
import { expect, test } from "@jest/globals";
import { MemoryTables } from "../../src/meta/memory/tables.ts";
import { giveNodes } from "../../src/meta/node-ranges.ts";

test("[W12] of a device the largest 1000 ranges are remembered, of others theirs", () => {
  const tables = new MemoryTables();
  const owner = (device: string) => ({ device, instance: device.repeat(32) });
  giveNodes(tables, { first: 2, count: 1_000_000, owner: owner("a") });
  giveNodes(tables, { first: 2_000_000, count: 3, owner: owner("b") });
  const firsts = Array.from({ length: 1200 }, (_, index) => 3_000_000 + 10 * index);
  for (const first of firsts) giveNodes(tables, { first, count: 4, owner: owner("a") });
  expect(tables.countRanges("a")).toBe(1000);
  expect(tables.countRanges("b")).toBe(1);
  expect(tables.rangeWith(1_000_001)?.owner).toEqual(owner("a"));
  expect(tables.rangeWith(2_000_002)?.owner).toEqual(owner("b"));
  expect(tables.rangeWith(firsts[0] ?? 0)).toBeUndefined();
  expect(tables.rangeWith((firsts.at(-1) ?? 0) + 3)?.owner).toEqual(owner("a"));
});
