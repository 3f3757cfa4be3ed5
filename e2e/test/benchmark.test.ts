import { expect, test } from "@jest/globals";
import { type Row, formatTable, measurePairs, median } from "../bench/benchmark.ts";

test("the median is the middle, or between the two in the middle", () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 2, 3])).toBe(2.5);
  expect(() => median([])).toThrow("median of nothing");
});

test("pairs are measured round by round, the order within a pair alternating", async () => {
  const order: string[] = [];
  const pair = (what: string, value: number) => ({
    what,
    unit: "MB/s",
    reference: "disk",
    measure: async () => (order.push(what), value),
    measureReference: async () => (order.push(`${what} reference`), 10),
  });
  const rows = await measurePairs([pair("a", 5), pair("b", 20)], { rounds: 2, say: () => {} });
  expect(order).toEqual(["a", "a reference", "b", "b reference", "a reference", "a", "b reference", "b"]);
  expect(rows).toEqual([
    { what: "a", value: 5, unit: "MB/s", reference: "disk", referenceValue: 10, ratio: 0.5 },
    { what: "b", value: 20, unit: "MB/s", reference: "disk", referenceValue: 10, ratio: 2 },
  ]);
});

test("the table aligns and shows three digits", () => {
  const row: Row = {
    what: "write",
    value: 1234567,
    unit: "B/s",
    reference: "disk",
    referenceValue: 12.345,
    ratio: 0.98765,
  };
  expect(formatTable("local", [row])).toBe(
    [
      "local      value  unit  reference  value  ratio",
      "-----  ---------  ----  ---------  -----  -----",
      "write  1,234,567  B/s   disk        12.3  0.988",
    ].join("\n"),
  );
});
