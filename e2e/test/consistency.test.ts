// Close-to-open, checked: agents and a server in one process, on simulated clocks, lines and disks, with a kernel's caches, under faults, from one seed. A run
// that failed is repeated exactly by RUNNEL_SEED=n; one that failed once is kept in plans/ by name, made smaller.
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import type { Report } from "../src/consistency/index.ts";
import { simulated, simulatedPlan } from "../src/consistency/simulated.ts";

const FRESH_MS = 90_000;
const TWICE = 20;
const PLANS = fileURLToPath(new URL("plans/", import.meta.url));
const asked = process.env["RUNNEL_SEED"];

function wordsOf({ seed, violations, faults, problems }: Report): string {
  return [`RUNNEL_SEED=${seed}`, ...violations, ...faults, ...problems.slice(-20)].join("\n");
}

test("one seed is one run", async () => {
  const seed = Date.now() % 1_000_000_000;
  const runs = { seed, count: TWICE, lastsMs: 120_000 };
  const [first, second] = [await simulated(runs), await simulated(runs)];
  const count = Math.min(first.length, second.length);
  expect(count).toBeGreaterThan(1);
  const traces = (reports: Report[]): string[] => reports.slice(0, count).map((each) => `${each.seed} ${each.trace}`);
  expect(traces(second)).toEqual(traces(first));
}, 400_000);

test.each(readdirSync(PLANS))("%s failed once", async (name) => {
  const { violations, calls } = await simulatedPlan(`${PLANS}/${name}`);
  expect(calls).toBeGreaterThan(0);
  expect(violations).toEqual([]);
});

test("whoever opens after a close sees it, whatever fails, and nothing that was told done is lost", async () => {
  const seed = asked === undefined ? Date.now() % 1_000_000_000 : Number(asked);
  const reports = await simulated({ seed, count: asked === undefined ? 100_000 : 1, lastsMs: FRESH_MS });
  const failed = reports.filter(({ violations }) => violations.length > 0);
  if (failed.length > 0) throw new Error(failed.map(wordsOf).join("\n\n"));
  const sum = (of: (report: Report) => number): number => reports.reduce((all, report) => all + of(report), 0);
  const close = sum((report) => report.close);
  const fromKernels = sum((report) => report.fromKernels);
  console.info(
    `${reports.length} seeds from ${seed}: ${sum(({ checked }) => checked)} reads held to the guarantee, ${close} of them within a round trip of another ` +
      `client's change; ${sum(({ waited }) => waited)} changes waited for acknowledgements; ${sum(({ offline }) => offline)} reads answered offline, ` +
      `${fromKernels} requests by kernels`,
  );
  if (asked !== undefined) return;
  expect(close).toBeGreaterThan(100);
  expect(sum(({ waited }) => waited)).toBeGreaterThan(100);
  expect(fromKernels).toBeGreaterThan(100);
}, 900_000);
