// Says how long to wait on this line: what the protocol says at the least, on a slow line more (W131).
import { TIMING } from "@runnel/shared";

/** Silence and request timeout in round trips of the line. */
const SILENCE_ROUND_TRIPS = 3;
const TIMEOUT_ROUND_TRIPS = 5;
/** A shorter one makes no lease's term longer: none is below a second (W162). */
const ROUND_TRIP_REPORTED_MS = 250;

export class LineTimes {
  #samples: readonly number[] = [];

  /** Begins with a new line; 0: it was not measured. */
  begin(roundTripMs: number): void {
    this.#samples = [];
    if (roundTripMs > 0) this.measured(roundTripMs);
  }

  /** Takes a round trip that nothing else delayed. */
  measured(roundTripMs: number): void {
    this.#samples = [...this.#samples.slice(-1), Math.min(roundTripMs, TIMING.roundTripMsMax)];
  }

  /** The smaller of the last two: one may be that of an outage. 0: unknown. */
  get roundTripMs(): number {
    return this.#samples.length === 0 ? 0 : Math.min(...this.#samples);
  }

  /** Returns what an `attach` says of the line. */
  get reported(): { roundTripMs?: number } {
    return this.roundTripMs < ROUND_TRIP_REPORTED_MS ? {} : { roundTripMs: Math.ceil(this.roundTripMs) };
  }

  get silenceMs(): number {
    return Math.max(TIMING.silenceMs, SILENCE_ROUND_TRIPS * this.roundTripMs);
  }

  get requestTimeoutMs(): number {
    return Math.max(TIMING.requestTimeoutMs, TIMEOUT_ROUND_TRIPS * this.roundTripMs);
  }
}
