// Runs of the simulation in a process of their own:
//     node main.ts SEED COUNT MS [MUTANT]      at most COUNT runs from SEED on within MS; a mutant until it is caught
//     node main.ts plan FILE                   the run of a plan that was kept
//     node main.ts shrink SEED RUNS [MUTANT]   the plan of a failing seed, made smaller in at most RUNS runs, as JSON
// Of runs one line of JSON each; of a trace the digest.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { MUTANTS } from "./mutants/mutants.ts";
import { type Plan, planOf } from "./plan.ts";
import { shrink } from "./shrink.ts";
import { type Report, simulate } from "./simulate.ts";
import { Watchdog } from "./watchdog.ts";

// The product makes many errors that are answers; nobody here reads where.
Error.stackTraceLimit = 0;

const watchdog = new Watchdog();
const [first = "", ...more] = process.argv.slice(2);
if (first === "plan") write(await watched(JSON.parse(readFileSync(more[0] ?? "", "utf8")) as Plan));
else if (first === "shrink") await writeSmaller(Number(more[0]), Number(more[1]), more[2]);
else await writeRuns(Number(first), Number(more[0]), Number(more[1]), more[2]);
// Calls of processes that were killed in the last run still wait, for ever.
process.stdout.end(() => process.exit(0));

async function writeRuns(seed: number, count: number, lastsMs: number, name: string | undefined): Promise<void> {
  const settings = withMutant(name);
  const untilMs = performance.now() + lastsMs;
  for (let at = seed; at < seed + count && performance.now() < untilMs; at++) {
    const report = await watched(planOf(at, settings));
    write(report);
    if (name !== undefined && report.violations.length > 0) return;
  }
}

async function writeSmaller(seed: number, runs: number, name: string | undefined): Promise<void> {
  const plan = planOf(seed, withMutant(name));
  const fails = async (tried: Plan): Promise<boolean> => (await watched(tried)).violations.length > 0;
  if (!(await fails(plan))) throw new Error(`Seed ${seed} does not fail.`);
  process.stdout.write(`${JSON.stringify(await shrink(plan, fails, runs), undefined, 2)}\n`);
}

/** A run that does not come to its end is reported as one that went wrong. */
async function watched(plan: Plan): Promise<Report> {
  const { seed } = plan;
  const noCounts = {
    checked: 0,
    close: 0,
    offline: 0,
    calls: 0,
    commits: 0,
    waited: 0,
    heldApart: 0,
    stopsInFlight: 0,
  };
  const nothing = { ...noCounts, fromKernels: 0, fromColleagues: 0, trace: "" };
  const report: Report = { ...nothing, seed, violations: [], faults: [], problems: [] };
  watchdog.begins(report);
  try {
    return await simulate(plan);
  } catch (error) {
    // A fault of the code itself, perhaps of a mutant's, is no verdict.
    if (error instanceof TypeError) throw error;
    return { ...report, violations: [`no end: ${String(error)}`] };
  }
}

function withMutant(name: string | undefined): object {
  const mutant = MUTANTS.find((each) => each.name === name);
  if (name !== undefined && mutant === undefined) throw new Error(`There is no mutant "${name}".`);
  mutant?.apply();
  const asked = process.env["RUNNEL_POWERS"];
  const isAsync = process.env["RUNNEL_MODE"] === "async";
  const faults = process.env["RUNNEL_FAULTS"]?.split(",");
  const powers = asked === undefined ? {} : { powers: asked.split(",") };
  return { isAsync, ...powers, ...(faults === undefined ? {} : { faults }), ...mutant?.settings };
}

function write(report: Report): void {
  const trace = createHash("sha256").update(report.trace).digest("hex");
  process.stdout.write(`${JSON.stringify({ ...report, trace })}\n`);
}
