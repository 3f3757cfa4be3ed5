// Devices that cost writers one lease term after another [W18] [W174]: the time for which changes wait for a device
// counts for it, whatever instances it calls itself. A slow line costs its round trip at each change, for ever, and
// nobody can tell it from a device that makes itself slow: so what is acknowledged as soon as such a line may does not
// count.
import { TIMING } from "@runnel/shared";

/**
 * Terms of waiting within ten after which a device is not waited for: the one that it has been given by then is the
 * third. The tenth part is for sums that round.
 */
const WAITED_TERMS_MAX = 2.1;
/** Part of a term within which any line may acknowledge, and the least time for it, however short the term. */
const PROMPT_TERMS = 1 / 4;
const PROMPT_MS_MIN = TIMING.silenceMs;
/** Round trips within which a line may that said how slow it is: what goes both ways queues on it. */
const PROMPT_ROUND_TRIPS = 2;
/** Time that a change takes, with others, on a narrow line: some hundred bytes at 100 kbit/s. */
const CHANGE_MS = 10;

/** Time for which a change waited, on the boot clock, and the term of the lease that it waited for. */
export interface Waited {
  fromMs: number;
  toMs: number;
  termMs: number;
}

interface Slow {
  sinceMs: number;
  /** Up to then its waiting is counted: changes that wait at the same time count once. */
  countedToMs: number;
  /** Waiting, in terms. */
  terms: number;
}

/** Returns the time within which acknowledging is as prompt as the line allows. */
export function promptMs(termMs: number, roundTripMs: number): number {
  return Math.max(PROMPT_MS_MIN, termMs * PROMPT_TERMS, roundTripMs * PROMPT_ROUND_TRIPS);
}

/** Tells whether so many changes at once wait for longer than a line makes them. */
export function isLate(waitedMs: number, changes: number, afterMs: number): boolean {
  return waitedMs > afterMs + changes * CHANGE_MS;
}

export class SlowDevices {
  readonly #lastsMs: number;
  readonly #slow = new Map<string, Slow>();

  constructor(termMs: number) {
    this.#lastsMs = TIMING.probationTerms * termMs;
  }

  /** Somebody's change waited for the device, or waits still. `device`: "" where devices are not told apart. */
  waited(device: string, waited: Waited): void {
    this.#count(device, waited, 0);
  }

  /** A lease of the device has run out, and a change waited for it: that counts as a whole term. */
  ranOut(device: string, waited: Waited): void {
    const { fromMs, toMs, termMs } = waited;
    this.#count(device, waited, Math.max(0, termMs - (toMs - fromMs)));
  }

  mayHoldLease(device: string, nowMs: number): boolean {
    return (this.#now(device, nowMs)?.terms ?? 0) <= WAITED_TERMS_MAX;
  }

  #count(device: string, { fromMs, toMs, termMs }: Waited, moreMs: number): void {
    if (device === "") return;
    const before = this.#now(device, toMs);
    const waitedMs = Math.max(0, toMs - Math.max(fromMs, before?.countedToMs ?? fromMs));
    // No lease is waited for longer, but on a server that slept meanwhile.
    const terms = (before?.terms ?? 0) + Math.min(termMs, waitedMs + moreMs) / termMs;
    // Once it is too much, the time begins anew with each.
    const sinceMs = before === undefined || terms > WAITED_TERMS_MAX ? toMs : before.sinceMs;
    this.#slow.set(device, { sinceMs, countedToMs: toMs, terms });
  }

  #now(device: string, nowMs: number): Slow | undefined {
    const slow = this.#slow.get(device);
    if (slow === undefined || nowMs < slow.sinceMs + this.#lastsMs) return slow;
    this.#slow.delete(device);
    return undefined;
  }
}
