// Limits wrong passwords of the console, by the network that they come from and by the name that they are for. Whoever
// tries somebody's name from many networks locks that person out of none where that person has signed in before.
import type { Clock } from "@runnel/shared";
import { FailedTries, RecentMap, RunnelError, networkOf } from "@runnel/shared";

export const SIGN_IN_TRIES = {
  network: { atOnce: 10, refillMs: 6_000 },
  name: { atOnce: 30, refillMs: 30_000 },
  /** Pairs of a name and a network where it has signed in; the oldest are forgotten. */
  known: 10_000,
} as const;

export class SignInTries {
  readonly #byNetwork: FailedTries;
  readonly #byName: FailedTries;
  /** Networks that a name may try from though others try it too. */
  readonly #known = new RecentMap<string, true>(SIGN_IN_TRIES.known);

  constructor(clock: Clock) {
    this.#byNetwork = new FailedTries(clock, SIGN_IN_TRIES.network);
    this.#byName = new FailedTries(clock, SIGN_IN_TRIES.name);
  }

  /** Milliseconds until a password may be tried; 0: now. */
  waitMs(name: string, address: string): number {
    const network = networkOf(address);
    const forNameMs = this.#known.get(pair(name, network)) ? 0 : this.#byName.waitMs(name);
    return Math.max(this.#byNetwork.waitMs(network), forNameMs);
  }

  /** Counts a try before it is known to fail: many at once are not looked at. @throws RunnelError Busy. */
  begin(name: string, address: string): void {
    const retryAfterMs = this.waitMs(name, address);
    if (retryAfterMs > 0) {
      const sentence = `Too many wrong passwords. Try again in ${Math.ceil(retryAfterMs / 1000)} seconds.`;
      throw new RunnelError("Busy", "sign in", sentence, { detail: { retryAfterMs } });
    }
    this.#byNetwork.failed(networkOf(address));
    this.#byName.failed(name);
  }

  /** The try that began last was none. */
  succeeded(name: string, address: string): void {
    this.#byNetwork.forgive(networkOf(address));
    this.#byName.forgive(name);
    this.#known.set(pair(name, networkOf(address)), true);
  }
}

function pair(name: string, network: string): string {
  return `${network} ${name}`;
}
