// Scripts by chance on lines by chance, cut by chance, several times in a step, servers that start again among it: what
// is executed is the script, once.
import { expect, test } from "@jest/globals";
import { SeededRandom } from "@runnel/shared";
import { cutRun, modelOf, noiseOf, randomSteps, describeTree } from "../src/simulation/index.ts";
import type { CutSettings } from "../src/simulation/index.ts";

const SEEDS = 150;
const STEPS = 20;
const CUTS_MAX = 3;
const FRAMES = 70;
const DEADLINE_MS = 120_000;

function settingsOf(seed: number): CutSettings {
  const random = new SeededRandom(seed);
  const files = { given: noiseOf(seed, 1 + random.below(150_000)) };
  const line = {
    delayMs: 1 + random.below(80),
    jitterMs: random.below(30),
    bytesPerSecond: [50_000, 300_000, 2_000_000, Infinity][random.below(4)] ?? Infinity,
  };
  const cuts = Array.from({ length: STEPS }, () =>
    Array.from({ length: random.below(CUTS_MAX + 1) }, () => 1 + random.below(random.coin() ? FRAMES : 8)),
  );
  const steps = randomSteps(seed, STEPS, files);
  return { seed, line, files, steps, cutsAfter: (step) => cuts[step] ?? [], restarts: () => random.coin(0.3) };
}

test.each(Array.from({ length: SEEDS }, (_, index) => index + 1))(
  "[W19] [W24] a script by chance on a line that is cut is executed once, seed %d",
  async (seed) => {
    const settings = settingsOf(seed);
    const whole = await cutRun({ ...settings, cutsAfter: () => [] });
    const expected = describeTree(modelOf(settings.files, settings.steps));
    expect(describeTree(whole.drive)).toEqual(expected);
    const cut = await cutRun(settings);
    expect(describeTree(cut.drive)).toEqual(expected);
    expect(describeTree(cut.served)).toEqual(expected);
    expect(cut.changes).toBe(whole.changes);
  },
  DEADLINE_MS,
);
