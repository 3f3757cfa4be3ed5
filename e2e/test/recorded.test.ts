// Close-to-open, checked on what real programs did and saw on real mounts, while lines failed and agents and the server
// were killed. RUNNEL_SEED=n chooses the same links, programs and disturbances once more; what comes of them hangs on
// the machine.
import { expect, test } from "@jest/globals";
import { LEAST, record, settingsOf, wordsOf, worthOf } from "../src/recorded/index.ts";

const LASTS_MS = 6_000;
const asked = process.env["RUNNEL_SEED"];

test("whoever opens after a close sees it, on real mounts, whatever fails", async () => {
  const seed = asked === undefined ? Date.now() % 1_000_000_000 : Number(asked);
  const run = await record(settingsOf(seed, LASTS_MS));
  console.info(worthOf(run));
  if (run.violations.length > 0) throw new Error(wordsOf(run));
  expect(run.close).toBeGreaterThanOrEqual(LEAST);
  expect(run.waited).toBeGreaterThanOrEqual(LEAST);
}, 300_000);
