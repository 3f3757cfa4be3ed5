import { expect, test } from "@jest/globals";
import type { Stuck } from "../../src/content/content-store.ts";
import { StuckWarning } from "../../src/volume/stuck-warning.ts";

const DENIED: Stuck = { path: "a/b", kind: "Denied", sentence: "EACCES." };

test("is told once when it lasts for a minute, and again when it is something else, or comes back", () => {
  const told: string[] = [];
  const warning = new StuckWarning((message) => void told.push(message));
  warning.look(DENIED, 1_000);
  warning.look({ ...DENIED }, 60_999);
  expect(told).toEqual([]);
  for (const nowMs of [61_000, 90_000]) warning.look({ ...DENIED }, nowMs);
  expect(told.splice(0)).toEqual([
    "Saved changes do not come into the folder at a/b (Denied): EACCES. They are kept, and tried again.",
  ]);
  const full: Stuck = { path: "", kind: "NoSpace", sentence: "It is full." };
  for (const nowMs of [91_000, 151_000]) warning.look(full, nowMs);
  expect(told.splice(0)).toEqual([
    "Saved changes do not come into the folder (NoSpace): It is full. They are kept, and tried again.",
  ]);
  warning.look(undefined, 152_000);
  for (const nowMs of [153_000, 213_000]) warning.look(full, nowMs);
  expect(told).toHaveLength(1);
});
