// Tickets: tokens that are good once and for a minute, each for what it was issued for.
import type { Clock, Timer } from "../host/clock.ts";
import { PAGE_LIMITS } from "./page-limits.ts";
import { TokenTable } from "./tokens.ts";

interface Ticket<T> {
  value: T;
  timer: Timer;
  ended: (() => void) | undefined;
}

export class Tickets<T> {
  readonly #clock: Clock;
  readonly #table = new TokenTable<Ticket<T>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Issues one; `ended` is called once, when it is used or void. */
  issue(value: T, ended?: () => void): string {
    const [oldest] = this.#table.values;
    if (oldest !== undefined && this.#table.values.length >= PAGE_LIMITS.tickets) this.#end(oldest);
    const ticket: Ticket<T> = {
      value,
      timer: this.#clock.after(PAGE_LIMITS.ticketMs, () => this.#end(ticket)),
      ended,
    };
    return this.#table.add(ticket);
  }

  /** Uses a ticket up. @returns undefined when there is none, or no longer. */
  redeem(token: string): T | undefined {
    const ticket = this.#table.find(token);
    if (ticket !== undefined) this.#end(ticket);
    return ticket?.value;
  }

  voidAll(): void {
    for (const ticket of this.#table.values) this.#end(ticket);
  }

  #end(ticket: Ticket<T>): void {
    ticket.timer.cancel();
    this.#table.delete(ticket);
    ticket.ended?.();
  }
}
