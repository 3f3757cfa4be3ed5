// Counts the items of a write that the server has not yet said to have accepted (W35). It holds those in memory, so
// only so much is sent ahead.
import { ACCEPTED_BYTES, ACCEPTED_STEP } from "@runnel/shared";

const ITEMS_MAX = 2 * ACCEPTED_STEP;
const BYTES_MAX = 4 * ACCEPTED_BYTES;

export class Unaccepted {
  /** Items that it has accepted, from the beginning of the write. */
  #acceptedItems: number;
  /** Bytes in each item sent after them, in order. */
  readonly #sizes: number[] = [];
  #bytes = 0;

  /** `acceptedItems`: those before the first that is sent. */
  constructor(acceptedItems: number) {
    this.#acceptedItems = acceptedItems;
  }

  get mustWait(): boolean {
    return this.#sizes.length >= ITEMS_MAX || this.#bytes >= BYTES_MAX;
  }

  sent(bytes: number): void {
    this.#sizes.push(bytes);
    this.#bytes += bytes;
  }

  /** Notes that the server has accepted so many from the beginning. */
  accepted(items: number): void {
    for (const bytes of this.#sizes.splice(0, Math.max(0, items - this.#acceptedItems))) this.#bytes -= bytes;
    this.#acceptedItems = Math.max(this.#acceptedItems, items);
  }
}
