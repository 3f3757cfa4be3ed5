// Devices on the links of this machine, as they say by mDNS: a hint only. It tells a further address of a device whose
// key the server has named; nobody is asked for anything because of what is heard here. Shared by all drives of the
// agent, and silent while none wants colleagues of its network.
import { type Clock, LIMITS, RecentMap, type Timer } from "@runnel/shared";
import type { Multicast, MulticastLine } from "./multicast.ts";
import { type NearbyPlace, nearbyAnswer, nearbyQuestion, readNearby } from "./nearby-messages.ts";

/** A device that was not heard for so long is forgotten. */
const KNOWN_MS = 120_000;
const SECOND_MS = 1_000;

export interface NearbyAddress {
  address: string;
  port: number;
}

interface Heard {
  addresses: RecentMap<string, NearbyAddress>;
  untilMs: number;
}

export interface NearbyDeps {
  clock: Clock;
  multicast: Multicast;
}

export class Nearby {
  readonly #deps: NearbyDeps;
  readonly #users = new Set<object>();
  readonly #heard = new RecentMap<string, Heard>(LIMITS.nearbyDevices);
  readonly #waiting = new Map<string, Set<() => void>>();
  #own: NearbyPlace | undefined;
  #line: MulticastLine | undefined;
  readonly #asking: OncePerSecond;
  readonly #telling: OncePerSecond;
  #read = { second: -1, messages: 0 };

  constructor(deps: NearbyDeps) {
    this.#deps = deps;
    this.#asking = new OncePerSecond(deps.clock, () => this.#line?.say(nearbyQuestion()));
    this.#telling = new OncePerSecond(deps.clock, () => {
      if (this.#own !== undefined) this.#line?.say(nearbyAnswer(this.#own));
    });
  }

  /** Says where this device listens, and hears others, for as long as a drive wants that. */
  open(user: object, own: NearbyPlace): void {
    this.#users.add(user);
    const isNews = this.#own?.key !== own.key || this.#own.port !== own.port;
    this.#own = own;
    if (this.#line === undefined) {
      this.#line = this.#deps.multicast({
        heard: (message, address) => this.#hear(message, address),
        joined: () => this.#greet(),
      });
      this.#greet();
    } else if (isNews) this.#telling.soon();
  }

  /** Resolves when nothing is said or heard any more, unless another drive wants it. */
  async close(user: object): Promise<void> {
    if (!this.#users.delete(user) || this.#users.size > 0) return;
    const line = this.#line;
    if (this.#own !== undefined) line?.say(nearbyAnswer(this.#own, true));
    this.#line = undefined;
    this.#own = undefined;
    for (const saying of [this.#asking, this.#telling]) saying.stop();
    this.#heard.clear();
    await line?.close();
  }

  /** Resolves to where a device of this key says to be, when it says so; to nothing once `signal` has ended it. */
  async find(key: string, signal: AbortSignal): Promise<NearbyAddress[]> {
    while (!signal.aborted && this.#line !== undefined) {
      const known = this.#heard.get(key);
      if (known !== undefined && known.untilMs > this.#deps.clock.bootMs()) return [...known.addresses.values()];
      this.#asking.soon();
      await this.#news(key, signal);
    }
    return [];
  }

  #greet(): void {
    this.#telling.soon();
    this.#asking.soon();
  }

  async #news(key: string, signal: AbortSignal): Promise<void> {
    const { promise, resolve: end } = Promise.withResolvers<void>();
    const resolve = (): void => end();
    const waiting = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, waiting.add(resolve));
    signal.addEventListener("abort", resolve, { once: true });
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", resolve);
      waiting.delete(resolve);
      if (waiting.size === 0) this.#waiting.delete(key);
    }
  }

  #hear(message: unknown, address: string): void {
    if (this.#line === undefined || !this.#mayRead()) return;
    const { asks, told } = readNearby(message);
    if (asks) this.#telling.soon();
    for (const { key, port } of told) {
      if (key === this.#own?.key) continue;
      const { addresses } = this.#heard.get(key) ?? { addresses: new RecentMap(LIMITS.nearbyAddresses) };
      addresses.set(`${address} ${port}`, { address, port });
      this.#heard.set(key, { addresses, untilMs: this.#deps.clock.bootMs() + KNOWN_MS });
      for (const resolve of this.#waiting.get(key) ?? []) resolve();
    }
  }

  #mayRead(): boolean {
    const second = Math.floor(this.#deps.clock.bootMs() / SECOND_MS);
    if (second !== this.#read.second) this.#read = { second, messages: 0 };
    return ++this.#read.messages <= LIMITS.nearbyMessages;
  }
}

/** Says something at once, but not twice in a second (RFC 6762 §6): what is asked for meanwhile is said after it. */
class OncePerSecond {
  readonly #clock: Clock;
  readonly #say: () => void;
  #rest: Timer | undefined;
  #isDue = false;

  constructor(clock: Clock, say: () => void) {
    this.#clock = clock;
    this.#say = say;
  }

  soon(): void {
    if (this.#rest !== undefined) {
      this.#isDue = true;
      return;
    }
    this.#rest = this.#clock.after(SECOND_MS, () => {
      this.#rest = undefined;
      if (!this.#isDue) return;
      this.#isDue = false;
      this.soon();
    });
    this.#say();
  }

  stop(): void {
    this.#rest?.cancel();
    this.#rest = undefined;
    this.#isDue = false;
  }
}
