// Waits for what real processes do.
import { RealClock, sleep } from "@runnel/shared";

const HOLDS_MS = 20_000;

/** @throws when it never holds */
export async function waitUntil(holds: () => boolean): Promise<void> {
  const clock = new RealClock();
  const untilMs = clock.bootMs() + HOLDS_MS;
  while (!holds()) {
    if (clock.bootMs() > untilMs) throw new Error(`This does not become true: ${holds.toString()}`);
    await sleep(clock, 10);
  }
}
