// A file that was read before the server had cut it into chunks, or that was never read: what is saved of it then is
// sent as a difference all the same.
import { expect, test } from "@jest/globals";
import { cutRun, edit, modelOf, noiseOf, read, rename, save, describeTree, truncate } from "../src/simulation/index.ts";
import type { CutSettings, Step } from "../src/simulation/index.ts";

const MiB = 1024 * 1024;
/** Larger than what the server cuts while it tells of it. */
const bytes = noiseOf(1, 17 * MiB);
const inserted = Buffer.concat([Buffer.from("in front"), bytes]);
/** A chunk at most, for each place that was edited. */
const SENT_BYTES = 64 * 1024;

const settings: Omit<CutSettings, "steps"> = {
  seed: 1,
  line: { delayMs: 10, bytesPerSecond: 100_000_000 },
  files: { early: Buffer.from("first") },
  young: { early: bytes },
  cutsAfter: () => [],
  restarts: () => false,
};

/** The recipe, and what lies around the edits. */
const FETCHED_BYTES = 512 * 1024;

test.each<[string, Step[]]>([
  ["edited in place", [edit("early", 4 * MiB, Buffer.from("x"))]],
  ["edited in places", [0, 5, 9].map((at) => edit("early", at * MiB, Buffer.from("x")))],
  ["cut off", [truncate("early", 9 * MiB + 5)]],
  ["appended to", [edit("early", bytes.length, Buffer.from("more"))]],
  ["written anew with bytes in front", [save("early", inserted)]],
])("never read, and %s, neither it nor all of the new content crosses the line", async (_how, steps) => {
  const outcome = await cutRun({ ...settings, steps });
  expect(outcome.uploadedBytes).toBeLessThan(2 * SENT_BYTES);
  expect(outcome.downloadedBytes).toBeLessThan(FETCHED_BYTES);
  // The drive shows what is put together of what is here and what is fetched when it is read.
  expect(describeTree(outcome.drive)).toEqual(describeTree(modelOf({ early: bytes }, steps)));
  expect(describeTree(outcome.served)).toEqual(describeTree(modelOf({ early: bytes }, steps)));
});

test.each<[string, Step[]]>([
  ["edited in place", [edit("early", 4 * MiB, Buffer.from("x"))]],
  ["written anew with bytes in front", [save("early", inserted)]],
  ["replaced by a new file", [save("new", inserted), rename("new", "early")]],
])("%s, it sends what differs", async (_how, steps) => {
  const all = [read("early", bytes), ...steps];
  const outcome = await cutRun({ ...settings, steps: all });
  // All came as raw ranges, without a recipe.
  expect(outcome.rawBytes).toBe(bytes.length);
  expect(outcome.uploadedBytes).toBeLessThan(2 * SENT_BYTES);
  expect(describeTree(outcome.served)).toEqual(describeTree(modelOf({ early: bytes }, all)));
});
