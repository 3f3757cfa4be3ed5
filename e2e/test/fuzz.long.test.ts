// Twenty minutes of inputs, guided by what they run; and the process that takes them does not grow.
import { expect, test } from "@jest/globals";
import { runCampaign } from "@runnel/shared/test/fuzz/run-campaign.ts";
import { EVERY_TARGET } from "../src/fuzz/every-target.ts";

const SEED = 20_261_122;
/** Each input of a target takes about as long as the next: this makes twenty minutes of all. */
const TIMES = 7;
const GROWTH_BYTES = 16 * 1024 * 1024;
/** Inputs by which a planted bug is found: by luck 20,000 to 140,000, as the code changes. */
const PLANTED_INPUTS = 400_000;

test("the fuzzer is given ten million inputs", () => {
  expect(EVERY_TARGET.reduce((sum, { inputs }) => sum + TIMES * inputs, 0)).toBeGreaterThanOrEqual(10_000_000);
});

test("the fuzzer finds a bug that is planted in a connection's state machine", async () => {
  const module = new URL("../../shared/test/fuzz/planted.ts", import.meta.url);
  const { finding } = await runCampaign({ module, name: "miscounts credit", inputs: PLANTED_INPUTS, seed: SEED });
  expect(finding).toMatchObject({ what: "thrown", says: expect.stringContaining("RunnelError: planted") });
});

test.each(EVERY_TARGET)(
  `$name: ${TIMES} times $inputs inputs, seed ${SEED}: no crash, no hang, no large allocation, no error but those that are meant, and no growth`,
  async ({ module, name, inputs }) => {
    const report = await runCampaign({ module, name, inputs: TIMES * inputs, seed: SEED });
    console.info(`${name}: grew by ${(report.grewBytes / 2 ** 20).toFixed(1)} MiB, covered ${report.covered}`);
    expect(report.finding).toBeUndefined();
    expect(report.inputs).toBeGreaterThanOrEqual(TIMES * inputs);
    expect(report.covered).toBeGreaterThan(0);
    expect(report.grewBytes).toBeLessThanOrEqual(GROWTH_BYTES);
  },
);
