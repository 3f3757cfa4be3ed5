// An outside suite: a script `run-NAME.sh DIR` that tests the folder DIR, prints a line for each of its tests that
// fails, and ends with "N passed, M failed". Nothing here knows on what the folder lies.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { run } from "../src/harness/index.ts";

export interface Suite {
  name: string;
  script: string;
}

export interface Outcome {
  passed: number;
  failed: number;
  /** A line for each test that failed, as the suite names it; some suites show only the first ones. */
  failures: string[];
}

export interface SuiteRun extends Outcome {
  seconds: number;
}

/** The suites of a folder, by name. Throws when it holds none. */
export function findSuites(folder: string): Suite[] {
  const suites = readdirSync(folder)
    .toSorted()
    .flatMap((file) => {
      const name = /^run-(.+)\.sh$/.exec(file)?.[1];
      return name === undefined ? [] : [{ name, script: join(folder, file) }];
    });
  if (suites.length === 0) throw new Error(`${folder} holds no suite: no run-NAME.sh is in it.`);
  return suites;
}

/** The line of a test without how long it took and where: "(0.01s)", process ids in the suite's own folder. */
function normalised(line: string): string {
  return line
    .trim()
    .replaceAll(/\(\d+(\.\d+)? ?s\)/g, "")
    .replaceAll(/, \d+ s\)/g, ")")
    .replaceAll(/\/\S*\/fst-[\w-]+/g, "DIR")
    .trim();
}

/** Reads what a script printed. A script that ended in another way than by counting failed once more, and says so. */
export function readOutcome(stdout: string, code: number | null): Outcome {
  const lines = stdout.split("\n").filter((line) => line.trim() !== "");
  const last = /^(\d+) passed, (\d+) failed/.exec(lines.at(-1)?.trim() ?? "");
  const failures = lines.filter((line) => !/^(ok\b|-- |\d+ passed, )/.test(line)).map(normalised);
  if (last === null) return { passed: 0, failed: 1, failures: [...failures, `ended with ${code} without counting`] };
  const failed = Number(last[2]);
  return { passed: Number(last[1]), failed, failures: failed === 0 ? [] : failures };
}

/** Runs a suite in a folder until its end or its deadline. It keeps what it wrote there. */
export async function runSuite(
  suite: Suite,
  folder: string,
  options: { label: string; deadlineMs: number; env: NodeJS.ProcessEnv },
): Promise<SuiteRun> {
  const { label, deadlineMs } = options;
  const env = { ...options.env, FST_LABEL: label, FST_KEEP: "1" };
  const ran = await run("bash", [suite.script, folder], { deadlineMs, env });
  const seconds = ran.durationMs / 1000;
  const outcome = readOutcome(ran.stdout, ran.code);
  if (!ran.isOverdue) return { ...outcome, seconds };
  const failures = [...outcome.failures, `did not end within ${Math.round(deadlineMs / 1000)} s`];
  return { passed: outcome.passed, failed: Math.max(1, outcome.failed), failures, seconds };
}
