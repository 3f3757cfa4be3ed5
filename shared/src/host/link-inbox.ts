// Keeps what came over a link until somebody listens, in order; delivers `closed` once and nothing after it. Every
// engine of Link has one.
import type { LinkEvents } from "./link.ts";

type Arrival = Uint8Array | { code: number; reason: string };

export class LinkInbox {
  #events: LinkEvents | undefined;
  #isEnded = false;
  /** Arrivals before the receiver was set, and those behind them. */
  #waiting: Arrival[] = [];

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Delivers what waits in a later microtask, so that the caller can finish setting itself up. */
  listen(events: LinkEvents): void {
    this.#events = events;
    queueMicrotask(() => this.#deliver());
  }

  put(payload: Uint8Array): void {
    if (this.#isEnded) return;
    this.#waiting.push(payload);
    if (this.#events !== undefined && this.#waiting.length === 1) this.#deliver();
  }

  /** Ends the inbox: messages that wait for a receiver are still delivered, then `closed`; later ones are dropped. */
  end(code: number, reason: string): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#waiting.push({ code, reason });
    if (this.#events !== undefined) queueMicrotask(() => this.#deliver());
  }

  /** Drops what waits: the local side has closed. */
  discard(): void {
    this.#waiting = this.#waiting.filter((arrival) => !(arrival instanceof Uint8Array));
  }

  #deliver(): void {
    const events = this.#events;
    if (events === undefined) return;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      if (next instanceof Uint8Array) events.message(next);
      else events.closed(next.code, next.reason);
    }
  }
}
