// Collects what processes of a test have written, for who looks at its failure: scripts/jest-told.cjs asks.
const KEY = Symbol.for("runnel.told");

/** `tell` returns all lines so far, or nothing. */
export function willTell(tell: () => string): void {
  const shared = globalThis as { [KEY]?: Set<() => string> };
  (shared[KEY] ??= new Set()).add(tell);
}
