// Limits how much bulk may be under way: at most 1.5 × rate × round trip unacknowledged, in frames of at most 20 ms of
// the measured rate, so that a control frame never waits behind more than that. Rate and round trip are estimated from
// acknowledgements as in BBR (Cardwell et al., 2016): the largest delivery rate and the smallest round trip seen
// lately. A frame sent on an idle line measures the round trip; a transfer that leaves no gap keeps a queue in the line
// and would measure that with it, ever more, so it pauses for one round trip in SAMPLE_LIFE_MS. Pure: times are given.
import { LIMITS } from "../limits.ts";

const FRAME_BYTES_MIN = 1024;
const STARTUP_FRAME_BYTES = 4 * 1024;
const FRAME_SECONDS = 0.02;
const WINDOW_GAIN = 1.5;
/**
 * While the rate still grows from acknowledgement to acknowledgement: doubling per round trip needs 2/ln 2 (BBR's
 * startup gain).
 */
const STARTUP_GAIN = 2.885;
const STARTUP_WINDOW_BYTES = 32 * 1024;
/** The server keeps what it has not read. */
const WINDOW_BYTES_MAX = 8 * 1024 * 1024;
const GROWTH = 1.25;
const STARTUP_ROUNDS = 3;
/** A round trip below this is event-loop noise; counting it would starve a fast line. */
const ROUND_TRIP_FLOOR_MS = 4;
const SAMPLE_LIFE_MS = 10_000;
/** Until bulk has measured it with nothing else under way. */
const ANSWER_LIFE_MS = 1.5 * SAMPLE_LIFE_MS;

interface Sent {
  /** Sum of bulk bytes sent up to the end of this frame. */
  upTo: number;
  sentMs: number;
  /** Bytes that were acknowledged when it was sent, and when that acknowledgement came. */
  ackedThen: number;
  ackedThenMs: number;
  /** When the last frame was sent that had been acknowledged by then. */
  ackedSentThenMs: number;
  /** Nothing was under way before it: its round trip has no queue of ours in it. */
  isAlone: boolean;
}

export class Pacing {
  private sentBytes = 0;
  private ackedBytes = 0;
  private ackedMs = 0;
  private ackedSentMs = 0;
  private readonly flight: Sent[] = [];
  private rates: { perSecond: number; atMs: number }[] = [];
  private roundTrip: { ms: number; atMs: number } | undefined;
  private answer: { ms: number; atMs: number } | undefined;
  /** Time of the latest event that was passed in. */
  private nowMs = 0;
  /** Waiting for the line to be empty, then for the one small frame that measures the round trip. */
  private isProbing = false;
  private isStarting = true;
  private startupBest = 0;
  private startupRounds = 0;
  private roundEnd = 0;

  /** Bytes per second, 0 while unknown. */
  get ratePerSecond(): number {
    return this.rates[0]?.perSecond ?? 0;
  }

  get roundTripMs(): number {
    const { roundTrip, answer } = this;
    if (answer === undefined || this.nowMs - answer.atMs > ANSWER_LIFE_MS) return roundTrip?.ms ?? 0;
    return Math.min(roundTrip?.ms ?? Infinity, answer.ms);
  }

  get unacknowledgedBytes(): number {
    return this.sentBytes - this.ackedBytes;
  }

  get frameBytes(): number {
    const rate = this.ratePerSecond;
    // The first frame, and the one that probes, are small: they measure the round trip and not themselves.
    if (this.sentBytes === 0 || this.isProbing) return FRAME_BYTES_MIN;
    if (rate === 0) return STARTUP_FRAME_BYTES;
    return Math.min(LIMITS.bulkFrameBytes, Math.max(FRAME_BYTES_MIN, Math.floor(rate * FRAME_SECONDS)));
  }

  get windowBytes(): number {
    const rate = this.ratePerSecond;
    if (rate === 0) return STARTUP_WINDOW_BYTES;
    const gain = this.isStarting ? STARTUP_GAIN : WINDOW_GAIN;
    const product = (rate * Math.max(this.roundTripMs, ROUND_TRIP_FLOOR_MS)) / 1000;
    return Math.min(WINDOW_BYTES_MAX, Math.max(gain * product, 2 * this.frameBytes));
  }

  get mayStart(): boolean {
    if (this.isProbing) return this.unacknowledgedBytes === 0;
    return this.unacknowledgedBytes < this.windowBytes;
  }

  sent(bytes: number, nowMs: number): void {
    this.nowMs = nowMs;
    const isAlone = this.flight.length === 0;
    // After a pause the time since the last acknowledgement says nothing about the line.
    if (isAlone) this.ackedMs = this.ackedSentMs = nowMs;
    this.sentBytes += bytes;
    this.flight.push({
      upTo: this.sentBytes,
      sentMs: nowMs,
      ackedThen: this.ackedBytes,
      ackedThenMs: this.ackedMs,
      ackedSentThenMs: this.ackedSentMs,
      isAlone,
    });
  }

  /** `total`: the peer's count of all bulk bytes received. Returns false for a count that cannot be. */
  acknowledged(total: number, nowMs: number): boolean {
    if (total < this.ackedBytes || total > this.sentBytes) return false;
    this.nowMs = nowMs;
    this.ackedBytes = total;
    this.ackedMs = nowMs;
    let last: Sent | undefined;
    let alone: Sent | undefined;
    while (this.flight[0] !== undefined && this.flight[0].upTo <= total) {
      last = this.flight.shift();
      if (last?.isAlone === true) alone = last;
    }
    if (last === undefined) return true;
    this.ackedSentMs = last.sentMs;
    this.measureRoundTrip(last, alone, nowMs);
    // Acknowledgements that waited for a busy program come close upon each other: nothing arrives faster than it was
    // sent.
    const spanMs = Math.max(nowMs - last.ackedThenMs, last.sentMs - last.ackedSentThenMs);
    if (spanMs > 0) keepLargest(this.rates, { perSecond: ((total - last.ackedThen) * 1000) / spanMs, atMs: nowMs });
    if (this.isStarting && total >= this.roundEnd) this.endRound();
    return true;
  }

  /**
   * A request was answered within so long: the round trip is no longer, whatever lay on the line before the first frame
   * of bulk.
   */
  answeredWithin(ms: number, nowMs: number): void {
    const { answer } = this;
    if (answer === undefined || nowMs - answer.atMs > ANSWER_LIFE_MS || ms <= answer.ms)
      this.answer = { ms, atMs: nowMs };
  }

  private measureRoundTrip(last: Sent, alone: Sent | undefined, nowMs: number): void {
    const isOld = this.roundTrip !== undefined && nowMs - this.roundTrip.atMs > SAMPLE_LIFE_MS;
    const ms = nowMs - (alone ?? last).sentMs;
    if (this.roundTrip === undefined || ms <= this.roundTrip.ms || (alone !== undefined && (isOld || this.isProbing))) {
      this.roundTrip = { ms, atMs: nowMs };
      this.isProbing = false;
    } else if (isOld) {
      this.isProbing = true;
    }
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
function keepLargest(
  samples: { perSecond: number; atMs: number }[],
  sample: { perSecond: number; atMs: number },
): void {
  while (samples.length > 0 && (samples.at(-1)?.perSecond ?? 0) <= sample.perSecond) samples.pop();
  samples.push(sample);
  while (samples.length > 1 && (samples[0]?.atMs ?? 0) < sample.atMs - SAMPLE_LIFE_MS) samples.shift();
}
