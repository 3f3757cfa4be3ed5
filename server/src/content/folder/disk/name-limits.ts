// Limits that the served folder's file system sets to names: some cannot hold ":" or a long name (vfat, NTFS, encrypted
// folders). Found out by trying, so that such a name is refused when a client asks for it; once it was committed,
// nothing after it could be applied.
import type { DiskRoot } from "@runnel/shared";
import { LIMITS, RunnelError, isRunnelError } from "@runnel/shared";
import { STORE_FILE_MODE, TEMP_FOLDER, joinPath } from "./store-layout.ts";
import { removeIfThere } from "./found.ts";

const CHARACTERS = ['"', "*", ":", "<", ">", "?", "\\", "|"];
const CONTROL = "\u0001";
const BEGIN = "name-";
const ENDS = [".", " "];

export interface NameLimits {
  /** Characters allowed nowhere. */
  characters: readonly string[];
  /** True when characters below the blank are not allowed. */
  controls: boolean;
  /** Characters not allowed at the end. */
  ends: readonly string[];
  bytesMax: number;
}

export const NO_NAME_LIMITS: NameLimits = { characters: [], controls: false, ends: [], bytesMax: LIMITS.nameBytes };

/** None are known while no file at all can be made (a full disk). */
export async function findNameLimits(root: DiskRoot): Promise<NameLimits> {
  if (!(await isHeld(root, BEGIN))) return NO_NAME_LIMITS;
  const all = BEGIN + CHARACTERS.join("") + CONTROL + ENDS.join("") + CHARACTERS[0];
  const long = BEGIN.padEnd(LIMITS.nameBytes, "x");
  const holds = (name: string): Promise<boolean> => isHeld(root, name);
  const ends = (await holds(`${BEGIN}x${ENDS.join("")}`)) ? [] : ENDS;
  if (ends.length === 0 && (await holds(all)) && (await holds(long))) return NO_NAME_LIMITS;
  const characters: string[] = [];
  for (const character of CHARACTERS) if (!(await holds(`${BEGIN}${character}x`))) characters.push(character);
  let [bytesMax, tooLong] = [BEGIN.length + 1, LIMITS.nameBytes + 1];
  while (bytesMax + 1 < tooLong) {
    const middle = Math.floor((bytesMax + tooLong) / 2);
    if (await holds(BEGIN.padEnd(middle, "x"))) bytesMax = middle;
    else tooLong = middle;
  }
  return { characters, controls: !(await holds(`${BEGIN}${CONTROL}x`)), ends, bytesMax };
}

/** The name is there, and as it was asked for: some file systems drop a dot at the end without a word. */
async function isHeld(root: DiskRoot, name: string): Promise<boolean> {
  const path = joinPath(TEMP_FOLDER, name);
  try {
    await (await root.open(path, "create", STORE_FILE_MODE)).close();
  } catch (error) {
    if (!isRunnelError(error)) throw error;
    return false;
  }
  let isThere = false;
  await root.list(TEMP_FOLDER, (entries) => {
    isThere ||= entries.some((entry) => entry.name === name);
  });
  await removeIfThere(root, path);
  return isThere;
}

/**
 * @throws RunnelError BadName with the rule that the name breaks; NameTooLong, for which programs have a word of their
 * own.
 */
export function checkHeld(name: string, limits: NameLimits): void {
  const { characters, controls, ends, bytesMax } = limits;
  const found = characters.find((character) => name.includes(character));
  if (found !== undefined) refuse(`A name must not have ${JSON.stringify(found)} in it`);
  // eslint-disable-next-line no-control-regex
  if (controls && /[\u0000-\u001f]/.test(name)) refuse("A name must not have control characters in it");
  if (ends.some((end) => name.endsWith(end))) refuse("A name must not end in a dot or a blank");
  const bytes = Buffer.byteLength(name);
  // A name past the limit of all volumes is not this file system's to refuse.
  if (bytes > bytesMax && bytes <= LIMITS.nameBytes)
    refuse(`A name must not be longer than ${bytesMax} bytes in UTF-8`, "NameTooLong");
}

function refuse(sentence: string, kind: "BadName" | "NameTooLong" = "BadName"): never {
  const message = `${sentence}: the file system of the server's folder cannot hold it.`;
  throw new RunnelError(kind, "check name", message, { detail: { rule: "file system" } });
}
