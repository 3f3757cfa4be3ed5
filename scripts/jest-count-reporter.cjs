// Jest reporter: the run's last line, "N passed, M failed[, K skipped]", also written to the file that RUNNEL_COUNTS
// names. A test file that could not be loaded counts as one failed test; a run without any test fails.
const { writeFileSync, writeSync } = require("node:fs");

module.exports = class CountReporter {
  #hasRunNothing = false;

  onRunComplete(_contexts, results) {
    const passed = results.numPassedTests;
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const skipped = results.numPendingTests + results.numTodoTests;
    this.#hasRunNothing = passed + failed === 0;
    const line = `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
    if (process.env.RUNNEL_COUNTS) writeFileSync(process.env.RUNNEL_COUNTS, `${line}\n`);
    // Jest prints its own summary after every reporter.
    process.once("exit", () => writeSync(1, `${line}\n`));
  }

  getLastError() {
    return this.#hasRunNothing ? new Error("No test ran.") : undefined;
  }
};
