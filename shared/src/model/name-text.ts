// Names as text. What some file systems call a name is bytes, which need not be UTF-8; a name of a volume is text. A
// byte that is no part of UTF-8 (0x80 to 0xff) is the private-use character U+F780 to U+F7FF in the text, and so is
// each byte of such a character itself. Every name has exactly one text, and every text leads back to one name;
// native/src/file/name_text.h does the same where names come from the system [W78].
const STAND_IN_BASE = 0xf700;
const STAND_IN = /[\uf780-\uf7ff]/;
const STAND_INS = /([\uf780-\uf7ff]+)/;

/** The bytes that a name, a path or a symlink's target stands for. */
export function nameOfText(text: string): Uint8Array {
  const parts = text.split(STAND_INS).map((part) => {
    if (!STAND_IN.test(part)) return Buffer.from(part);
    return Uint8Array.from(part, (character) => character.charCodeAt(0) - STAND_IN_BASE);
  });
  return Buffer.concat(parts);
}

/** The text of a name that is these bytes. */
export function textOfName(name: Uint8Array): string {
  const bytes = Buffer.from(name.buffer, name.byteOffset, name.length);
  let text = "";
  for (let at = 0; at < bytes.length;) {
    const character = characterAt(bytes, at);
    if (character === undefined || STAND_IN.test(character)) {
      text += String.fromCharCode(STAND_IN_BASE + (bytes[at] ?? 0));
      at++;
    } else {
      text += character;
      at += Buffer.byteLength(character);
    }
  }
  return text;
}

/** Returns true when these bytes have this text: "\uf7c3\uf7a9" stands for the bytes of "é", whose text is "é". */
export function isTextOfName(text: string): boolean {
  return !STAND_IN.test(text) || textOfName(nameOfText(text)) === text;
}

const FATAL = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function characterAt(bytes: Buffer, at: number): string | undefined {
  const lead = bytes[at] ?? 0;
  const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  try {
    return FATAL.decode(bytes.subarray(at, at + length));
  } catch {
    return undefined;
  }
}
