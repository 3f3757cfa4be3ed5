// A program in the served folder writes to a file within milliseconds of a save from a drive: both contents are there
// afterwards, each time.
import { expect, test } from "@jest/globals";
import { runRaces } from "../src/races/run-races.ts";

const RACES_MS = 90_000;
/** Least count among 60, three in four of files that the drive has read before. */
const ACKNOWLEDGED = 37;

test(
  "a save and a write in the folder at once: both contents are there, 60 times",
  async () => {
    const sizesBytes = [64_000, 200_000, 1_000_000, 30_000];
    const report = await runRaces({ trials: 60, parallel: 20, sizesBytes, seed: 1 }, RACES_MS);
    expect(report.faults).toEqual([]);
    expect(report.incomplete).toEqual([]);
    expect(report.ofCached).toBeGreaterThan(ACKNOWLEDGED);
  },
  2 * RACES_MS,
);
