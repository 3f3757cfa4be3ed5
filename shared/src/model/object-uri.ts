// URIs of objects: contents that programs have put into a volume, by their OID (DOT §3.1). They name a content and
// places that are worth trying; they give no right to either. docs/transfer.md has the grammar,
// shared/vectors/objects.json examples. Pure.
import { LIMITS } from "../limits.ts";
import { RunnelError } from "../errors.ts";

export interface ObjectUri {
  /** 64 lower-case hexadecimal digits: the digest of the recipe. */
  oid: string;
  sizeBytes: number;
  /** Addresses of volumes that may have it, wss://HOST:PORT/VOLUME; the likeliest first. */
  hints: readonly string[];
}

/** Bounds of a URI: what a command line or a line of a mail takes, and no more places than a person would try. */
export const OBJECT_URI_LIMITS = { characters: 4096, hints: 8, hintCharacters: 1024 } as const;

const SHOWN_MAX = 120;
const SCHEME = "runnel:";
const OID = /^[0-9a-f]{64}$/;
/** Canonical decimals: one text for each number. */
const SIZE = /^(0|[1-9][0-9]{0,15})$/;
/** Characters of RFC 3986 that stand for themselves in a value, and escapes. */
const VALUE = /^(?:[A-Za-z0-9\-._~!*'()]|%[0-9A-Fa-f]{2})+$/;
const HINT = /^wss?:\/\/[^\s/?#@]+\/[^\s/?#]+$/;

export function isOid(text: string): boolean {
  return OID.test(text);
}

export function isObjectUri(text: string): boolean {
  return text.startsWith(SCHEME);
}

/** @throws RunnelError Invalid for what no URI can say. */
export function formatObjectUri({ oid, sizeBytes, hints }: ObjectUri): string {
  const uri = `${SCHEME}${oid}?${[`size=${sizeBytes}`, ...hints.map((hint) => `hint=${encodeURIComponent(hint)}`)].join("&")}`;
  parseObjectUri(uri);
  return uri;
}

/** Reads one that may come from anybody. @throws RunnelError Invalid, naming what is wrong with it. */
export function parseObjectUri(text: string): ObjectUri {
  if (!isObjectUri(text)) throw wrong(`${quoted(text)} does not begin with "runnel:".`);
  if (text.length > OBJECT_URI_LIMITS.characters)
    throw wrong(`It has more than ${OBJECT_URI_LIMITS.characters} characters.`);
  const [oid = "", query, ...rest] = text.slice(SCHEME.length).split("?");
  if (!isOid(oid)) throw wrong(`Its OID ${quoted(oid)} is not 64 hexadecimal digits in lower case.`);
  if (query === undefined) throw wrong("It has no size.");
  if (rest.length > 0) throw wrong("It has more than one question mark.");
  let sizeBytes: number | undefined;
  const hints: string[] = [];
  for (const field of query.split("&")) {
    const [name, value = "", ...more] = field.split("=");
    if (more.length > 0 || !VALUE.test(value))
      throw wrong(`Its field ${quoted(field)} is not NAME=VALUE, percent-encoded.`);
    if (name === "size" && sizeBytes === undefined) sizeBytes = sizeOf(value);
    else if (name === "hint") hints.push(hintOf(value));
    else throw wrong(name === "size" ? "It has two sizes." : `Its field ${quoted(field)} is neither size nor hint.`);
  }
  if (sizeBytes === undefined) throw wrong("It has no size.");
  if (hints.length > OBJECT_URI_LIMITS.hints) throw wrong(`It has more than ${OBJECT_URI_LIMITS.hints} hints.`);
  return { oid, sizeBytes, hints };
}

function sizeOf(value: string): number {
  const sizeBytes = SIZE.test(value) ? Number(value) : Infinity;
  if (sizeBytes > LIMITS.fileBytes) throw wrong(`Its size ${quoted(value)} is no number up to ${LIMITS.fileBytes}.`);
  return sizeBytes;
}

function hintOf(value: string): string {
  let hint: string;
  try {
    hint = decodeURIComponent(value);
  } catch {
    throw wrong(`Its hint ${quoted(value)} is no UTF-8.`);
  }
  if (hint.length > OBJECT_URI_LIMITS.hintCharacters || !HINT.test(hint) || /\p{Cc}/u.test(hint))
    throw wrong(`Its hint ${quoted(hint)} is not wss://HOST:PORT/VOLUME.`);
  return hint;
}

/** Whatever it is: of a long one its ends. */
function quoted(text: string): string {
  return `"${text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX / 2)}…${text.slice(-SHOWN_MAX / 4)}` : text}"`;
}

function wrong(why: string): RunnelError {
  return new RunnelError("Invalid", "read a URI", `This is not the URI of an object. ${why}`);
}
