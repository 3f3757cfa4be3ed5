// The items of a small write, gathered before its channel is opened: when they are few bytes, they go in the opening
// frame, and a small file is one frame.
import type { Channel } from "@runnel/shared";

/** The channel that a write sends its items to, or what stands for it. */
export type ItemSink = Pick<Channel, "send" | "sendBulk">;

/** More would keep other control messages of a narrow line waiting: it goes as bulk. */
const OPENING_BYTES = 16 * 1024;

export class EarlyItems implements ItemSink {
  readonly #gathered: ({ item: readonly unknown[] } | { bulk: Uint8Array })[] = [];
  #bytes = 0;
  #hasBulk = false;

  /** Bytes in it are copied: their memory is used again. */
  send(item: readonly unknown[]): void {
    const own = item.map((part) => (part instanceof Uint8Array ? part.slice() : part));
    for (const part of own) if (part instanceof Uint8Array) this.#bytes += part.length;
    this.#gathered.push({ item: own });
  }

  async sendBulk(bytes: Uint8Array): Promise<void> {
    this.#hasBulk = true;
    this.#gathered.push({ bulk: bytes.slice() });
  }

  /** The items of the opening frame. @returns undefined when they are too much for it. */
  get forOpening(): readonly unknown[] | undefined {
    if (this.#hasBulk || this.#bytes > OPENING_BYTES) return undefined;
    return this.#gathered.flatMap((one) => ("item" in one ? [one.item] : []));
  }

  /** Sends them on the channel, if they did not go with its opening. */
  async sendOn(channel: ItemSink): Promise<void> {
    for (const one of this.#gathered) {
      if ("item" in one) channel.send(one.item);
      else await channel.sendBulk(one.bulk);
    }
  }
}
