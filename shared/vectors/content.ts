// Builds the contents that vector files describe, so that no vector file holds data. Another language that reads the
// vectors follows the comments here; the digest beside each description tells whether it did so right.

/** A part of a content; parts are joined in order. `from` and `to` cut a slice out of what the part describes. */
export type ContentPart = (
  | { zeros: number }
  /** `length` bytes of the generator below. */
  | { random: { seed: number; length: number } }
  /** These bytes again and again, until `length`. */
  | { repeat: { hex: string; length: number } }
  /** Words chosen by the generator, separated by blanks, a line end after every twelfth, cut off at `length`. */
  | { words: { seed: number; length: number } }
) & { from?: number; to?: number };

const WORDS = "the river carries only what the other shore does not have yet and says so in one breath".split(" ");
const WORDS_PER_LINE = 12;

/**
 * The linear congruential generator of Numerical Recipes: x = x * 1664525 + 1013904223 modulo 2^32, started with x =
 * seed; each step gives one byte, the highest of the new x.
 */
export function* generator(seed: number): Generator<number, never> {
  let state = seed >>> 0;
  while (true) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield state >>> 24;
  }
}

function randomBytes(seed: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  const next = generator(seed);
  for (let i = 0; i < length; i++) bytes[i] = next.next().value;
  return bytes;
}

/** The word of a byte is WORDS[byte modulo their number]. */
function words(seed: number, length: number): Uint8Array {
  const next = generator(seed);
  let text = "";
  for (let count = 1; text.length < length; count++) {
    text += WORDS[next.next().value % WORDS.length] + (count % WORDS_PER_LINE === 0 ? "\n" : " ");
  }
  return new TextEncoder().encode(text.slice(0, length));
}

function buildPart(part: ContentPart): Uint8Array {
  if ("zeros" in part) return new Uint8Array(part.zeros);
  if ("random" in part) return randomBytes(part.random.seed, part.random.length);
  if ("words" in part) return words(part.words.seed, part.words.length);
  const bytes = Buffer.from(part.repeat.hex, "hex");
  return new Uint8Array(part.repeat.length).map((_, index) => bytes[index % bytes.length] as number);
}

export function buildContent(parts: readonly ContentPart[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts.map((part) => buildPart(part).subarray(part.from, part.to))));
}
