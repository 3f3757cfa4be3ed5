// Waiting until a signal: on a clock, and for what somebody else does.
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

/** Waits no longer than the signal; what was begun goes on. @throws the signal's reason. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal.reason as Error);
  work.catch(() => undefined);
  signal.throwIfAborted();
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
