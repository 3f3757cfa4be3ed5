// Waiting for a condition, in place of sleeping.

const POLL_MS = 10;

/**
 * Asks until the condition holds (is truthy) and returns what it said; throws after the deadline, naming what was
 * waited for.
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  deadlineMs: number,
  what = "a condition",
): Promise<NonNullable<T>> {
  const untilMs = performance.now() + deadlineMs;
  for (;;) {
    const said = await condition();
    if (said) return said;
    if (performance.now() > untilMs) throw new Error(`Waited ${deadlineMs} ms in vain for ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
