// Objects lie in a volume as ordinary files of one folder at its top, each under its OID, with the end of its life as
// an extended attribute. Whoever has no right on the volume has none on them.
import { isOid } from "./object-uri.ts";

export const OBJECTS_FOLDER = ".runnel-objects";
/** Second (since 1970, decimal digits) from which on the server may remove an object. */
export const UNTIL_XATTR = "user.runnel-until";

/** The last second of the year 9999: a later one is a mistake. */
const UNTIL_MAX = 253_402_300_799;
const SECONDS = /^[1-9][0-9]{0,11}$/;

/** Says whether a file of that name in the folder may be an object. */
export function isObjectName(name: string): boolean {
  return isOid(name);
}

/** @returns the OID that a path in a volume names an object by; undefined when it is no object's. */
export function oidOfObject(path: string): string | undefined {
  const [folder, name = "", ...rest] = path.split("/");
  return folder === OBJECTS_FOLDER && rest.length === 0 && isObjectName(name) ? name : undefined;
}

export function formatUntil(seconds: number): Uint8Array {
  return new TextEncoder().encode(String(Math.min(UNTIL_MAX, Math.max(1, Math.ceil(seconds)))));
}

/** @returns undefined for what says no time: such a file is nobody's to remove. */
export function parseUntil(value: Uint8Array | undefined): number | undefined {
  if (value === undefined || value.length > SECONDS_DIGITS) return undefined;
  const text = new TextDecoder().decode(value);
  const seconds = SECONDS.test(text) ? Number(text) : Infinity;
  return seconds <= UNTIL_MAX ? seconds : undefined;
}

const SECONDS_DIGITS = 12;
