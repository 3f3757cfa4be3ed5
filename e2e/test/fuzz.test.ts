// The fuzzer finds bugs that are planted, of each sort, and finds none in a short look at all that takes bytes from
// outside.
import { globSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import type { Finding } from "@runnel/shared/test/fuzz/campaign.ts";
import type { Targets } from "@runnel/shared/test/fuzz/target.ts";
import { runCampaign } from "@runnel/shared/test/fuzz/run-campaign.ts";
import { EVERY_TARGET } from "../src/fuzz/every-target.ts";

const PLANTED = new URL("../../shared/test/fuzz/planted.ts", import.meta.url);
const SEED = 1;
const INPUTS = 100_000;
/** Count of inputs of each target. */
const SHORT = 100;
const ROOT = new URL("../..", import.meta.url).href;
const pathOf = (module: URL): string => module.href.slice(ROOT.length);
const MODULES = [...new Set(EVERY_TARGET.map(({ module }) => pathOf(module)))];

describe("the fuzzer, guided by coverage, finds a decoder or state machine that", () => {
  test.concurrent.each<[string, Finding["what"], string, number?]>([
    ["throws a TypeError", "thrown", "TypeError: planted"],
    ["allocates wildly", "allocated", "MiB"],
    ["loops without end", "hung", "SIGKILL", 2_500],
    ["aborts the process", "crashed", "SIGABRT"],
    ["leaves a promise rejected", "thrown", "Error: planted"],
    ["fails in a late state", "thrown", "TypeError: planted"],
  ])("%s", async (name, what, says, silenceMs = 5_000) => {
    const { finding } = await runCampaign({ module: PLANTED, name, seed: SEED, inputs: INPUTS, silenceMs });
    expect(finding).toMatchObject({
      what,
      says: expect.stringContaining(says),
      input: expect.stringMatching(/^[0-9a-f]+$/),
    });
  });

  test.concurrent.each(["throws a TypeError", "fails in a late state"])(
    "%s, and not without being guided",
    async (name) => {
      const report = await runCampaign({ module: PLANTED, name, seed: SEED, inputs: INPUTS, isGuided: false });
      expect(report.finding).toBeUndefined();
      expect(report.inputs).toBeGreaterThanOrEqual(INPUTS);
    },
  );
});

test("each target of each module of targets has a share of a long run", async () => {
  const modules = globSync("*/test/**/*targets.ts", { cwd: fileURLToPath(ROOT) });
  const every: string[] = [];
  for (const path of modules) {
    const { targets } = (await import(ROOT + path)) as { targets: Targets };
    every.push(...Object.keys(targets).map((name) => `${path} ${name}`));
  }
  expect(EVERY_TARGET.map(({ module, name }) => `${pathOf(module)} ${name}`).toSorted()).toEqual(every.toSorted());
});

test.concurrent.each(MODULES)("a short look at all of %s: nothing but errors that are meant", async (module) => {
  const report = await runCampaign({ module: new URL(ROOT + module), seed: SEED, inputs: SHORT });
  expect(report.finding).toBeUndefined();
  expect(report.inputs).toBeGreaterThanOrEqual(
    EVERY_TARGET.filter((one) => one.module.href === ROOT + module).length * SHORT,
  );
});
