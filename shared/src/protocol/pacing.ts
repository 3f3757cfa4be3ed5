// How much bulk may be under way: at most 1.5 × rate × round trip unacknowledged, in frames of at most 20 ms of the measured rate, so
// that a control frame never waits behind more than that. Rate and round trip are estimated from acknowledgements as in BBR
// (Cardwell et al., 2016): the largest delivery rate and the smallest round trip seen lately. Pure: times are given.
import { LIMITS } from "../limits.ts";

const FRAME_BYTES_MIN = 1024;
const FRAME_SECONDS = 0.02;
const WINDOW_GAIN = 1.5;
/** While the rate still grows from acknowledgement to acknowledgement: doubling per round trip needs 2/ln 2 (BBR's startup gain). */
const STARTUP_GAIN = 2.885;
const STARTUP_WINDOW_BYTES = 32 * 1024;
const GROWTH = 1.25;
const STARTUP_ROUNDS = 3;
/** A round trip below this is event-loop noise; counting it would starve a fast line. */
const ROUND_TRIP_FLOOR_MS = 4;
const SAMPLE_LIFE_MS = 10_000;

interface Sent {
  /** Sum of bulk bytes sent up to the end of this frame. */
  upTo: number;
  sentMs: number;
  /** What was acknowledged when it was sent, and when that acknowledgement came. */
  ackedThen: number;
  ackedThenMs: number;
}

export class Pacing {
  private sentBytes = 0;
  private ackedBytes = 0;
  private ackedMs = 0;
  private readonly flight: Sent[] = [];
  private rates: { perSecond: number; atMs: number }[] = [];
  private roundTrips: { ms: number; atMs: number }[] = [];
  private isStarting = true;
  private startupBest = 0;
  private startupRounds = 0;
  private roundEnd = 0;

  /** Bytes per second, 0 while unknown. */
  get ratePerSecond(): number {
    return this.rates[0]?.perSecond ?? 0;
  }

  get roundTripMs(): number {
    return this.roundTrips[0]?.ms ?? 0;
  }

  get unacknowledgedBytes(): number {
    return this.sentBytes - this.ackedBytes;
  }

  get frameBytes(): number {
    const rate = this.ratePerSecond;
    if (rate === 0) return 4 * FRAME_BYTES_MIN;
    return Math.min(LIMITS.bulkFrameBytes, Math.max(FRAME_BYTES_MIN, Math.floor(rate * FRAME_SECONDS)));
  }

  get windowBytes(): number {
    const rate = this.ratePerSecond;
    if (rate === 0) return STARTUP_WINDOW_BYTES;
    const gain = this.isStarting ? STARTUP_GAIN : WINDOW_GAIN;
    const product = (rate * Math.max(this.roundTripMs, ROUND_TRIP_FLOOR_MS)) / 1000;
    return Math.max(gain * product, 2 * this.frameBytes);
  }

  get mayStart(): boolean {
    return this.unacknowledgedBytes < this.windowBytes;
  }

  sent(bytes: number, nowMs: number): void {
    if (this.flight.length === 0 && this.ackedMs === 0) this.ackedMs = nowMs;
    // After a pause the time since the last acknowledgement says nothing about the line.
    const since = this.flight.length === 0 ? nowMs : this.ackedMs;
    this.sentBytes += bytes;
    this.flight.push({ upTo: this.sentBytes, sentMs: nowMs, ackedThen: this.ackedBytes, ackedThenMs: since });
  }

  /** `total`: the peer's count of all bulk bytes received. Returns false for a count that cannot be. */
  acknowledged(total: number, nowMs: number): boolean {
    if (total < this.ackedBytes || total > this.sentBytes) return false;
    this.ackedBytes = total;
    this.ackedMs = nowMs;
    let last: Sent | undefined;
    while (this.flight[0] !== undefined && this.flight[0].upTo <= total) last = this.flight.shift();
    if (last === undefined) return true;
    keepSmallest(this.roundTrips, { ms: nowMs - last.sentMs, atMs: nowMs });
    const spanMs = nowMs - last.ackedThenMs;
    if (spanMs > 0) keepLargest(this.rates, { perSecond: ((total - last.ackedThen) * 1000) / spanMs, atMs: nowMs });
    if (this.isStarting && total >= this.roundEnd) this.endRound();
    return true;
  }

  private endRound(): void {
    this.roundEnd = this.sentBytes;
    if (this.ratePerSecond > this.startupBest * GROWTH) {
      this.startupBest = this.ratePerSecond;
      this.startupRounds = 0;
    } else if (++this.startupRounds >= STARTUP_ROUNDS) {
      this.isStarting = false;
    }
  }
}

/** Sliding maximum: the first element is the largest of the last SAMPLE_LIFE_MS. */
function keepLargest(samples: { perSecond: number; atMs: number }[], sample: { perSecond: number; atMs: number }): void {
  while (samples.length > 0 && (samples.at(-1)?.perSecond ?? 0) <= sample.perSecond) samples.pop();
  samples.push(sample);
  while (samples.length > 1 && (samples[0]?.atMs ?? 0) < sample.atMs - SAMPLE_LIFE_MS) samples.shift();
}

function keepSmallest(samples: { ms: number; atMs: number }[], sample: { ms: number; atMs: number }): void {
  while (samples.length > 0 && (samples.at(-1)?.ms ?? 0) >= sample.ms) samples.pop();
  samples.push(sample);
  while (samples.length > 1 && (samples[0]?.atMs ?? 0) < sample.atMs - SAMPLE_LIFE_MS) samples.shift();
}
