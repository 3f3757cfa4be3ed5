// Runs of the simulation, for tests: in processes of their own, some runs each, since what is killed in a run is only
// let go with its process.
import { fileURLToPath } from "node:url";
import { run as runChild } from "../harness/index.ts";
import type { Fault, Plan, Power } from "./plan.ts";
import type { Report } from "./simulate.ts";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));
const RUNS_A_PROCESS = 100;
/** A single run, on a slow machine. */
const RUN_MS = 120_000;

export interface Runs {
  /** Seed of the first run; each next one has the next. */
  seed: number;
  count: number;
  /** None begins later. */
  lastsMs: number;
  /** With this fault in the product, and only until it has been noticed. */
  mutant?: string;
  /** Count of runs at a time; 1 unless said. */
  parallel?: number;
  /** All clients are in mode async. */
  isAsync?: boolean;
  /** Only these faults happen, of the first client. */
  faults?: readonly Fault["kind"][];
  /** Powers in place of the usual ones. */
  powers?: readonly Power[];
}

/** Runs plans in processes of their own; only the digest of a report's trace comes back. */
export async function simulated({
  seed,
  count,
  lastsMs,
  mutant,
  parallel = 1,
  isAsync,
  faults,
  powers,
}: Runs): Promise<Report[]> {
  const reports: Report[] = [];
  const untilMs = performance.now() + lastsMs;
  let begun = 0;
  const worker = async (): Promise<void> => {
    while (begun < count) {
      const leftMs = untilMs - performance.now();
      if (leftMs <= 0) return;
      const runs = Math.min(RUNS_A_PROCESS, count - begun);
      const from = seed + begun;
      begun += runs;
      const args = [from, runs, Math.ceil(leftMs)].map(String);
      const mode = {
        ...(isAsync === true ? { RUNNEL_MODE: "async" } : {}),
        ...(powers === undefined ? {} : { RUNNEL_POWERS: powers.join(",") }),
        ...(faults === undefined ? {} : { RUNNEL_FAULTS: faults.join(",") }),
      };
      const found = await run([...args, ...(mutant === undefined ? [] : [mutant])], leftMs, mode);
      reports.push(...found.map((line) => JSON.parse(line) as Report));
      if (mutant !== undefined && reports.some(({ violations }) => violations.length > 0)) return;
    }
  };
  await Promise.all(Array.from({ length: parallel }, worker));
  return reports.toSorted((a, b) => a.seed - b.seed);
}

/** A plan that was kept. */
export async function simulatedPlan(path: string): Promise<Report> {
  const [line = ""] = await run(["plan", path], 0);
  return JSON.parse(line) as Report;
}

/** The plan of a seed that fails, made smaller. */
export async function shrunk(seed: number, runs: number, mutant: string): Promise<Plan> {
  return JSON.parse((await run(["shrink", String(seed), String(runs), mutant], runs * 1000)).join("")) as Plan;
}

async function run(args: readonly string[], lastsMs: number, env: NodeJS.ProcessEnv = {}): Promise<string[]> {
  const ended = await runChild(process.execPath, ["--disable-warning=ExperimentalWarning", MAIN, ...args], {
    deadlineMs: lastsMs + RUN_MS,
    env: { ...process.env, ...env },
  });
  const lines = ended.stdout.trim().split("\n");
  // The watchdog ends a run that is stuck, with its report.
  if (ended.code !== 0 && !(ended.signal === "SIGKILL" && lines.at(-1)?.includes('"stuck: ') === true))
    throw new Error(`${args.join(" ")} ended with ${ended.signal ?? `code ${ended.code}`}\n${ended.stderr}`);
  return lines;
}
