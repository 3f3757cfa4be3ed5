// Shows the worth of recorded.test.ts: more of it; and each fault that a rule prevents, put into real agents and
// servers on purpose, is noticed by the same checker, while the same run without it is not.
import { describe, expect, test } from "@jest/globals";
import { LEAST, NEEDS, record, settingsOf, wordsOf, worthOf } from "../src/recorded/index.ts";

const RUNS_MS = 180_000;
const LASTS_MS = 25_000;
const MUTANT_LASTS_MS = 25_000;
const MUTANT_SEEDS = 8;
const TEST_MS = 900_000;

test(
  "three minutes of runs show nothing",
  async () => {
    const untilMs = performance.now() + RUNS_MS;
    for (let seed = Date.now() % 1_000_000_000; performance.now() < untilMs; seed++) {
      const run = await record(settingsOf(seed, LASTS_MS));
      console.info(worthOf(run));
      if (run.violations.length > 0) throw new Error(wordsOf(run));
      expect(run.close).toBeGreaterThanOrEqual(LEAST);
      expect(run.waited).toBeGreaterThanOrEqual(LEAST);
    }
  },
  RUNS_MS + TEST_MS,
);

describe.each([...NEEDS.keys()])("%s", (mutant) => {
  test(
    "is noticed",
    async () => {
      for (let seed = 1; seed <= MUTANT_SEEDS; seed++) {
        const run = await record(settingsOf(seed, MUTANT_LASTS_MS, mutant)).catch((error: Error) => error);
        if (run instanceof Error) {
          // A mutant that lets no client be mounted is noticed, too.
          if (!/in vain for client\d to be mounted/.test(run.message)) throw run;
          console.info(`${mutant}: ${run.message.split("\n", 1)[0]}`);
          return;
        }
        console.info(`${mutant}: ${worthOf(run)}\n${run.violations[0] ?? "not noticed"}`);
        if (run.violations.length > 0) return;
      }
      throw new Error(`It is not noticed in ${MUTANT_SEEDS} runs.`);
    },
    TEST_MS,
  );

  test(
    "is not seen where it is not",
    async () => {
      const run = await record({ ...settingsOf(1, MUTANT_LASTS_MS, mutant), mutant: undefined });
      console.info(worthOf(run));
      if (run.violations.length > 0) throw new Error(wordsOf(run));
    },
    TEST_MS,
  );
});
