// Waits on a clock until a signal.
import type { Clock, Timer } from "./clock.ts";

export function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    let timer: Timer | undefined;
    const end = (): void => {
      timer?.cancel();
      signal.removeEventListener("abort", end);
      done();
    };
    timer = clock.after(delayMs, end);
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
  });
}
