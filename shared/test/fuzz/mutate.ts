// Mistakes in an input: in its bytes, in the items of its CBOR, in the order of its messages; and parts of other inputs
// in place of its own.
import type { SeededRandom } from "../../src/host/simulated/seeded-random.ts";
import { encodeCbor } from "../../src/protocol/cbor.ts";
import { type CborItem, cborItems } from "./cbor-items.ts";
import { joinMessages, splitMessages } from "./message-list.ts";
import type { FuzzTarget } from "./target.ts";

const INPUT_BYTES_MAX = 64 * 1024;
const MISTAKES_MAX = 4;

/** Kinds and channels are small numbers. */
const HEAD_VALUES = 12;
const NUMBERS = [0, 1, 2, 3, 7, 8, 16, 23, 24, 64, 127, 128, 255, 256, 1000, 4096, 4097, 65_535, 65_536, 2 ** 20];
const LARGE = [2 ** 20 + 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 40, 2 ** 53 - 1, 2 ** 53, -1, -(2 ** 31)];
const TEXTS = ["", "a", ".", "..", "é".repeat(128), "x".repeat(256)];
const BYTES = [0, 32, 36, 5000].map((length) => new Uint8Array(length).fill(1));
const OTHERS = [
  0.5,
  Number.NaN,
  2n ** 63n - 1n,
  2n ** 64n - 1n,
  -(2n ** 63n),
  null,
  undefined,
  true,
  false,
  [],
  {},
  [[]],
];
const VALUES: readonly Uint8Array[] = [...NUMBERS, ...LARGE, ...TEXTS, ...BYTES, ...OTHERS].map(encodeCbor);

export class Mutator {
  readonly #random: SeededRandom;
  readonly #target: Pick<FuzzTarget, "structure" | "headBytes">;

  constructor(random: SeededRandom, target: Pick<FuzzTarget, "structure" | "headBytes">) {
    this.#random = random;
    this.#target = target;
  }

  /** A new input: `input` with one mistake to a few, some of them taken from `other`. */
  mutate(input: Uint8Array, other: Uint8Array): Uint8Array {
    let changed = input;
    for (let left = this.#random.coin() ? 1 : 1 + this.#random.below(MISTAKES_MAX); left > 0; left--)
      changed = this.#once(changed, other);
    return changed.length > INPUT_BYTES_MAX ? changed.slice(0, INPUT_BYTES_MAX) : changed;
  }

  #once(input: Uint8Array, other: Uint8Array): Uint8Array {
    const { structure, headBytes = 0 } = this.#target;
    if (structure === "bytes" || this.#random.below(8) === 0) return this.#bytes(input, other);
    if (structure === "cbor") return this.#part(input, other, headBytes);
    const messages = splitMessages(input);
    const others = splitMessages(other);
    return joinMessages(this.#messages(messages, others, headBytes));
  }

  #pick<T>(list: readonly T[]): T | undefined {
    return list[this.#random.below(Math.max(1, list.length))];
  }

  #messages(messages: Uint8Array[], others: readonly Uint8Array[], headBytes: number): Uint8Array[] {
    const at = this.#random.below(messages.length + 1);
    const one = this.#pick(messages) ?? EMPTY;
    switch (this.#random.below(8)) {
      case 0:
        return messages.toSpliced(at, 1);
      case 1:
        return messages.toSpliced(at, 0, one);
      case 2:
        return messages.toSpliced(at, 0, this.#pick(others) ?? EMPTY);
      case 3:
        return messages.toSpliced(at, messages.length, ...others.slice(this.#random.below(others.length + 1)));
      default: {
        const changed = messages[at] ?? EMPTY;
        return messages.toSpliced(at, 1, this.#part(changed, this.#pick(others) ?? EMPTY, headBytes));
      }
    }
  }

  /** Mutates a message, or a whole input of CBOR. */
  #part(input: Uint8Array, other: Uint8Array, headBytes: number): Uint8Array {
    if (headBytes > 0 && this.#random.below(6) === 0)
      return changedAt(input, this.#random.below(headBytes), () => this.#random.below(HEAD_VALUES));
    const items = cborItems(input, headBytes);
    const item = this.#pick(items);
    if (item === undefined || this.#random.below(3) === 0) return this.#bytes(input, other);
    const how = this.#random.below(6);
    if (how < 2) return replaced(input, item.start, item.end, this.#pick(VALUES) ?? EMPTY);
    if (how < 4) {
      const donor = this.#random.coin() ? other : input;
      const graft = this.#pick(cborItems(donor, headBytes));
      return replaced(
        input,
        item.start,
        item.end,
        graft === undefined ? EMPTY : donor.subarray(graft.start, graft.end),
      );
    }
    return this.#elements(input, this.#pick(items.filter(({ elements }) => elements !== undefined)) ?? item);
  }

  /** Adds an element to a list or map, or takes some. */
  #elements(input: Uint8Array, { start, elements = [], isMap }: CborItem): Uint8Array {
    const step = isMap ? 2 : 1;
    const which = step * this.#random.below(Math.max(1, elements.length / step));
    const [first, last] = [elements[which], elements[which + step - 1]];
    if (first === undefined || last === undefined) return input;
    const isMore = this.#random.coin();
    const element = input.subarray(first.start, last.end);
    const changed = isMore ? Buffer.concat([element, element]) : EMPTY;
    const whole = replaced(input, first.start, last.end, changed);
    whole[start] = (whole[start] ?? 0) + (isMore ? 1 : -1);
    return whole;
  }

  #bytes(input: Uint8Array, other: Uint8Array): Uint8Array {
    const random = this.#random;
    const at = random.below(input.length + 1);
    const end = Math.min(input.length, at + 1 + random.below(random.coin() ? 4 : 64));
    switch (random.below(7)) {
      case 0:
        return changedAt(input, at, (byte) => byte ^ (1 << random.below(8)));
      case 1:
        return changedAt(input, at, () => random.below(256));
      case 2:
        return changedAt(input, at, (byte) => byte + (random.coin() ? 1 : 255));
      case 3:
        return replaced(input, at, end, EMPTY);
      case 4:
        return replaced(input, at, at, input.subarray(at, end));
      case 5: {
        const from = random.below(other.length + 1);
        return replaced(input, at, random.coin() ? at : end, other.subarray(from, from + 1 + random.below(64)));
      }
      default:
        return replaced(
          input,
          at,
          Math.min(input.length, at + 4),
          numberBytes(this.#pick([...NUMBERS, ...LARGE]) ?? 0),
        );
    }
  }
}

const EMPTY = new Uint8Array(0);

function replaced(input: Uint8Array, start: number, end: number, by: Uint8Array): Uint8Array {
  return Buffer.concat([input.subarray(0, start), by, input.subarray(end)]);
}

function changedAt(input: Uint8Array, at: number, change: (byte: number) => number): Uint8Array {
  const changed = Uint8Array.from(input);
  if (at < changed.length) changed[at] = change(changed[at] ?? 0);
  return changed;
}

/** u32, little-endian, as our files have it. */
function numberBytes(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value % 2 ** 32, true);
  return bytes;
}
