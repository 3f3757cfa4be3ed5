// The content of a mail between two relays that know objects: whole, or a reference that says of which objects and of
// which bytes it is made. It comes from another machine, so all of it is checked.
// docs/transfer.md has the grammar. Pure.
import { LIMITS, RunnelError, formatObjectUri, parseObjectUri } from "@runnel/shared/base";
import { LINE_CHARACTERS, base64Length, isLineLength } from "./base64-lines.ts";

/** A body of a mail that lies in the volume, by its OID. */
export interface ReferencedPart {
  /** Place of its text in the mail. */
  offset: number;
  length: number;
  /** Characters of a line where the object has the decoded bytes; undefined where it has the text. */
  base64Line: number | undefined;
  oid: string;
  sizeBytes: number;
}

export interface MailReference {
  /** Bytes of the mail, and the SHA-256 of all of them in hexadecimal. */
  sizeBytes: number;
  digest: string;
  /** Ordered by their offsets. */
  parts: readonly ReferencedPart[];
}

/** Content of a mail as it came: where the mail's own bytes begin, or what they are made of. */
export interface FramedMail {
  reference: MailReference | undefined;
  /** Offset of the bytes that are no part: the mail, or what stands between its parts. */
  restOffset: number;
  /** Bytes of these; undefined for a whole mail: up to the end. */
  restBytes: number | undefined;
}

const FIRST = "runnel-mail/1";
const DIGEST = /^[0-9a-f]{64}$/;
const NUMBER = /^(?:0|[1-9]\d{0,15})$/;
const LINE_END = "\r\n";

export const WHOLE = Buffer.from(`${FIRST} whole${LINE_END}`);

/** Bytes of the mail that are in no part. */
export function restOf({ sizeBytes, parts }: MailReference): number {
  return parts.reduce((left, { length }) => left - length, sizeBytes);
}

/** The lines before the bytes between the parts. @throws RunnelError for what no reference can say. */
export function formatReference(reference: MailReference): Buffer {
  const { sizeBytes, digest, parts } = reference;
  const lines = parts.map(({ offset, length, base64Line, oid, sizeBytes: objectBytes }) => {
    const encoding = base64Line === undefined ? "raw" : `base64/${base64Line}`;
    return `part ${offset} ${length} ${encoding} ${formatObjectUri({ oid, sizeBytes: objectBytes, hints: [] })}`;
  });
  const all = [`${FIRST} parts`, `message ${sizeBytes} ${digest}`, ...lines, `rest ${restOf(reference)}`, ""];
  const bytes = Buffer.from(all.join(LINE_END), "latin1");
  parseFramed(bytes);
  return bytes;
}

/**
 * Reads the beginning of a content: the first `LIMITS.mailReferenceBytes` of it, or all. @throws RunnelError Invalid,
 * TooLarge
 */
export function parseFramed(beginning: Uint8Array): FramedMail {
  const text = Buffer.from(beginning.subarray(0, LIMITS.mailReferenceBytes)).toString("latin1");
  let at = 0;
  const line = (): string[] => {
    const end = text.indexOf(LINE_END, at);
    if (end === -1 && text.length === LIMITS.mailReferenceBytes)
      throw new RunnelError("TooLarge", OPERATION, `A reference has more than ${LIMITS.mailReferenceBytes} bytes.`);
    if (end === -1) throw wrong("It ends within a line.");
    const words = text.slice(at, end).split(" ");
    at = end + LINE_END.length;
    return words;
  };
  const [first, kind, ...more] = line();
  if (first !== FIRST || more.length > 0) throw wrong(`It does not begin with "${FIRST}".`);
  if (kind === "whole") return { reference: undefined, restOffset: at, restBytes: undefined };
  if (kind !== "parts") throw wrong("It is neither whole nor parts.");
  const [message, size = "", digest = "", ...afterDigest] = line();
  if (message !== "message" || afterDigest.length > 0 || !DIGEST.test(digest)) throw wrong("It has no message line.");
  const sizeBytes = numberOf(size);
  if (sizeBytes > LIMITS.mailBytes)
    throw new RunnelError("TooLarge", OPERATION, `A mail has more than ${LIMITS.mailBytes} bytes.`);
  const parts: ReferencedPart[] = [];
  let words = line();
  for (; words[0] === "part"; words = line()) {
    if (parts.length === LIMITS.mailParts)
      throw new RunnelError("TooLarge", OPERATION, `A reference has more than ${LIMITS.mailParts} parts.`);
    parts.push(partOf(words));
  }
  const [rest, restSize = "", ...afterRest] = words;
  if (rest !== "rest" || afterRest.length > 0) throw wrong("A line of it is neither part nor rest.");
  const reference = { sizeBytes, digest, parts };
  checkPlaces(reference);
  if (numberOf(restSize) !== restOf(reference)) throw wrong("Its parts and its rest are not the mail.");
  return { reference, restOffset: at, restBytes: restOf(reference) };
}

const OPERATION = "read a mail by reference";

function partOf([, offset = "", length = "", encoding = "", uri = "", ...more]: readonly string[]): ReferencedPart {
  const { oid, sizeBytes, hints } = parseObjectUri(uri);
  // The volume is the one that both relays were told of, whatever the other side says.
  if (more.length > 0 || hints.length > 0) throw wrong("A part of it names more than an object.");
  const [, characters] = /^base64\/(\d{1,3})$/.exec(encoding) ?? [];
  const base64Line = characters === undefined ? undefined : Number(characters);
  if (base64Line === undefined ? encoding !== "raw" : !isLineLength(base64Line))
    throw wrong(`A part of it is neither raw nor base64 in lines of up to ${LINE_CHARACTERS.most}.`);
  const part = { offset: numberOf(offset), length: numberOf(length), base64Line, oid, sizeBytes };
  const expected = base64Line === undefined ? sizeBytes : base64Length(sizeBytes, base64Line);
  if (part.length !== expected || part.length === 0) throw wrong("A part of it is not as long as its object.");
  return part;
}

function checkPlaces({ sizeBytes, parts }: MailReference): void {
  if (parts.length === 0) throw wrong("It has no part.");
  let end = 0;
  for (const { offset, length } of parts) {
    if (offset < end) throw wrong("Its parts are not in the order of their places.");
    end = offset + length;
  }
  if (end > sizeBytes) throw wrong("A part of it ends behind the mail.");
}

function numberOf(word: string): number {
  const number = NUMBER.test(word) ? Number(word) : Infinity;
  if (number > LIMITS.fileBytes) throw wrong(`"${word.slice(0, 20)}" is no number of bytes.`);
  return number;
}

function wrong(why: string): RunnelError {
  return new RunnelError("Invalid", OPERATION, `This is no mail by reference. ${why}`);
}
