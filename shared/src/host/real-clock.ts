// The machine's clocks. Only this file reads them.
import { uptime } from "node:os";
import type { Clock, Timer } from "./clock.ts";

/** Node's timers take 31 bits; longer delays are waited for in turns. */
const DELAY_MS_MAX = 2 ** 31 - 1;
/** Age up to which an offset is used before it is measured again; measuring costs 4 µs. */
const OFFSET_AGE_MS_MAX = 10;
/** A step of the wall clock against the monotonic one that asks for a new measurement: a suspend moves the one only. */
const WALL_STEP_MS = 2;

/** Clocks of the system. Replaced in tests only. */
export interface ClockSources {
  /** Never jumps; on Linux it stands still while the machine sleeps. */
  monotonicMs(): number;
  /** Runs through suspend, in steps of 10 ms; rounded down. undefined: the monotonic clock does so itself. */
  uptimeMs: (() => number) | undefined;
  wallMs(): number;
}

/**
 * Node has no CLOCK_BOOTTIME. process.hrtime is exact but CLOCK_MONOTONIC on Linux; os.uptime() is /proc/uptime, which
 * counts suspend, in steps of 10 ms. Their difference is the time slept: the largest one seen is never too large, never
 * falls, comes within 10 ms at the first look, and closer with every look. On macOS and Windows hrtime runs through
 * suspend.
 */
const SYSTEM: ClockSources = {
  monotonicMs: () => Number(process.hrtime.bigint()) / 1e6,
  uptimeMs: process.platform === "linux" ? () => uptime() * 1000 : undefined,
  wallMs: () => Date.now(),
};

export class RealClock implements Clock {
  readonly #sources: ClockSources;
  #sleptMs = 0;
  #measuredAtMs = -Infinity;
  #wallOffsetMs = 0;

  constructor(sources: ClockSources = SYSTEM) {
    this.#sources = sources;
    if (sources.uptimeMs !== undefined) this.#sleptMs = -Infinity;
  }

  bootMs(): number {
    const { monotonicMs, uptimeMs, wallMs } = this.#sources;
    const nowMs = monotonicMs();
    if (uptimeMs === undefined) return nowMs;
    const wallOffsetMs = wallMs() - nowMs;
    const isStale = nowMs - this.#measuredAtMs >= OFFSET_AGE_MS_MAX;
    if (!isStale && Math.abs(wallOffsetMs - this.#wallOffsetMs) < WALL_STEP_MS) return nowMs + this.#sleptMs;
    this.#wallOffsetMs = wallOffsetMs;
    const upMs = uptimeMs();
    // Read after the uptime: the difference can only come out too small.
    this.#measuredAtMs = monotonicMs();
    this.#sleptMs = Math.max(this.#sleptMs, upMs - this.#measuredAtMs);
    return this.#measuredAtMs + this.#sleptMs;
  }

  wallNs(): bigint {
    return BigInt(this.#sources.wallMs()) * 1_000_000n;
  }

  /** Time asleep does not count: after a suspend, compare with bootMs. Never fires early. */
  after(delayMs: number, fire: () => void, holdsProcess = false): Timer {
    const { monotonicMs } = this.#sources;
    const dueMs = monotonicMs() + delayMs;
    let timeout: NodeJS.Timeout;
    const arm = (restMs: number): void => {
      timeout = setTimeout(
        () => {
          const leftMs = dueMs - monotonicMs();
          if (leftMs > 0) arm(leftMs);
          else fire();
        },
        Math.min(Math.ceil(Math.max(restMs, 0)), DELAY_MS_MAX),
      );
      if (!holdsProcess) timeout.unref();
    };
    arm(delayMs);
    return { cancel: () => clearTimeout(timeout) };
  }
}
