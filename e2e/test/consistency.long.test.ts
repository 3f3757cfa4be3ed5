// Shows the worth of the simulation of consistency.test.ts: many more seeds, fresh each time; and each fault that a
// rule prevents, put into the product on purpose, is noticed.
import { expect, test } from "@jest/globals";
import { MUTANTS, planOf } from "../src/consistency/index.ts";
import { shrunk, simulated } from "../src/consistency/simulated.ts";

const FRESH_MS = 150_000;
const MUTANT_SEEDS = 300;
const MUTANT_MS = 240_000;
const SHRINK_RUNS = 150;
/** Runs at a time until something was stopped often enough. */
const STOP_SEEDS = 100;
const STOPS_MS = 1_800_000;

test(
  "fresh seeds show nothing",
  async () => {
    const seed = Date.now() % 1_000_000_000;
    const reports = await simulated({ seed, count: Infinity, lastsMs: FRESH_MS });
    const failed = reports.filter(({ violations }) => violations.length > 0);
    console.info(
      `${reports.length} seeds from ${seed}, ${reports.reduce((sum, { checked }) => sum + checked, 0)} reads held to the guarantee`,
    );
    expect(failed.map((each) => `RUNNEL_SEED=${each.seed}: ${each.violations.join("; ")}`)).toEqual([]);
    expect(reports.length).toBeGreaterThan(1);
  },
  FRESH_MS + 180_000,
);

test.each([
  ["kill", 1_000],
  ["powerCut", 1_000],
] as const)(
  "a %s in mode async loses nothing that was acknowledged, %i times in the middle of something",
  async (kind, stops) => {
    const first = Date.now() % 1_000_000_000;
    let inFlight = 0;
    for (let seed = first; inFlight < stops; seed += STOP_SEEDS) {
      const runs = { seed, count: STOP_SEEDS, lastsMs: STOPS_MS, isAsync: true, faults: [kind, "cut"] as const };
      const reports = await simulated(runs);
      const failed = reports.filter(({ violations }) => violations.length > 0);
      expect(failed.map((each) => `${kind} RUNNEL_SEED=${each.seed}: ${each.violations.join("; ")}`)).toEqual([]);
      inFlight += reports.reduce((sum, { stopsInFlight }) => sum + stopsInFlight, 0);
      console.info(`${kind}: ${inFlight} times in the middle of something, in ${seed - first + STOP_SEEDS} seeds`);
    }
  },
  STOPS_MS,
);

test(
  "fresh seeds in mode async show nothing",
  async () => {
    const seed = Date.now() % 1_000_000_000;
    const reports = await simulated({ seed, count: Infinity, lastsMs: FRESH_MS / 2, isAsync: true });
    const failed = reports.filter(({ violations }) => violations.length > 0);
    console.info(`${reports.length} seeds from ${seed} in mode async`);
    expect(failed.map((each) => `RUNNEL_MODE=async ${each.seed}: ${each.violations.join("; ")}`)).toEqual([]);
    expect(reports.length).toBeGreaterThan(1);
  },
  FRESH_MS + 180_000,
);

test(
  "fresh seeds of clients that serve each other's misses, and lie, show nothing",
  async () => {
    const seed = Date.now() % 1_000_000_000;
    const powers = ["colleagues", "slowAgent", "unsent"] as const;
    const reports = await simulated({ seed, count: Infinity, lastsMs: FRESH_MS, powers });
    const failed = reports.filter(({ violations }) => violations.length > 0);
    const bytes = reports.reduce((sum, { fromColleagues }) => sum + fromColleagues, 0);
    console.info(`${reports.length} seeds from ${seed}, ${bytes} bytes of colleagues`);
    expect(failed.map((each) => `RUNNEL_POWERS=${powers} ${each.seed}: ${each.violations.join("; ")}`)).toEqual([]);
    expect(bytes).toBeGreaterThan(0);
    // Whoever lies is named by `runnel status`.
    const named = /at rest: [^]*The colleague "[^"]+" sent what it was not asked for: it is not asked any more\./;
    expect(reports.some(({ problems }) => problems.some((each) => named.test(each)))).toBe(true);
  },
  FRESH_MS + 180_000,
);

test.each(MUTANTS.map(({ name }) => name))(
  "%s is noticed",
  async (mutant) => {
    const reports = await simulated({ seed: 1, count: MUTANT_SEEDS, lastsMs: MUTANT_MS, mutant });
    console.info(`${mutant}: seed ${reports.length}, ${reports.at(-1)?.violations[0] ?? "not noticed"}`);
    expect(reports.at(-1)?.violations).not.toEqual([]);
  },
  MUTANT_MS + 180_000,
);

test("a plan that fails is made smaller", async () => {
  const mutant = "a retry executed twice";
  const reports = await simulated({ seed: 1, count: MUTANT_SEEDS, lastsMs: MUTANT_MS, mutant });
  const seed = reports.at(-1)?.seed ?? 0;
  const [whole, smaller] = [planOf(seed), await shrunk(seed, SHRINK_RUNS, mutant)];
  console.info(
    `${whole.steps.length} steps and ${whole.faults.length} faults become ${smaller.steps.length} and ${smaller.faults.length}`,
  );
  expect(smaller.steps.length).toBeLessThan(whole.steps.length / 2);
}, 900_000);
