// A direction of an emulated link: when each byte that enters comes out, and how much is inside. Pure arithmetic on
// milliseconds that the caller reads from a clock.
import { type DirectionCounts, queueBytesOf } from "./link-emulator.ts";

/** A segment is cut so that no piece takes longer than this to send: pieces come out as they would from a router. */
const PIECE_MS = 5;
/** TCP payload of an Ethernet frame: smaller pieces would be pointless. */
const PIECE_BYTES_MIN = 1460;

export class LinkDirection {
  readonly counts: DirectionCounts = { sentBytes: 0, deliveredBytes: 0, turnarounds: 0 };
  /** Bytes taken and not yet delivered. */
  queuedBytes = 0;
  #bitsPerSecond = Infinity;
  #rttMs = 0;
  /** When the last byte that was taken has left. */
  #sentUntilMs = 0;
  /** Bytes come out in the order they went in, also when the delay was shortened meanwhile. */
  #lastOutMs = 0;

  setShape(bitsPerSecond: number, rttMs: number): void {
    this.#bitsPerSecond = bitsPerSecond;
    this.#rttMs = rttMs;
  }

  get isFull(): boolean {
    return this.queuedBytes > queueBytesOf(this.#bitsPerSecond, this.#rttMs);
  }

  get pieceBytes(): number {
    return Math.max(PIECE_BYTES_MIN, Math.floor((this.#bitsPerSecond / 8) * (PIECE_MS / 1000)));
  }

  /**
   * Takes bytes that reach the link now, or once its connection is open; returns when they come out at the other end.
   */
  take(bytes: number, nowMs: number, openMs: number): number {
    this.counts.sentBytes += bytes;
    this.queuedBytes += bytes;
    const startMs = Math.max(nowMs, openMs, this.#sentUntilMs);
    this.#sentUntilMs = startMs + (bytes * 8000) / this.#bitsPerSecond;
    this.#lastOutMs = Math.max(this.#lastOutMs, this.#sentUntilMs + this.#rttMs / 2);
    return this.#lastOutMs;
  }

  deliver(bytes: number): void {
    this.counts.deliveredBytes += bytes;
    this.queuedBytes -= bytes;
  }

  /** Bytes that will never be delivered. */
  drop(bytes: number): void {
    this.queuedBytes -= bytes;
    // With nothing left inside, the link is free at once.
    if (this.queuedBytes === 0) this.#sentUntilMs = this.#lastOutMs = 0;
  }

  resetCounts(): void {
    Object.assign(this.counts, { sentBytes: 0, deliveredBytes: 0, turnarounds: 0 });
  }
}
