// Two ends of a simulated line: messages arrive in order, late, at the rate of the line, or not before a black hole
// ends.
import type { Clock } from "../clock.ts";
import { LinkInbox } from "../link-inbox.ts";
import type { Link, LinkEvents } from "../link.ts";
import type { SeededRandom } from "./seeded-random.ts";

/** Conditions of a line at the moment; read anew for each message. */
export interface LineConditions {
  /** Delay in one direction. */
  delayMs: number;
  /** Up to so much is added to the delay by chance; order is kept. */
  jitterMs: number;
  /** Each way, for each link. */
  bytesPerSecond: number;
  /** Nothing arrives; what was sent meanwhile arrives when it is over, as TCP would have it. */
  isBlackHole: boolean;
}

interface Closing {
  code: number;
  reason: string;
}

const CLOSE_BROKEN = 1006;
const CLOSE_FRAME_BYTES = 4;
const MASK_BYTES = 4;

export class SimulatedLink implements Link {
  readonly #clock: Clock;
  readonly #random: SeededRandom;
  readonly #conditions: LineConditions;
  /** Only the dialing side masks its frames. */
  readonly #maskBytes: number;
  readonly #inbox = new LinkInbox();
  #peer: SimulatedLink | undefined;
  #isCut = false;
  /** When the line has taken all that was sent so far, and when it will have arrived. */
  #takenAtMs = 0;
  #arrivedAtMs = 0;
  /** The other end is gone: what it had sent comes later. */
  #isLate = false;
  /** Messages that came in while nothing arrives. */
  readonly #held: { content: Uint8Array | Closing; bytes: number }[] = [];
  bufferedBytes = 0;
  sentBytes = 0;
  receivedBytes = 0;
  readonly remoteAddress = "";
  #receivedMax = Infinity;

  private constructor(clock: Clock, random: SeededRandom, conditions: LineConditions, maskBytes: number) {
    this.#clock = clock;
    this.#random = random;
    this.#conditions = conditions;
    this.#maskBytes = maskBytes;
  }

  /** The dialing and the accepting end. `back`: for what the accepting end sends. */
  static pair(
    clock: Clock,
    random: SeededRandom,
    conditions: LineConditions,
    back = conditions,
  ): [SimulatedLink, SimulatedLink] {
    const dialing = new SimulatedLink(clock, random, conditions, MASK_BYTES);
    const accepting = new SimulatedLink(clock, random, back, 0);
    dialing.#peer = accepting;
    accepting.#peer = dialing;
    return [dialing, accepting];
  }

  get isEnded(): boolean {
    return this.#inbox.isEnded;
  }

  listen(events: LinkEvents): void {
    this.#inbox.listen(events);
  }

  limit(bytes: number | undefined): void {
    this.#receivedMax = bytes === undefined ? Infinity : this.receivedBytes + bytes;
  }

  send(payload: Uint8Array): void {
    if (!this.#inbox.isEnded) this.#carry(payload, payload.length);
  }

  sendParts(head: Uint8Array, body: Uint8Array, gone: () => void): void {
    this.send(Buffer.concat([head, body]));
    gone();
  }

  close(code: number, reason: string): void {
    if (this.#inbox.isEnded) return;
    this.#carry({ code, reason }, CLOSE_FRAME_BYTES);
    this.#inbox.discard();
    this.#inbox.end(code, reason);
  }

  /** The line breaks: what is under way is lost, and both ends are told. */
  cut(): void {
    for (const end of [this, this.#peer]) {
      if (end === undefined || end.#isCut) continue;
      end.#isCut = true;
      end.bufferedBytes = 0;
      end.#held.length = 0;
      end.#inbox.end(CLOSE_BROKEN, "The line broke.");
    }
  }

  /**
   * The line breaks, and only this end is told. What it had sent stays under way until the function is called that this
   * returns: it arrives then, perhaps behind what a newer link has brought, and the other end is told.
   */
  lose(): () => void {
    const peer = this.#peer;
    this.#isCut = true;
    this.bufferedBytes = 0;
    this.#held.length = 0;
    this.#inbox.end(CLOSE_BROKEN, "The line broke.");
    if (peer === undefined) return () => undefined;
    peer.#isLate = true;
    return () => {
      peer.#takeHeld();
      peer.cut();
    };
  }

  /** A black hole is over, for both ends. */
  release(): void {
    for (const end of [this, this.#peer]) {
      if (end === undefined || end.#isLate) continue;
      end.#takeHeld();
    }
  }

  #takeHeld(): void {
    for (const { content, bytes } of this.#held.splice(0)) this.#take(content, bytes);
  }

  #carry(content: Uint8Array | Closing, length: number): void {
    if (this.#isCut) return;
    const { delayMs, jitterMs, bytesPerSecond } = this.#conditions;
    const nowMs = this.#clock.bootMs();
    const bytes = frameBytes(length) + this.#maskBytes;
    this.#takenAtMs = Math.max(this.#takenAtMs, nowMs) + (bytes / bytesPerSecond) * 1000;
    this.#arrivedAtMs = Math.max(this.#arrivedAtMs, this.#takenAtMs + delayMs + jitterMs * this.#random.next());
    this.sentBytes += bytes;
    this.bufferedBytes += length;
    this.#clock.after(this.#takenAtMs - nowMs, () => {
      if (!this.#isCut) this.bufferedBytes -= length;
    });
    this.#clock.after(this.#arrivedAtMs - nowMs, () => {
      if (this.#peer !== undefined) this.#peer.#arrive(content, bytes);
    });
  }

  #arrive(content: Uint8Array | Closing, bytes: number): void {
    if (this.#isCut) return;
    if (this.#conditions.isBlackHole || this.#isLate || this.#held.length > 0) this.#held.push({ content, bytes });
    else this.#take(content, bytes);
  }

  #take(content: Uint8Array | Closing, bytes: number): void {
    this.receivedBytes += bytes;
    if (this.receivedBytes > this.#receivedMax) {
      this.cut();
      return;
    }
    if (content instanceof Uint8Array) this.#inbox.put(content);
    else this.#inbox.end(content.code, content.reason);
  }
}

/** A WebSocket frame without its mask (RFC 6455 §5.2). */
function frameBytes(length: number): number {
  if (length < 126) return 2 + length;
  return (length < 65_536 ? 4 : 10) + length;
}
