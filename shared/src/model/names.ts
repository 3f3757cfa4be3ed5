// Names of a volume: what may be one, and the key under which names that look the same are found. Names are
// stored as they are given; nothing here changes them.
import { RunnelError } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import { isTextOfName } from "./name-text.ts";

/** The store's own folder in a served folder: invisible, and no name in any folder of a volume. */
export const STORE_FOLDER = ".runnel-store";

/** Sent as detail.rule of BadName. */
export type NameRule = "reserved" | "UTF-8" | "bytes" | "characters" | "length";

const SENTENCES: Record<NameRule, string> = {
  reserved: `A name must not be empty, ".", ".." or "${STORE_FOLDER}".`,
  "UTF-8": "A name must be text that UTF-8 can carry.",
  bytes: "Characters U+F780 to U+F7FF stand for bytes that are not UTF-8, which those in the name would be.",
  characters: 'A name must not have "/" or a NUL in it.',
  length: `A name must not be longer than ${LIMITS.nameBytes} bytes in UTF-8.`,
};

/** The rule that a name breaks, if it breaks one. */
export function nameFault(name: string): NameRule | undefined {
  if (name === "" || name === "." || name === ".." || name === STORE_FOLDER) return "reserved";
  if (!name.isWellFormed()) return "UTF-8";
  if (!isTextOfName(name)) return "bytes";
  if (name.includes("/") || name.includes("\0")) return "characters";
  return Buffer.byteLength(name) > LIMITS.nameBytes ? "length" : undefined;
}

/** @throws RunnelError BadName. */
export function checkName(name: string): void {
  const rule = nameFault(name);
  if (rule !== undefined) throw badName(rule);
}

/** Returns true when a volume can have this name: it stands in URLs, and a folder of the server's data has it. */
export function isVolumeName(name: string): boolean {
  return /^[\p{L}\p{N}][\p{L}\p{N}\p{M} ._-]{0,99}$/u.test(name);
}

/**
 * Returns the key that names share which differ only in case, or in how their accents are composed: NFC of each
 * character's full case folding (as far as Unicode's upper and lower case give it). An index on it is not unique: a
 * policy looks there before a name is made.
 */
export function foldKey(name: string): string {
  if (/^[\x20-\x7e]*$/.test(name)) return name.toLowerCase();
  let key = "";
  for (const character of name.normalize("NFC")) key += foldCharacter(character);
  return key.normalize("NFC");
}

/**
 * Folds by way of the upper case, so that ß is ss and both sigmas are one; dotless i has the upper case of i and yet is
 * another letter.
 */
function foldCharacter(character: string): string {
  if (character === "\u0131") return character;
  return character.toLowerCase().toUpperCase().toLowerCase();
}

function badName(rule: NameRule): RunnelError {
  return new RunnelError("BadName", "check name", SENTENCES[rule], { detail: { rule } });
}
