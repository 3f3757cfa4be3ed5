// Whom changes wait for: as long as they do.
import { expect, test } from "@jest/globals";
import { WaitingChanges } from "../../src/agent/wire/waiting-changes.ts";

test("what has been answered is not kept, however many changes have waited", () => {
  const outstanding = new Set<number>();
  const waiting = new WaitingChanges((n) => outstanding.has(n));
  for (let n = 1; n <= 10_000; n++) {
    outstanding.add(n);
    outstanding.delete(n - 3);
    waiting.note(n, ["ada"], n);
    waiting.note(n, ["ada", "bob"], n + 1);
    expect(waiting.count).toBeLessThanOrEqual(4);
  }
  expect(waiting.list().map(({ operation }) => operation)).toEqual(["change 9998", "change 9999", "change 10000"]);
  expect(waiting.list().at(-1)).toEqual({ operation: "change 10000", for: ["ada", "bob"], untilMs: 10_001 });
});
