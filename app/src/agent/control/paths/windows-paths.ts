// Paths of Windows: a root for each letter and each share, and network drives at letters. The letter alone, R:, is the
// drive; Windows itself takes it for the current folder of that drive. Names that Windows has no way to write are shown
// there by stand-ins, which native/src/drive/winfsp/names.h chooses, and which lead back to the name here.
import { win32 } from "node:path";
import type { PathForm } from "./path-form.ts";

const LETTER = /^[a-z]:[\\/]*$/i;
const ABSOLUTE = /^(?:[a-z]:(?:[\\/]|$)|[\\/]{2}[^\\/])/i;
/** Prefix of a path that Windows passes on as it is. */
const VERBATIM = /^\\\\\?\\(?=[a-z]:)/i;

const NOT_IN_NAMES = '<>:"|?*\\';
const STAND_INS = 0xf000;
const STAND_INS_END = 0xf080;
const CONTROL_MAX = 0x1f;

function isForbidden(name: string, at: number, character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  if ((code !== 0 && code <= CONTROL_MAX) || NOT_IN_NAMES.includes(character)) return true;
  return at === name.length - 1 && (character === "." || character === " ");
}

/** Characters of a name with `change` made to each. */
function mapName(name: string, change: (character: string, at: number) => string): string {
  return name.split("").map(change).join("");
}

function shownName(name: string): string {
  return mapName(name, (character, at) =>
    isForbidden(name, at, character) ? String.fromCodePoint(STAND_INS + character.charCodeAt(0)) : character,
  );
}

function meantName(shown: string): string {
  return mapName(shown, (character, at) => {
    const code = character.charCodeAt(0);
    if (code < STAND_INS || code >= STAND_INS_END) return character;
    const meant = String.fromCodePoint(code - STAND_INS);
    return isForbidden(shown, at, meant) ? meant : character;
  });
}

function namesOf(path: string): string[] {
  return path.split(/[\\/]/).filter((part) => part !== "" && part !== ".");
}

function spell(typed: string): string {
  // Resolved, the letter alone would be the current folder of that drive.
  const path = LETTER.test(typed) ? typed : win32.resolve(typed.replace(VERBATIM, ""));
  const spelled = /^[a-z]:/.test(path) ? `${path[0]?.toUpperCase()}${path.slice(1)}` : path;
  return LETTER.test(spelled) ? spelled.slice(0, 2) : spelled;
}

export const windowsPaths: PathForm = {
  files: win32,
  mountPoints: "letters",
  isAbsolute: (path) => ABSOLUTE.test(path),
  spell,
  // Windows takes ".." for the folder above in the text, whatever lies there.
  split(path) {
    const whole = spell(path);
    const root = LETTER.test(whole) ? `${whole}\\` : win32.parse(whole).root;
    return { root, names: namesOf(whole.slice(root.length)) };
  },
  namesOf,
  letterOf: (path) => /^[A-Z]:/.exec(path)?.[0],
  onDrive: (mountpoint, path) => {
    const names = path.split("/").filter((name) => name !== "");
    return `${mountpoint}\\${names.map(shownName).join("\\")}`;
  },
  inVolume: (mountpoint, path) =>
    path
      .slice(mountpoint.length)
      .split("\\")
      .filter((name) => name !== "")
      .map(meantName)
      .join("/"),
};
