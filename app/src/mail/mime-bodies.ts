// Finds the bodies in a mail: where the content of each attachment and text begins and ends, as it comes by. Only what
// separates them is read (RFC 2045, RFC 2046); whoever reads it wrong spares less, and breaks nothing, since a mail is
// put together again from ranges of its bytes. Pure.

/** Bytes from `begin` up to `end` of the mail: a body without the line end that belongs to the boundary after it. */
export interface Body {
  begin: number;
  end: number;
  isBase64: boolean;
}

const LF = 0x0a;
const CR = 0x0d;
const DASHES = "--";
/** A line's beginning: a boundary has up to 70 characters, a line of a header 998. */
const LINE_BYTES = 1024;
const HEADER_CHARACTERS_MAX = 64 * 1024;
/** Parts within parts; deeper ones are taken as a whole. */
const DEPTH_MAX = 16;
const BOUNDARY = /;\s*boundary\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/i;

type Place = "header" | "body" | "between";

export class MimeBodies {
  readonly #smallestBytes: number;
  readonly #found: Body[] = [];
  readonly #boundaries: string[] = [];
  #place: Place = "header";
  #header = "";
  #isBase64 = false;
  #bodyBegin = 0;
  #lineBegin = 0;
  #line: Buffer = Buffer.alloc(0);
  #lineBytes = 0;
  #hadCr = false;
  /** Bytes of the line end before the line that comes next, within the body. */
  #precedingEnd = 0;

  constructor(smallestBytes: number) {
    this.#smallestBytes = Math.max(1, smallestBytes);
  }

  take(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) {
      const lf = bytes.indexOf(LF, at);
      const end = lf === -1 ? bytes.length : lf + 1;
      if (this.#line.length < LINE_BYTES)
        this.#line = Buffer.concat([
          this.#line,
          bytes.subarray(at, Math.min(end, at + LINE_BYTES - this.#line.length)),
        ]);
      this.#lineBytes += end - at;
      if (lf !== -1) {
        this.#takeLine(lf > at ? bytes[lf - 1] === CR : this.#hadCr);
        this.#lineBegin += this.#lineBytes;
        this.#line = Buffer.alloc(0);
        this.#lineBytes = 0;
      }
      this.#hadCr = bytes[end - 1] === CR;
      at = end;
    }
  }

  /** The bodies of at least the smallest size, in their order. Nothing is taken afterwards. */
  end(): readonly Body[] {
    if (this.#place === "body") this.#endBody(this.#lineBegin + this.#lineBytes);
    this.#place = "between";
    return this.#found;
  }

  #takeLine(endsWithCr: boolean): void {
    const line = this.#line.toString("latin1").replace(/\r?\n$/, "");
    if (line.startsWith(DASHES) && this.#boundary(line)) return;
    if (this.#place !== "header") {
      this.#precedingEnd = endsWithCr ? 2 : 1;
      return;
    }
    if (line !== "") {
      if (this.#header.length < HEADER_CHARACTERS_MAX) this.#header += `${line}\r\n`;
      return;
    }
    this.#endHeader(this.#lineBegin + this.#lineBytes);
    this.#precedingEnd = 0;
  }

  #boundary(line: string): boolean {
    const said = line.trimEnd();
    const level = this.#boundaries.findLastIndex((each) => said === DASHES + each || said === DASHES + each + DASHES);
    if (level === -1) return false;
    if (this.#place === "body") this.#endBody(this.#lineBegin - this.#precedingEnd);
    const isLast = said !== DASHES + this.#boundaries[level];
    this.#boundaries.length = isLast ? level : level + 1;
    this.#place = isLast ? "between" : "header";
    this.#header = "";
    return true;
  }

  #endHeader(end: number): void {
    const unfolded = this.#header.replaceAll(/\r\n[ \t]+/g, " ");
    this.#header = "";
    const type = /^content-type:[ \t]*(.*)$/im.exec(unfolded)?.[1]?.trim() ?? "";
    this.#isBase64 = /^content-transfer-encoding:[ \t]*base64[ \t]*$/im.test(unfolded);
    const [, quoted, plain] = /^multipart\//i.test(type) ? (BOUNDARY.exec(type) ?? []) : [];
    const boundary = quoted?.replaceAll(/\\(.)/g, "$1") ?? plain ?? "";
    if (boundary !== "" && this.#boundaries.length < DEPTH_MAX) {
      this.#boundaries.push(boundary);
      this.#place = "between";
    } else if (/^message\/rfc822\b/i.test(type) && !this.#isBase64) this.#place = "header";
    else {
      this.#place = "body";
      this.#bodyBegin = end;
    }
  }

  #endBody(end: number): void {
    if (end - this.#bodyBegin < this.#smallestBytes) return;
    this.#found.push({ begin: this.#bodyBegin, end, isBase64: this.#isBase64 });
  }
}
