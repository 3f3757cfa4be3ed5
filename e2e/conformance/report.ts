// Makes a verdict of the runs, and a line of the table for each suite.
import type { SuiteRun } from "./suite.ts";

export interface SuiteReport {
  name: string;
  run: SuiteRun;
  /** The same suite on passthrough_hp, if it was run there. */
  baseline: SuiteRun | undefined;
  /** Sentences about what was wrong with the drive afterwards, though no test said so. */
  complaints: string[];
}

/** Failures that the baseline does not have too. */
export function newFailures({ run, baseline }: SuiteReport): string[] {
  const known = new Set(baseline?.failures);
  return run.failures.filter((failure) => !known.has(failure));
}

/**
 * Returns true when the drive was as good as the baseline, test by test, and there is nothing to complain of. Without a
 * baseline no test may fail.
 */
export function isGood(report: SuiteReport): boolean {
  const { run, baseline, complaints } = report;
  return complaints.length === 0 && run.failed <= (baseline?.failed ?? 0) && newFailures(report).length === 0;
}

const COLUMNS = ["passed", "failed", "seconds"];
const NAME_WIDTH = 20;

function line(name: string, cells: readonly string[], end = ""): string {
  const shown = cells.map((cell, i) => cell.padStart(COLUMNS[i]?.length ?? 0));
  return [name.padEnd(NAME_WIDTH), ...shown, end].join("  ").trimEnd();
}

export function tableHead(): string {
  return line("suite", COLUMNS);
}

function counts({ passed, failed, seconds }: SuiteRun): string[] {
  return [String(passed), String(failed), seconds.toFixed(0)];
}

/** The suite's line; below it the baseline's, and what failed. */
export function tableLines(report: SuiteReport): string[] {
  const { name, run, baseline, complaints } = report;
  const fresh = new Set(newFailures(report));
  return [
    line(name, counts(run), isGood(report) ? "" : "FAILED"),
    ...(baseline === undefined ? [] : [line("  passthrough_hp", counts(baseline))]),
    ...run.failures.map((failure) => `    ${fresh.has(failure) ? "" : "(there too) "}${failure}`),
    ...complaints.map((complaint) => `    afterwards: ${complaint}`),
  ];
}
