// Jest environment: a test that fails shows what the servers and agents of its file have written so far, before they
// are cleaned up.
const vm = require("node:vm");
const { TestEnvironment } = require("jest-environment-node");

const LINES = 30;

// No handle is left in a worker by then, but to free its heap may take longer than jest waits before it says that one
// is.
if (process.send !== undefined) process.once("exit", (code) => process.reallyExit(code));

module.exports = class CapturedOutput extends TestEnvironment {
  /**
   * Makes globals ordinary ones. Jest's own lie behind a proxy, in a context that intercepts them besides, for which
   * all that is simulated takes longer.
   */
  constructor(config, context) {
    const { createContext } = vm;
    vm.createContext = () => createContext(vm.constants.DONT_CONTEXTIFY);
    try {
      super(config, context);
    } finally {
      vm.createContext = createContext;
    }
  }

  handleTestEvent({ name, error }) {
    if (name !== "test_fn_failure" || typeof error?.stack !== "string") return;
    // The harness puts them there (captured-output.ts).
    const sources = this.global[Symbol.for("runnel.capturedOutput")] ?? [];
    const outputs = [...sources].map((outputOf) => outputOf().trim()).filter((text) => text !== "");
    const shown = outputs.map((text) => `\n${text.split("\n").slice(-LINES).join("\n")}\n`).join("");
    // Jest cuts lines that come after the first of the stack.
    error.stack = error.stack.replace(/(?=\n\s+at )/, () => shown);
  }
};
