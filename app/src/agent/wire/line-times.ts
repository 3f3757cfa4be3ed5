// How long to wait on this line: what the protocol says is the least, a slow line is given more (W131).
import { TIMING } from "@runnel/shared";

/** Silence and patience in round trips of the line. */
const SILENCE_ROUND_TRIPS = 3;
const PATIENCE_ROUND_TRIPS = 5;

export class LineTimes {
  private samples: readonly number[] = [];

  /** A new line; 0: not measured. */
  begin(roundTripMs: number): void {
    this.samples = [];
    if (roundTripMs > 0) this.measured(roundTripMs);
  }

  /** One that nothing else delayed. */
  measured(roundTripMs: number): void {
    this.samples = [...this.samples.slice(-1), Math.min(roundTripMs, TIMING.roundTripMsMax)];
  }

  /** The smaller of the last two: one may be that of an outage. 0: unknown. */
  get roundTripMs(): number {
    return this.samples.length === 0 ? 0 : Math.min(...this.samples);
  }

  get silenceMs(): number {
    return Math.max(TIMING.silenceMs, SILENCE_ROUND_TRIPS * this.roundTripMs);
  }

  get patienceMs(): number {
    return Math.max(TIMING.patienceMs, PATIENCE_ROUND_TRIPS * this.roundTripMs);
  }
}
