// The runner of outside suites, with suites that are a few lines of shell.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type SuiteReport, isGood, newFailures, tableLines } from "../conformance/report.ts";
import { type SuiteRun, findSuites, readOutcome } from "../conformance/suite.ts";
import { run } from "../src/harness/index.ts";

const MAIN = fileURLToPath(new URL("../conformance/main.ts", import.meta.url));

describe("what a suite printed", () => {
  test("is read as counts, and as failures without times and folders", () => {
    const printed = [
      "ok   first (3 s)",
      "FAIL second (rc 101, 12 s)",
      "    --- FAIL: TestThird (0.04s)",
      "[fourth] /mnt/a/fst-four-11/t: mode wrong",
      "-- four on /mnt/a: 12 s",
      "1 passed, 3 failed",
      "",
    ];
    expect(readOutcome(printed.join("\n"), 1)).toEqual({
      passed: 1,
      failed: 3,
      failures: ["FAIL second (rc 101)", "--- FAIL: TestThird", "[fourth] DIR/t: mode wrong"],
    });
  });

  test("is a failure when it does not end with counts", () => {
    expect(readOutcome("ok   first (3 s)\n", 127)).toEqual({
      passed: 0,
      failed: 1,
      failures: ["ended with 127 without counting"],
    });
  });
});

describe("a suite is good", () => {
  const ran = (failures: string[]): SuiteRun => ({ passed: 5, failed: failures.length, failures, seconds: 1.4 });
  const report = (failures: string[], baseline?: string[], complaints: string[] = []): SuiteReport => ({
    name: "some",
    run: ran(failures),
    baseline: baseline && ran(baseline),
    complaints,
  });

  test("when nothing failed, or only what fails on the baseline too", () => {
    expect(isGood(report([]))).toBe(true);
    expect(isGood(report(["a"]))).toBe(false);
    expect(isGood(report(["a"], ["b", "a"]))).toBe(true);
    expect(isGood(report(["a", "c"], ["b", "a"]))).toBe(false);
    expect(newFailures(report(["a", "c"], ["b", "a"]))).toEqual(["c"]);
  });

  test("only when the drive was well afterwards", () => {
    expect(isGood(report([], undefined, ["the agent has ended"]))).toBe(false);
  });

  test("and its line says so, with the failures and what is there too", () => {
    expect(tableLines(report(["a", "c"], ["a"]))).toEqual([
      "some                       5       2        1  FAILED",
      "  passthrough_hp           5       1        1",
      "    (there too) a",
      "    c",
    ]);
  });
});

describe("on a real drive", () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "rnl-suites-"));
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const suite = (name: string, ...lines: string[]): void =>
    writeFileSync(join(folder, `run-${name}.sh`), ["#!/bin/bash", ...lines, ""].join("\n"));

  test("suites run in a folder of a mount, each on one of its own, and a failure is the runner's", async () => {
    suite(
      "all-well",
      'cd "$1" && [ -z "$(ls)" ] && mkdir a && echo text >a/b && ln -s b a/c',
      'echo "2 passed, 0 failed"',
    );
    suite(
      "one-fails",
      'cd "$1" && [ -z "$(ls)" ] && stat -f -c %T . | grep -q fuse',
      'echo "FAIL other"; echo "1 passed, 1 failed"',
    );
    expect(findSuites(folder).map(({ name }) => name)).toEqual(["all-well", "one-fails"]);
    const ran = await run(process.execPath, [MAIN, folder], { deadlineMs: 60_000 });
    expect(ran.stderr).toBe("");
    expect(ran.stdout.split("\n").map((line) => line.replace(/ +\d+(?=( +FAILED)?$)/, ""))).toEqual([
      "suite                 passed  failed  seconds",
      "all-well                   2       0",
      "one-fails                  1       1  FAILED",
      "    FAIL other",
      "",
    ]);
    expect(ran.code).toBe(1);
  }, 60_000);

  test("one that hangs is ended at its deadline, whatever it started", async () => {
    suite("hangs", 'cd "$1"; echo $$ >&2; timeout 1000 sleep 1000');
    const ran = await run(process.execPath, [MAIN, folder, "--deadline", "1"], { deadlineMs: 60_000 });
    expect(ran.stdout).toContain("did not end within 1 s");
    expect(ran.code).toBe(1);
  }, 60_000);

  test("a folder without suites and a name that is none of them are told in one sentence", async () => {
    const none = await run(process.execPath, [MAIN, folder], { deadlineMs: 20_000 });
    expect([none.code, none.stderr]).toEqual([1, `${folder} holds no suite: no run-NAME.sh is in it.\n`]);
    suite("some", "true");
    const unknown = await run(process.execPath, [MAIN, folder, "other"], { deadlineMs: 20_000 });
    expect([unknown.code, unknown.stderr]).toEqual([2, `${folder} has no suite named other. It has some.\n`]);
  });
});
