// Text with names in it that somebody else chose, made safe to show: it stays on one line and cannot steer a terminal.

/** A name that is longer than a path can be is shown by its ends. */
const WORD_MAX = 1024;
const END = 64;

/** Control characters, line separators and marks that turn the direction of text become their escapes. */
export function printable(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, escaped)
    .replaceAll(/\S+/g, (word) => (word.length <= WORD_MAX ? word : `${word.slice(0, END)}…${word.slice(-END)}`));
}

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
}
