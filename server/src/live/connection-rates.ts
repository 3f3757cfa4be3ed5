// Rates of connections, from two looks at their counts: nothing is done for a connection that nobody looks at.
import type { Clock } from "@runnel/shared";
import type { Carried } from "./traffic.ts";

/** Looks that come sooner get the rate of before. */
const SAMPLE_MS = 500;
/** A count from longer ago says nothing of now. */
const LATELY_MS = 30_000;

export interface Rates {
  sentPerSecond: number | null;
  receivedPerSecond: number | null;
}

interface Sample extends Carried {
  atMs: number;
  rates: Rates;
}

const UNKNOWN: Rates = { sentPerSecond: null, receivedPerSecond: null };

export class ConnectionRates {
  readonly #clock: Clock;
  readonly #samples = new WeakMap<object, Sample>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the rates since the look before. */
  of(connection: { readonly carried: Carried }): Rates {
    const atMs = this.#clock.bootMs();
    const before = this.#samples.get(connection);
    const elapsedMs = before === undefined ? Infinity : atMs - before.atMs;
    if (before !== undefined && elapsedMs < SAMPLE_MS) return before.rates;
    const { carried } = connection;
    const perSecond = (now: number, then: number): number => Math.round(((now - then) * 1000) / elapsedMs);
    const rates =
      before === undefined || elapsedMs > LATELY_MS
        ? UNKNOWN
        : {
            sentPerSecond: perSecond(carried.sentBytes, before.sentBytes),
            receivedPerSecond: perSecond(carried.receivedBytes, before.receivedBytes),
          };
    this.#samples.set(connection, { ...carried, atMs, rates });
    return rates;
  }
}
