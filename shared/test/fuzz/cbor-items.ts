// Finds the items of a CBOR message, for making mistakes in it that keep it well-formed. Stops at what is no item.
const MAJOR_BYTES = 2;
const MAJOR_TEXT = 3;
const MAJOR_ARRAY = 4;
const MAJOR_MAP = 5;
/** A count that stands in the head itself, and has room for one more. */
const SHORT_MAX = 22;

export interface CborItem {
  start: number;
  end: number;
  /** A list or map whose count stands in its first byte: where its elements lie (of a map: keys and values in turn). */
  elements: CborItem[] | undefined;
  isMap: boolean;
}

/** All items within the first one that begins at `from`, outer ones first. */
export function cborItems(bytes: Uint8Array, from: number): CborItem[] {
  const items: CborItem[] = [];
  read(bytes, from, items);
  return items;
}

function read(bytes: Uint8Array, start: number, items: CborItem[]): CborItem | undefined {
  const head = bytes[start];
  if (head === undefined) return undefined;
  const major = head >> 5;
  const short = head & 31;
  const width = short < 24 ? 0 : short < 28 ? 1 << (short - 24) : -1;
  let at = start + 1 + width;
  if (width < 0 || at > bytes.length) return undefined;
  let argument = short;
  if (width > 0) {
    argument = 0;
    for (let index = start + 1; index < at; index++) argument = argument * 256 + (bytes[index] ?? 0);
  }
  const isMap = major === MAJOR_MAP;
  const item: CborItem = { start, end: at, elements: undefined, isMap };
  items.push(item);
  if (major === MAJOR_BYTES || major === MAJOR_TEXT) at += argument;
  else if (major === MAJOR_ARRAY || isMap) {
    const elements: CborItem[] = [];
    for (let left = isMap ? 2 * argument : argument; left > 0; left--) {
      const element = read(bytes, at, items);
      if (element === undefined) return undefined;
      elements.push(element);
      at = element.end;
    }
    if (short <= SHORT_MAX) item.elements = elements;
  }
  if (at > bytes.length) return undefined;
  item.end = at;
  return item;
}
