// Close-to-open, checked: agents and a server in one process, on simulated clocks, lines and disks, with a kernel's
// caches, under faults, from one seed. A run that failed is repeated exactly by RUNNEL_SEED=n; one that failed once is
// kept in plans/ by name, made smaller. These are the same seeds each time, so that a change is judged by what it does;
// fresh ones are for consistency.long.test.ts.
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { MUTANTS, type Report } from "../src/consistency/index.ts";
import { simulated, simulatedPlan } from "../src/consistency/simulated.ts";

const FIRST_SEED = 1;
const SEEDS = 20;
const TWICE = 2;
const ASYNC_SEEDS = 10;
const COLLEAGUE_SEEDS = 2;
/** All of them have begun by then, on a machine that has much else to do. */
const BEGUN_MS = 900_000;
const PLANS = fileURLToPath(new URL("plans/", import.meta.url));
const asked = process.env["RUNNEL_SEED"];

function wordsOf({ seed, violations, faults, problems }: Report): string {
  return [`RUNNEL_SEED=${seed}`, ...violations, ...faults, ...problems.slice(-20)].join("\n");
}

function thrownBy(apply: () => void): unknown {
  try {
    return void apply();
  } catch (error) {
    return error;
  }
}

test(
  "one seed is one run",
  async () => {
    const runs = { seed: FIRST_SEED, count: TWICE, lastsMs: BEGUN_MS };
    const [first, second] = [await simulated(runs), await simulated(runs)];
    const traces = (reports: Report[]): string[] => reports.map((each) => `${each.seed} ${each.trace}`);
    expect(first).toHaveLength(TWICE);
    expect(traces(second)).toEqual(traces(first));
  },
  2 * BEGUN_MS + 100_000,
);

test.each(readdirSync(PLANS))("%s failed once", async (name) => {
  const { violations, calls } = await simulatedPlan(`${PLANS}/${name}`);
  expect(calls).toBeGreaterThan(0);
  expect(violations).toEqual([]);
});

test("the product has what the known faults replace", () => {
  // Applies them in this process, where nothing else of the product runs.
  for (const { name, apply } of MUTANTS) expect({ name, error: thrownBy(apply) }).toEqual({ name, error: undefined });
});

test(
  "it is so where clients serve each other's misses, and some of them lie, stall and leave",
  async () => {
    const runs = { seed: FIRST_SEED, count: COLLEAGUE_SEEDS, lastsMs: BEGUN_MS, powers: ["colleagues"] as const };
    const reports = await simulated(runs);
    expect(reports).toHaveLength(COLLEAGUE_SEEDS);
    expect(reports.every(({ fromColleagues }) => fromColleagues > 0)).toBe(true);
    const failed = reports.filter(({ violations }) => violations.length > 0);
    expect(failed.map(wordsOf)).toEqual([]);
  },
  BEGUN_MS + 100_000,
);

test(
  "it is so in mode async, where programs are answered before the server",
  async () => {
    const reports = await simulated({ seed: FIRST_SEED, count: ASYNC_SEEDS, lastsMs: BEGUN_MS, isAsync: true });
    expect(reports).toHaveLength(ASYNC_SEEDS);
    const failed = reports.filter(({ violations }) => violations.length > 0);
    if (failed.length > 0) throw new Error(`RUNNEL_MODE=async ${failed.map(wordsOf).join("\n\n")}`);
    // Clients that work in folders of their own have a write lease each.
    expect(reports.reduce((all, { heldApart }) => all + heldApart, 0)).toBeGreaterThan(5);
  },
  BEGUN_MS + 100_000,
);

test(
  "whoever opens after a close sees it, whatever fails, and nothing that was told done is lost",
  async () => {
    const seed = asked === undefined ? FIRST_SEED : Number(asked);
    const reports = await simulated({ seed, count: asked === undefined ? SEEDS : 1, lastsMs: BEGUN_MS });
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
    expect(reports).toHaveLength(SEEDS);
    expect(close).toBeGreaterThan(100);
    expect(sum(({ waited }) => waited)).toBeGreaterThan(100);
    expect(fromKernels).toBeGreaterThan(100);
  },
  BEGUN_MS + 100_000,
);
