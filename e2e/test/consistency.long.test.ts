// What the simulation of consistency.test.ts is worth: each fault that a rule prevents, put into the product on purpose, is noticed.
import { expect, test } from "@jest/globals";
import { MUTANTS } from "../src/consistency/index.ts";
import { simulated } from "../src/consistency/simulated.ts";

const SEEDS = 100;
const LASTS_MS = 240_000;

test.each(MUTANTS.map(({ name }) => name))(
  "%s is noticed",
  async (mutant) => {
    const reports = await simulated({ seed: 1, count: SEEDS, lastsMs: LASTS_MS, mutant });
    console.info(`${mutant}: seed ${reports.length}, ${reports.at(-1)?.violations[0] ?? "not noticed"}`);
    expect(reports.at(-1)?.violations).not.toEqual([]);
  },
  LASTS_MS + 180_000,
);
