// Connects again after an outage. An attempt that meets a line that swallows all of it hangs long after the line is
// back, since TCP asks ever more seldom: it gets siblings, and the first that connects wins. None is given up because
// another has begun.
import type { Timer } from "@runnel/shared";
import { TIMING, isRunnelError } from "@runnel/shared";
import { type ConnectionDeps, type Dialed, dial, closeUnused } from "./open-connection.ts";

/**
 * Pauses between attempts: short ones in a short outage, since that is cheap, long ones in a long one. Chosen at random
 * within these, so that many clients do not come at once.
 */
const RETRY_MS = [100, 700] as const;
const RETRY_LONG_MS = [4_000, 9_000] as const;
const LONG_OUTAGE_MS = 60_000;
/**
 * An attempt that has neither connected nor failed by then gets a sibling, on a slow line after the round trips that it
 * takes to connect.
 */
const SIBLING_MS = [500, 700] as const;
const SIBLING_ROUND_TRIPS = 2;
/** Attempts that begin while one is given the time for its first step. */
const ATTEMPTS_MAX = Math.ceil(TIMING.connectStepMs / SIBLING_MS[1]);
/** Pause after a refusal, which only a person can change. */
const REFUSED_MS = 30_000;

/** Connects again after a single outage. */
export class Redial {
  readonly #deps: ConnectionDeps;
  readonly #instance: string;
  readonly #roundTripMs: number;
  readonly #failed: (error: unknown) => void;
  #lostMs: number;
  #chances = 0;

  /**
   * `instance`: no two clients come at the same times. `roundTripMs`: of the line as it was; 0: unknown. `failed`: one
   * attempt of many did.
   */
  constructor(deps: ConnectionDeps, instance: string, roundTripMs: number, failed: (error: unknown) => void) {
    this.#deps = deps;
    this.#instance = instance;
    this.#roundTripMs = roundTripMs;
    this.#failed = failed;
    this.#lostMs = deps.clock.bootMs();
  }

  /**
   * Resolves to the next connection, after a pause. @throws Denied, Revoked when that is the answer; Interrupted by
   * `ending`.
   */
  async next(wasRefused: boolean, ending: AbortSignal): Promise<Dialed> {
    const { clock } = this.#deps;
    const over = new AbortController();
    const either = AbortSignal.any([ending, over.signal]);
    const { promise, resolve, reject } = Promise.withResolvers<Dialed>();
    let attempts = 0;
    let newest = 0;
    let timer: Timer | undefined;
    const later = (delayMs: number): void => {
      timer?.cancel();
      if (!either.aborted) timer = clock.after(delayMs, begin, true);
    };
    const begin = (): void => {
      later(this.#siblingMs);
      if (attempts >= ATTEMPTS_MAX) return;
      attempts++;
      const attempt = ++newest;
      dial(this.#deps, either).then(
        (dialed) => {
          if (either.aborted) closeUnused(dialed);
          over.abort();
          resolve(dialed);
        },
        (error: unknown) => {
          attempts = Math.max(0, attempts - 1);
          if (either.aborted) return;
          if (isRunnelError(error, "Denied", "Revoked")) reject(error as Error);
          this.#failed(error);
          if (attempt === newest) later(this.#retryMs);
        },
      );
    };
    const end = (): void => reject(either.reason as Error);
    // Attempts of before hang perhaps in a network that is there no more. A refusal stays one.
    const watching = wasRefused
      ? undefined
      : this.#deps.machine?.watch(() => {
          this.#lostMs = this.#deps.clock.bootMs();
          attempts = 0;
          later(this.#retryMs);
        });
    ending.addEventListener("abort", end);
    later(wasRefused ? REFUSED_MS : this.#retryMs);
    if (ending.aborted) end();
    try {
      return await promise;
    } finally {
      watching?.[Symbol.dispose]();
      ending.removeEventListener("abort", end);
      over.abort();
      timer?.cancel();
    }
  }

  get #isLong(): boolean {
    return this.#deps.clock.bootMs() - this.#lostMs >= LONG_OUTAGE_MS;
  }

  get #retryMs(): number {
    return this.#within(this.#isLong ? RETRY_LONG_MS : RETRY_MS);
  }

  get #siblingMs(): number {
    return Math.max(this.#within(this.#isLong ? RETRY_LONG_MS : SIBLING_MS), SIBLING_ROUND_TRIPS * this.#roundTripMs);
  }

  #within([leastMs, mostMs]: readonly [number, number]): number {
    return leastMs + (mostMs - leastMs) * chanceOf(this.#instance, this.#chances++);
  }
}

/** From 0 to 1, another for each client and each attempt. */
function chanceOf(instance: string, attempt: number): number {
  const first = Number.parseInt(instance.slice(0, HEX_OF_32_BITS), 16);
  return ((first + attempt * GOLDEN_RATIO) % TWO_TO_32) / TWO_TO_32;
}

const HEX_OF_32_BITS = 8;
const TWO_TO_32 = 2 ** 32;
/** Golden section of 2^32: its multiples are spread evenly. */
const GOLDEN_RATIO = 0x9e3779b9;
