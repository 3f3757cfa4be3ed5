// Jest environment: a test that fails shows what the servers and agents of its file have told so far, before they are cleaned up.
const { TestEnvironment } = require("jest-environment-node");

const LINES = 30;

// No handle is left in a worker by then, but to free its heap may take longer than jest waits before it says that one is.
if (process.send !== undefined) process.once("exit", (code) => process.reallyExit(code));

module.exports = class Told extends TestEnvironment {
  handleTestEvent({ name, error }) {
    if (name !== "test_fn_failure" || typeof error?.stack !== "string") return;
    // The harness puts them there.
    const tellers = this.global[Symbol.for("runnel.told")] ?? [];
    const told = [...tellers].map((tell) => tell().trim()).filter((text) => text !== "");
    const shown = told.map((text) => `\n${text.split("\n").slice(-LINES).join("\n")}\n`).join("");
    // Jest cuts lines that come after the first of the stack.
    error.stack = error.stack.replace(/(?=\n\s+at )/, () => shown);
  }
};
