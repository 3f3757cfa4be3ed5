// As races.test.ts, thousands of times, and of large files.
import { expect, test } from "@jest/globals";
import { runRaces } from "../src/races/run-races.ts";

const KB = 1000;
const MB = 1000 * KB;
const RACES_MS = 40 * 60_000;

test.each([
  ["9,000 of up to 64 KB", { trials: 1_500, sizesBytes: [64 * KB, 40 * KB, 20 * KB, 9 * KB] }, 6],
  ["950 of 1 to 4 MB", { trials: 95, sizesBytes: [4 * MB, MB, 2 * MB] }, 10],
  ["50 of 100 MB", { trials: 10, sizesBytes: [100 * MB] }, 5],
])(
  "a save and a write in the folder at once: both contents are there, %s",
  async (_name, settings, rounds) => {
    for (let seed = 1; seed <= rounds; seed++) {
      const report = await runRaces({ ...settings, lanes: 10, seed }, RACES_MS);
      expect(report.faults).toEqual([]);
      expect(report.incomplete).toEqual([]);
    }
  },
  RACES_MS,
);
