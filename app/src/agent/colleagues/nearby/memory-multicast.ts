// A link in memory, for tests: all who have a line on it hear each other.
import type { Multicast, MulticastEvents } from "./multicast.ts";
import type { NearbyMessage } from "./nearby-messages.ts";

export class MemoryMulticast {
  readonly said: NearbyMessage[] = [];
  readonly #lines = new Map<MulticastEvents, string>();

  get lines(): number {
    return this.#lines.size;
  }

  /** Multicast of a machine that has this address. */
  at(address: string): Multicast {
    return (events) => {
      this.#lines.set(events, address);
      return {
        say: (message) => {
          this.said.push(message);
          this.say(message, address);
        },
        close: async () => void this.#lines.delete(events),
      };
    };
  }

  /** Somebody says something to all. */
  say(message: unknown, address: string): void {
    for (const events of this.#lines.keys())
      queueMicrotask(() => this.#lines.has(events) && events.heard(message, address));
  }

  /** A link comes up at all machines. */
  join(): void {
    for (const events of this.#lines.keys()) events.joined();
  }
}
