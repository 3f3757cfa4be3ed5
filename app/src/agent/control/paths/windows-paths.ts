// Paths of Windows: a root for each letter and each share, and network drives at both. The letter alone, R:, is the
// drive; Windows itself takes it for the current folder of that drive. The share alone, \\runnel\docs, is one too.
// Names that Windows has no way to write are shown there by stand-ins, which native/src/drive/winfsp/names.h chooses,
// and which lead back to the name here.
import { win32 } from "node:path";
import type { PathForm } from "./path-form.ts";

const LETTER = /^[a-z]:[\\/]*$/i;
const ABSOLUTE = /^(?:[a-z]:(?:[\\/]|$)|[\\/]{2}[^\\/])/i;
/** Prefixes of paths that Windows passes on as they are. */
const VERBATIM = /^[\\/]{2}[?.][\\/](?=[a-z]:(?:[\\/]|$))/i;
const VERBATIM_SHARE = /^[\\/]{2}[?.][\\/]unc[\\/]+(?=[^\\/])(?![?.](?:[\\/]|$))/i;
/** Names of devices, whose paths lead anywhere. */
const DEVICE = /^[\\/]{2}[?.](?:[\\/]|$)/;
const SERVER_ALONE = /^[\\/]{2}([^\\/]+)[\\/]*$/;
const SHARE = /^\\\\([^\\]+)\\([^\\]+)/;
/** A drive at a letter is a share, too, which winfsp_front.cc names. */
const SHARE_OF_LETTER = /^runnel-([a-z])$/;

/** Names without dots: those with some are of other computers. Lengths as of a host's label (RFC 1035) and a share. */
const SERVER_NAME = /^[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?$/;
const SHARE_NAME_CHARACTERS_MAX = 80;
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const NOT_IN_SHARES = /[\0-\u001f"/\\[\]:|<>+=;,*?]|^ |[ .]$/;
/** Windows has something else at these of each server. */
const OWN_SHARES = new Set(["ipc$", "mailslot", "pipe"]);

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

/** Takes prefixes off that say nothing of where a path leads. */
function withoutPrefix(typed: string): string {
  return typed.replace(VERBATIM, "").replace(VERBATIM_SHARE, "\\\\");
}

function spell(typed: string): string {
  const path = withoutPrefix(typed);
  if (DEVICE.test(path)) return path.replaceAll("/", "\\");
  const [, server] = SERVER_ALONE.exec(path) ?? [];
  if (server !== undefined) return `\\\\${server.toLowerCase()}`;
  // Resolved, the letter alone would be the current folder of that drive.
  if (LETTER.test(path)) return path.slice(0, 2).toUpperCase();
  const whole = win32.resolve(path);
  const share = SHARE.exec(whole);
  if (share === null) return spellLetter(whole);
  const rest = whole.slice(share[0].length).replace(/^\\+$/, "");
  const [, letter] = SHARE_OF_LETTER.exec((share[1] ?? "").toLowerCase()) ?? [];
  return (letter === undefined ? share[0].toLowerCase() : `${letter.toUpperCase()}:`) + rest;
}

function spellLetter(path: string): string {
  const spelled = /^[a-z]:/.test(path) ? `${path[0]?.toUpperCase()}${path.slice(1)}` : path;
  return LETTER.test(spelled) ? spelled.slice(0, 2) : spelled;
}

function driveOf(path: string): string | undefined {
  return DEVICE.test(path) ? undefined : (/^[A-Z]:/.exec(path) ?? SHARE.exec(path))?.[0];
}

const PLACES = "A drive is mapped at a free letter or share here: R: or \\\\runnel\\docs.";

function whyNoDrive(path: string): string | undefined {
  if (driveOf(path) !== path) return `${path} is neither a drive letter nor a share. ${PLACES}`;
  const [, server, share = ""] = SHARE.exec(path) ?? [];
  if (server === undefined) return undefined;
  if (!SERVER_NAME.test(server) || server === "localhost")
    return `${path} is no share for a drive: its server may have letters a to z, digits, - and _ in its name, and is not localhost. ${PLACES}`;
  if (share.length > SHARE_NAME_CHARACTERS_MAX || NOT_IN_SHARES.test(share) || !share.isWellFormed())
    return `${path} is no share for a drive: Windows takes no such name. ${PLACES}`;
  return OWN_SHARES.has(share) ? `Windows has ${path} for itself. ${PLACES}` : undefined;
}

export const windowsPaths: PathForm = {
  files: win32,
  mountPoints: "names",
  isAbsolute: (path) => ABSOLUTE.test(path),
  spell,
  // Windows takes ".." for the folder above in the text, whatever lies there.
  split(path) {
    const whole = spell(path);
    const root = driveOf(whole) ?? win32.parse(whole).root;
    return { root: root.endsWith("\\") ? root : `${root}\\`, names: namesOf(whole.slice(root.length)) };
  },
  namesOf,
  // A drive is a letter or a share, which has one spelling.
  fold: (path) => path,
  driveOf,
  folderAt: (drive) => (LETTER.test(drive) ? `${drive}\\` : undefined),
  whyNoPath(path) {
    if (DEVICE.test(path))
      return `${path} is the name of a device. Name a file or folder: C:\\folder or \\\\server\\share\\folder.`;
    return SERVER_ALONE.test(path) ? `${path} is a server alone. Name a share of it: ${path}\\docs` : undefined;
  },
  whyNoDrive,
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
