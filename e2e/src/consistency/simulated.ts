// Runs of the simulation, for tests: in processes of their own, a few runs each, since what is killed in a run is only let go with its process.
import { fileURLToPath } from "node:url";
import { mustRun } from "../harness/index.ts";
import type { Report } from "./simulate.ts";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));
const RUNS_A_PROCESS = 20;
/** A single run, on a slow machine. */
const RUN_MS = 120_000;

export interface Runs {
  /** Of the first; each next one has the next. */
  seed: number;
  count: number;
  /** None begins later. */
  lastsMs: number;
  /** With this fault in the product, and only until it has been noticed. */
  mutant?: string;
}

/** Of a report's trace only the digest comes. */
export async function simulated({ seed, count, lastsMs, mutant }: Runs): Promise<Report[]> {
  const reports: Report[] = [];
  const untilMs = performance.now() + lastsMs;
  while (reports.length < count) {
    const leftMs = untilMs - performance.now();
    if (leftMs <= 0) break;
    const runs = Math.min(RUNS_A_PROCESS, count - reports.length);
    const args = [seed + reports.length, runs, Math.ceil(leftMs)].map(String);
    const { stdout } = await mustRun(
      process.execPath,
      ["--disable-warning=ExperimentalWarning", MAIN, ...args, ...(mutant === undefined ? [] : [mutant])],
      { deadlineMs: leftMs + RUN_MS },
    );
    for (const line of stdout.trim().split("\n")) reports.push(JSON.parse(line) as Report);
    if (mutant !== undefined && (reports.at(-1)?.violations.length ?? 0) > 0) break;
  }
  return reports;
}
