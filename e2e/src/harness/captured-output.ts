// Output of the processes that a test started, captured for who looks at its failure: scripts/jest-captured-output.cjs
// asks.
const KEY = Symbol.for("runnel.capturedOutput");

/** `outputOf` returns all lines so far, or nothing. */
export function captureOutput(outputOf: () => string): void {
  const shared = globalThis as { [KEY]?: Set<() => string> };
  (shared[KEY] ??= new Set()).add(outputOf);
}
