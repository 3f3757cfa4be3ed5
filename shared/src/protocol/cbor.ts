// CBOR (RFC 8949) as the wire and our files use it: definite lengths, no tags, text keys, in messages known fields as
// numbers. Bytes are checked for shape before the library decodes them, so that depth, lengths and item counts are
// bounded whatever a peer sends (rules W2, W3).
import { isUtf8 } from "node:buffer";
import { Encoder } from "cbor-x/encode";
import { RunnelError } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import { FIELD_NAMES } from "./keys.ts";

// Records and tags are the library's own extensions: off, so that any CBOR library can read what we send.
const OPTIONS = { useRecords: false, mapsAsObjects: true, tagUint8Array: false, variableMapSize: true };
const codec = new Encoder(OPTIONS);
const messageCodec = new Encoder({
  ...OPTIONS,
  keyMap: Object.fromEntries(FIELD_NAMES.map((name, number) => [name, number])),
});

/** Memory besides its own bytes: for a value, and for an array or a map. */
const VALUE_BYTES = 8;
const CONTAINER_BYTES = 64;

const MAJOR_NUMBER = 0;
const MAJOR_BYTES = 2;
const MAJOR_TEXT = 3;
const MAJOR_ARRAY = 4;
const MAJOR_MAP = 5;
const MAJOR_TAG = 6;

/**
 * Plain objects, arrays, strings, numbers, booleans, null, undefined, Uint8Array and BigInt (as 64-bit integers);
 * integers past 2^32 go as float64.
 */
export function encodeCbor(value: unknown): Uint8Array {
  // A copy: the library reuses its buffer.
  return new Uint8Array(codec.encode(value));
}

/**
 * @throws RunnelError Invalid for anything but one well-formed item within the limits. Integers beyond 2^53 come as
 * BigInt. `bytesMax`: for what comes from our own files.
 */
export function decodeCbor(bytes: Uint8Array, bytesMax: number = LIMITS.controlBytes): unknown {
  return decodeWith(codec, bytes, bytesMax, 0);
}

/** Encodes like encodeCbor, for the wire: fields that have a number go by it (rule W56). */
export function encodeMessage(value: unknown): Uint8Array {
  return new Uint8Array(messageCodec.encode(value));
}

/** Inverse of encodeMessage; fields may come by name, too. @throws as decodeCbor. */
export function decodeMessage(bytes: Uint8Array): unknown {
  return decodeWith(messageCodec, bytes, LIMITS.controlBytes, FIELD_NAMES.length);
}

/** The same of a request; `weight`: about how many bytes of memory it takes. */
export function decodeRequest(bytes: Uint8Array): { message: unknown; weight: number } {
  const weight = checkShape(bytes, LIMITS.controlBytes, FIELD_NAMES.length, LIMITS.requestValues);
  return { message: decodeChecked(messageCodec, bytes), weight };
}

function decodeWith(decoder: Encoder, bytes: Uint8Array, bytesMax: number, numberedFields: number): unknown {
  checkShape(bytes, bytesMax, numberedFields);
  return decodeChecked(decoder, bytes);
}

function decodeChecked(decoder: Encoder, bytes: Uint8Array): unknown {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new RunnelError("Invalid", "decode message", "A message is not valid CBOR.", {
      detail: { rule: "W2" },
      cause,
    });
  }
}

/**
 * Checks all heads in one pass: every declared length fits, nesting is at most LIMITS.cborDepth, no tag, no indefinite
 * length, keys are text or the numbers of fields, text is UTF-8 (the library would put U+FFFD for what is not, and two
 * names would become one). Returns about how many bytes of memory the value takes when it is decoded.
 */
function checkShape(bytes: Uint8Array, bytesMax: number, numberedFields: number, valuesMax = Infinity): number {
  if (bytes.length > bytesMax) throw malformed("is too large", "W3");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  /** Items still to come at each open level, and whether the level is a map: then every second is a key. */
  const remaining: number[] = [1];
  const isMap: boolean[] = [false];
  let at = 0;
  let values = 0;
  let containers = 0;
  while (remaining.length > 0) {
    const level = remaining.length - 1;
    const left = remaining[level] ?? 0;
    if (left === 0) {
      remaining.pop();
      isMap.pop();
      continue;
    }
    remaining[level] = left - 1;
    if (++values > valuesMax) throw malformed("has too many values", "W3");
    const isKey = isMap[level] === true && left % 2 === 0;
    if (at >= bytes.length) throw malformed("ends too early", "W2");
    const head = bytes[at] ?? 0;
    const major = head >> 5;
    const short = head & 31;
    at++;
    let argument = short;
    if (short >= 24) {
      const width = short === 24 ? 1 : short === 25 ? 2 : short === 26 ? 4 : short === 27 ? 8 : 0;
      if (width === 0) throw malformed("has an indefinite or reserved length", "W2");
      if (at + width > bytes.length) throw malformed("ends too early", "W2");
      if (width === 1) argument = view.getUint8(at);
      else if (width === 2) argument = view.getUint16(at);
      else if (width === 4) argument = view.getUint32(at);
      else argument = Number(view.getBigUint64(at));
      at += width;
    }
    if (major === MAJOR_TAG) throw malformed("has a tag", "W2");
    const isField = major === MAJOR_TEXT || (major === MAJOR_NUMBER && argument < numberedFields);
    if (isKey && !isField) throw malformed("has a key that is no field", "W2");
    if (major === MAJOR_BYTES || major === MAJOR_TEXT) {
      if (argument > bytes.length - at) throw malformed("declares more bytes than it has", "W2");
      const text = bytes.subarray(at, at + argument);
      if (major === MAJOR_TEXT && !isUtf8(text)) throw malformed("has text that is not UTF-8", "W2");
      at += argument;
    } else if (major === MAJOR_ARRAY || major === MAJOR_MAP) {
      const items = major === MAJOR_MAP ? argument * 2 : argument;
      if (items > bytes.length - at) throw malformed("declares more items than it has", "W2");
      if (remaining.length > LIMITS.cborDepth) throw malformed("is nested too deeply", "W3");
      if (++containers > LIMITS.cborContainers) throw malformed("has too many arrays and maps", "W3");
      remaining.push(items);
      isMap.push(major === MAJOR_MAP);
    }
  }
  if (at !== bytes.length) throw malformed("has bytes after its end", "W2");
  return bytes.length + VALUE_BYTES * values + CONTAINER_BYTES * containers;
}

function malformed(what: string, rule: string): RunnelError {
  return new RunnelError("Invalid", "decode message", `A message ${what}.`, { detail: { rule } });
}
