// The outside suites of the folder that RUNNEL_SUITES names, each on a drive of its own (docs/developer-guide.md).
import { expect, test } from "@jest/globals";
import { resolve } from "node:path";
import { isGood, tableLines } from "../conformance/report.ts";
import { runSuites } from "../conformance/run-suites.ts";
import { findSuites } from "../conformance/suite.ts";

const DEADLINE_MS = 900_000;
const folder = process.env["RUNNEL_SUITES"];

if (folder === undefined) {
  process.stderr.write("The outside suites were not run: RUNNEL_SUITES names no folder of suites.\n");
  test("outside suites run only when RUNNEL_SUITES names their folder", () => expect(folder).toBeUndefined());
} else {
  test.each(findSuites(resolve(folder)))(
    "$name passes on a drive as on passthrough_hp",
    async (suite) => {
      for await (const report of runSuites([suite], { hasBaseline: true, deadlineMs: DEADLINE_MS })) {
        expect(isGood(report) ? [] : tableLines(report)).toEqual([]);
      }
    },
    3 * DEADLINE_MS,
  );
}
