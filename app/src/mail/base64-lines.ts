// The bytes of an attachment that are base64 in lines of one length, and the same text again from them. What would not
// come out byte for byte is not decoded: equal attachments are one object however their lines are cut. Pure.
import { RunnelError } from "@runnel/shared/base";

/** Characters of a line: RFC 2045 asks for 76, RFC 5321 takes 998. */
export const LINE_CHARACTERS = { least: 4, most: 996 } as const;

const CR = 0x0d;
const LF = 0x0a;
const LINE_END = Buffer.from("\r\n");

/** Text that these bytes are, without an end of its last line. */
export function base64Length(sizeBytes: number, lineCharacters: number): number {
  const characters = Math.ceil(sizeBytes / 3) * 4;
  return characters + LINE_END.length * Math.max(0, Math.ceil(characters / lineCharacters) - 1);
}

export function isLineLength(characters: number): boolean {
  return characters % 4 === 0 && characters >= LINE_CHARACTERS.least && characters <= LINE_CHARACTERS.most;
}

/** Decodes text that comes in pieces; line ends behind it are none of it. */
export class Base64Decoder {
  #rest: Buffer = Buffer.alloc(0);
  #lineCharacters = 0;
  #textBytes = 0;
  /** A line that was shorter, or empty, or padded: only line ends may follow. */
  #isOver = false;
  #isWrong = false;

  /** @returns bytes; nothing once the text is not what would be made of them. */
  take(text: Uint8Array): Buffer {
    if (this.#isWrong) return Buffer.alloc(0);
    const all = Buffer.concat([this.#rest, text]);
    const decoded: Buffer[] = [];
    let at = 0;
    for (let lf = all.indexOf(LF); lf !== -1 && !this.#isWrong; lf = all.indexOf(LF, at)) {
      if (lf === at || all[lf - 1] !== CR) this.#isWrong = true;
      else decoded.push(this.#line(all.subarray(at, lf - 1)));
      at = lf + 1;
    }
    this.#rest = all.subarray(at);
    if (this.#rest.length > LINE_CHARACTERS.most + 1) this.#isWrong = true;
    return Buffer.concat(decoded);
  }

  /** The last bytes, and where the text ended; undefined when it is not to be had again from the bytes. */
  end(): { bytes: Buffer; textBytes: number; lineCharacters: number } | undefined {
    const bytes = this.#rest.length === 0 ? this.#rest : this.#line(this.#rest);
    if (this.#isWrong || this.#textBytes === 0) return undefined;
    return { bytes, textBytes: this.#textBytes, lineCharacters: this.#lineCharacters };
  }

  #line(line: Buffer): Buffer {
    if (line.length === 0) {
      this.#isOver = true;
      return line;
    }
    if (this.#lineCharacters === 0) this.#lineCharacters = line.length;
    const text = line.toString("latin1");
    const bytes = Buffer.from(text, "base64");
    const isWhole = isLineLength(this.#lineCharacters) && line.length <= this.#lineCharacters && !this.#isOver;
    if (!isWhole || bytes.toString("base64") !== text) {
      this.#isWrong = true;
      return Buffer.alloc(0);
    }
    this.#isOver = line.length < this.#lineCharacters || text.endsWith("=");
    this.#textBytes += line.length + (this.#textBytes === 0 ? 0 : LINE_END.length);
    return bytes;
  }
}

/** Encodes bytes that come in pieces. */
export class Base64Encoder {
  readonly #lineBytes: number;
  #rest: Buffer = Buffer.alloc(0);
  #isFirst = true;

  /** @throws RunnelError Invalid for lines that none has. */
  constructor(lineCharacters: number) {
    if (!isLineLength(lineCharacters))
      throw new RunnelError("Invalid", "encode base64", `No line of base64 has ${lineCharacters} characters.`);
    this.#lineBytes = (lineCharacters / 4) * 3;
  }

  take(bytes: Uint8Array): Buffer {
    const all = Buffer.concat([this.#rest, bytes]);
    const whole = all.length - (all.length % this.#lineBytes);
    this.#rest = all.subarray(whole);
    return this.#lines(all.subarray(0, whole));
  }

  end(): Buffer {
    return this.#lines(this.#rest);
  }

  #lines(bytes: Buffer): Buffer {
    const lines: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += this.#lineBytes) {
      if (!this.#isFirst) lines.push(LINE_END);
      this.#isFirst = false;
      lines.push(Buffer.from(bytes.toString("base64", at, Math.min(bytes.length, at + this.#lineBytes)), "latin1"));
    }
    return Buffer.concat(lines);
  }
}
