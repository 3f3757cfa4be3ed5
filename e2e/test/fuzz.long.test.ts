// A million inputs and more, guided by what they run.
import { expect, test } from "@jest/globals";
import { runCampaign } from "@runnel/shared/test/fuzz/run-campaign.ts";
import { EVERY_TARGET } from "../src/fuzz/every-target.ts";

const SEED = 20_261_122;

test("the fuzzer is given a million inputs", () => {
  expect(EVERY_TARGET.reduce((sum, { inputs }) => sum + inputs, 0)).toBeGreaterThanOrEqual(1_000_000);
});

test("the fuzzer finds a bug that is planted in a connection's state machine", async () => {
  const module = new URL("../../shared/test/fuzz/planted.ts", import.meta.url);
  const { finding } = await runCampaign({ module, name: "miscounts credit", inputs: 40_000, seed: SEED });
  expect(finding).toMatchObject({ what: "thrown", says: expect.stringContaining("RunnelError: planted") });
});

test.each(EVERY_TARGET)(
  `$name: $inputs inputs, seed ${SEED}: no crash, no hang, no large allocation, no error but those that are meant`,
  async ({ module, name, inputs }) => {
    const report = await runCampaign({ module, name, inputs, seed: SEED });
    expect(report.finding).toBeUndefined();
    expect(report.inputs).toBeGreaterThanOrEqual(inputs);
    expect(report.covered).toBeGreaterThan(0);
  },
);
