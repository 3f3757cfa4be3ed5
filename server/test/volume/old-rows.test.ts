import { expect, test } from "@jest/globals";
import { SimulatedClock } from "@runnel/shared";
import { OldRows } from "../../src/volume/old-rows.ts";

test("is forgotten page by page, every ten minutes at most; a failure is told, and what follows is tried again", async () => {
  const clock = new SimulatedClock();
  const calls: string[] = [];
  const warnings: string[] = [];
  let pages = 3;
  let isFailing = false;
  const meta = {
    forgetChanges: async (upToSeq: number) => void calls.push(`changes up to ${upToSeq}`),
    forgetOldResults: async () => void calls.push("results"),
    forgetNameless: async (after: number) => {
      if (isFailing) throw new Error("It fails.");
      calls.push(`nodes after ${after}`);
      return --pages > 0 ? after + 10 : undefined;
    },
  };
  const rows = new OldRows({ meta, clock, warn: (message) => void warnings.push(message) });
  rows.forget(1000);
  await clock.advance(0);
  expect(calls.splice(0)).toEqual(["results", "nodes after 0", "nodes after 10", "nodes after 20"]);
  rows.forget(200_123);
  await clock.advance(0);
  expect(calls.splice(0)).toEqual(["changes up to 123"]);
  await clock.advance(600_000);
  isFailing = true;
  rows.forget(1000);
  await clock.advance(0);
  expect(calls.splice(0)).toEqual(["results"]);
  expect(warnings).toHaveLength(1);
  await clock.advance(600_000);
  [pages, isFailing] = [1, false];
  rows.forget(1000);
  await rows.close();
  expect(calls).toEqual(["results"]);
  rows.forget(1000);
  expect(calls).toHaveLength(1);
});
