// Close-to-open, checked: agents and a server in one process, on simulated clocks, lines and disks, under faults, from one seed. A run that failed is
// repeated exactly by RUNNEL_SEED=n.
import { expect, test } from "@jest/globals";
import type { Report } from "../src/consistency/index.ts";
import { simulated } from "../src/consistency/simulated.ts";

const FRESH_MS = process.env["RUNNEL_LONG"] ? 240_000 : 60_000;
const asked = process.env["RUNNEL_SEED"];

function wordsOf({ seed, violations, faults, problems }: Report): string {
  return [`RUNNEL_SEED=${seed}`, ...violations, ...faults, ...problems.slice(-20)].join("\n");
}

test("one seed is one run", async () => {
  const [first] = await simulated({ seed: 3, count: 1, lastsMs: 60_000 });
  const [second] = await simulated({ seed: 3, count: 1, lastsMs: 60_000 });
  expect(first?.calls).toBeGreaterThan(100);
  expect(second?.trace).toBe(first?.trace);
}, 400_000);

test("whoever opens after a close sees it, whatever fails, and nothing that was told done is lost", async () => {
  const seed = asked === undefined ? Date.now() % 1_000_000_000 : Number(asked);
  const reports = await simulated({ seed, count: asked === undefined ? 100_000 : 1, lastsMs: FRESH_MS });
  const failed = reports.filter(({ violations }) => violations.length > 0);
  if (failed.length > 0) throw new Error(failed.map(wordsOf).join("\n\n"));
  const sum = (of: (report: Report) => number): number => reports.reduce((all, report) => all + of(report), 0);
  const close = sum((report) => report.close);
  console.info(
    `${reports.length} seeds from ${seed}: ${sum(({ checked }) => checked)} reads held to the guarantee, ${close} of them within a round trip of another ` +
      `client's change; ${sum(({ offline }) => offline)} answered offline`,
  );
  if (asked === undefined) expect(close).toBeGreaterThan(100);
}, 900_000);
