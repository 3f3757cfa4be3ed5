// Clock: all that production code may know of time. Nothing else sleeps, nothing else reads a clock.

export interface Timer {
  /** Ends the timer; harmless when it has fired. */
  cancel(): void;
}

export interface Clock {
  /** Milliseconds on a clock that never jumps and runs through suspend (CLOCK_BOOTTIME). Leases count on it. */
  bootMs(): number;
  /** Wall clock, nanoseconds since 1970; may jump. Payload only, never order. */
  wallNs(): bigint;
  /** Calls `fire` once after `delayMs`. Does not keep the process alive unless `holdsProcess`. */
  after(delayMs: number, fire: () => void, holdsProcess?: boolean): Timer;
}

export const NS_PER_MS = 1_000_000n;

/** Milliseconds since 1970. */
export function wallMs(clock: Clock): number {
  return Number(clock.wallNs() / NS_PER_MS);
}

/** Waits on a clock. */
export function sleep(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(delayMs, resolve, true);
  });
}
