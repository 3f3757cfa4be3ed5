// Counts by folder: whatever is added in whatever order, the parts add up to the drive's totals.
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { Meter, noCounts, topFolder, type Totals } from "../../src/agent/view/meter.ts";
import { sumOf } from "../../src/agent/view/savings.ts";

const totals = (sent: number): Totals => ({ read: 0, written: 0, sent, received: 0 });

test("what belongs to no folder stays with the drive as a whole", () => {
  let sent = 0;
  const meter = new Meter(() => totals(sent));
  sent = 100;
  meter.add("Photos/2024/a.jpg", { sent: 70, oldVersion: 5 });
  meter.add("notes.txt", { sent: 10 });
  expect(meter.take()).toEqual([
    { folder: "Photos", counts: { ...noCounts(), sent: 70, oldVersion: 5 } },
    { folder: "", counts: { ...noCounts(), sent: 30 } },
  ]);
  expect(meter.take()).toEqual([]);
});

test("the parts add up to what the totals have grown by, and nothing is counted twice", () => {
  const step = fc.oneof(
    fc.record({ path: fc.constantFrom("a/b", "c/d/e", "f", "g/h"), sent: fc.nat(1000), grown: fc.nat(1000) }),
    fc.constant("take" as const),
  );
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      let sent = 0;
      const meter = new Meter(() => totals(sent));
      const taken: number[] = [];
      for (const one of [...steps, "take" as const]) {
        if (one === "take") {
          taken.push(sumOf(meter.take().map(({ counts }) => counts)).sent);
          continue;
        }
        sent += one.grown;
        meter.add(one.path, { sent: one.sent });
      }
      expect(taken.reduce((sum, bytes) => sum + bytes, 0)).toBe(sent);
    }),
  );
});

test("of very many folders the rest counts for the drive", () => {
  let sent = 0;
  const meter = new Meter(() => totals(sent));
  for (let index = 0; index < 100_000; index++) meter.add(`folder ${index}/file`, { sent: 1, otherFile: 2 });
  sent = 100_000;
  const taken = meter.take();
  expect(taken.length).toBeLessThan(300);
  expect(sumOf(taken.map(({ counts }) => counts))).toEqual({ ...noCounts(), sent: 100_000, otherFile: 200_000 });
});

test.each([
  ["a", ""],
  ["", ""],
  ["a/b", "a"],
  ["a/b/c", "a"],
])("the folder at the top of %j is %j", (path, folder) => {
  expect(topFolder(path)).toBe(folder);
});
