// Lines of a mail on their way: what is no line end by SMTP is found (RFC 5321 §2.3.8), and a dot at the beginning of a
// line gets another in front (§4.5.2). Pure.

const CR = 0x0d;
const LF = 0x0a;
const DOT = 0x2e;

/** Finds a CR or an LF that stands alone: two programs may see different lines there. */
export class LineEnds {
  #hadCr = false;
  #isWrong = false;

  take(bytes: Uint8Array): void {
    if (this.#isWrong) return;
    if (this.#hadCr && bytes.length > 0 && bytes[0] !== LF) this.#isWrong = true;
    for (let at = bytes.indexOf(CR); at !== -1; at = bytes.indexOf(CR, at + 1))
      if (at + 1 < bytes.length && bytes[at + 1] !== LF) this.#isWrong = true;
    for (let at = bytes.indexOf(LF); at !== -1; at = bytes.indexOf(LF, at + 1))
      if (at === 0 ? !this.#hadCr : bytes[at - 1] !== CR) this.#isWrong = true;
    if (bytes.length > 0) this.#hadCr = bytes.at(-1) === CR;
  }

  /** All line ends are CR LF, with those of the bytes to come. */
  get areRight(): boolean {
    return !this.#isWrong;
  }

  /** Likewise, and no byte comes any more. */
  get endedRight(): boolean {
    return !this.#isWrong && !this.#hadCr;
  }
}

/** Doubles dots at the beginning of lines, and ends the mail. */
export class DotStuffing {
  #last = LF;

  take(bytes: Uint8Array): Uint8Array {
    const pieces: Uint8Array[] = [];
    let from = 0;
    for (let at = bytes.indexOf(DOT); at !== -1; at = bytes.indexOf(DOT, at + 1)) {
      if ((at === 0 ? this.#last : bytes[at - 1]) !== LF) continue;
      pieces.push(bytes.subarray(from, at + 1));
      from = at;
    }
    this.#last = bytes.at(-1) ?? this.#last;
    if (from === 0 && pieces.length === 0) return bytes;
    return Buffer.concat([...pieces, bytes.subarray(from)]);
  }

  end(): Uint8Array {
    return Buffer.from(this.#last === LF ? ".\r\n" : "\r\n.\r\n");
  }
}
