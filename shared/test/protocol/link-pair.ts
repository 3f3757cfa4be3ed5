// Two ends of a line in memory: each direction has a rate and a delay on a simulated clock, and keeps what it carried for the test to see.
import type { Clock } from "../../src/host/clock.ts";
import type { Link, LinkEvents } from "../../src/host/link.ts";
import { LinkInbox } from "../../src/host/link-inbox.ts";

export interface Line {
  clock: Clock;
  /** Bytes per second; Infinity: at once. */
  ratePerSecond: number;
  /** One way. */
  delayMs: number;
}

export interface Carried {
  atMs: number;
  bytes: Uint8Array;
}

export class PairedLink implements Link {
  sentBytes = 0;
  receivedBytes = 0;
  bufferedBytes = 0;
  /** All that was sent here, when it left the program. */
  readonly carried: Carried[] = [];
  readonly #inbox = new LinkInbox();
  readonly #line: Line;
  #freeMs = 0;
  #isClosed = false;
  other!: PairedLink;
  closings: { code: number; reason: string }[] = [];

  constructor(line: Line) {
    this.#line = line;
  }

  listen(events: LinkEvents): void {
    this.#inbox.listen({
      message: (payload) => events.message(payload),
      closed: (code, reason) => {
        this.closings.push({ code, reason });
        events.closed(code, reason);
      },
    });
  }

  send(payload: Uint8Array): void {
    if (this.#isClosed) return;
    const { clock, ratePerSecond, delayMs } = this.#line;
    const nowMs = clock.bootMs();
    this.sentBytes += payload.length;
    this.bufferedBytes += payload.length;
    this.carried.push({ atMs: nowMs, bytes: payload });
    this.#freeMs = Math.max(this.#freeMs, nowMs) + (payload.length * 1000) / ratePerSecond;
    const arrive = (): void => {
      this.bufferedBytes -= payload.length;
      this.other.receivedBytes += payload.length;
      this.other.#inbox.put(new Uint8Array(payload));
    };
    if (this.#freeMs + delayMs <= nowMs) queueMicrotask(arrive);
    else clock.after(this.#freeMs + delayMs - nowMs, arrive);
  }

  close(code: number, reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#inbox.discard();
    this.#inbox.end(code, reason);
    const { clock, delayMs } = this.#line;
    const end = (): void => this.other.#end(code, reason);
    if (delayMs === 0) queueMicrotask(end);
    else clock.after(Math.max(0, this.#freeMs - clock.bootMs()) + delayMs, end);
  }

  /** The line is cut: both ends hear of it. */
  cut(): void {
    for (const end of [this, this.other]) end.#end(1006, "");
  }

  #end(code: number, reason: string): void {
    this.#isClosed = true;
    this.#inbox.end(code, reason);
  }
}

export function linkPair(clock: Clock, ratePerSecond = Infinity, delayMs = 0): [PairedLink, PairedLink] {
  const line = { clock, ratePerSecond, delayMs };
  const [left, right] = [new PairedLink(line), new PairedLink(line)];
  left.other = right;
  right.other = left;
  return [left, right];
}
