// The suite winfsp-tests of WinFsp as its `--list` and its `--tap` print it. Its sources are WinFsp's ext/tlib.

export type Outcome = "passed" | "failed" | "overdue" | "ended";

export interface SuiteResult {
  name: string;
  outcome: Outcome;
  /** The assertion that failed, or how it ended; "" when it passed. */
  detail: string;
}

/** Names of tests as they are listed, a line each. */
export function listedTests(printed: string): string[] {
  return printed
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => /^\w+$/.test(line));
}

/** Reads how a test ended that ran by itself; a code of null says that its deadline had passed. */
export function resultOf(name: string, printed: string, code: number | null): SuiteResult {
  const lines = printed.split("\n").map((line) => line.trim());
  const failed = lines.findIndex((line) => new RegExp(`^not ok \\d+ ${name}$`).test(line));
  if (failed !== -1) return { name, outcome: "failed", detail: (lines[failed + 1] ?? "").replace(/^# /, "") };
  if (code === null) return { name, outcome: "overdue", detail: "was still running at its deadline" };
  if (code === 0 && lines.some((line) => new RegExp(`^ok \\d+ ${name}$`).test(line)))
    return { name, outcome: "passed", detail: "" };
  return { name, outcome: "ended", detail: `ended with ${code} and said nothing of it` };
}

export interface Summary {
  lines: string[];
  isGood: boolean;
}

/**
 * Lines for a person, the last of them as every suite's: "N passed, M failed".
 * @param known tests that are known to fail, each with its reason; one that passes in spite of that is a failure too
 */
export function summaryOf(results: readonly SuiteResult[], known: Readonly<Record<string, string>>): Summary {
  const bad = results.filter(({ name, outcome }) => (outcome === "passed") === name in known);
  const lines = results
    .filter(({ outcome }) => outcome !== "passed")
    .map(({ name, outcome, detail }) => `${outcome} ${name}: ${detail}${name in known ? ` (${known[name]})` : ""}`);
  const better = bad.filter(({ outcome }) => outcome === "passed").map(({ name }) => `passes now: ${name}`);
  const absent = Object.keys(known)
    .filter((name) => !results.some((result) => result.name === name))
    .map((name) => `is no test of the suite: ${name}`);
  const failed = bad.length + absent.length;
  const passed = results.length - bad.length;
  return {
    lines: [...lines, ...better, ...absent, `${passed} passed, ${failed} failed`],
    isGood: failed === 0 && results.length > 0,
  };
}
