// Cuts a stream of bytes into lines, with a bound on their length. Pure; the socket is elsewhere.
import { RunnelError } from "../errors.ts";

const NEWLINE = 0x0a;

export class LineSplitter {
  #parts: Uint8Array[] = [];
  #partBytes = 0;
  readonly #lineBytesMax: number;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });

  constructor(lineBytesMax: number) {
    this.#lineBytesMax = lineBytesMax;
  }

  /**
   * The lines that these bytes complete, without their ends. @throws RunnelError TooLarge, Invalid (not UTF-8); useless
   * afterwards.
   */
  push(bytes: Uint8Array): string[] {
    const lines: string[] = [];
    let start = 0;
    for (;;) {
      const end = bytes.indexOf(NEWLINE, start);
      this.#keep(bytes.subarray(start, end === -1 ? undefined : end));
      if (end === -1) return lines;
      lines.push(this.#take());
      start = end + 1;
    }
  }

  #keep(part: Uint8Array): void {
    this.#partBytes += part.length;
    if (this.#partBytes > this.#lineBytesMax) {
      throw new RunnelError("TooLarge", "read a call's message", "A message is too long.", {
        detail: { limit: this.#lineBytesMax },
      });
    }
    if (part.length > 0) this.#parts.push(part);
  }

  #take(): string {
    const line = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#partBytes = 0;
    try {
      return this.#decoder.decode(line);
    } catch (error) {
      throw new RunnelError("Invalid", "read a call's message", "A message is not UTF-8.", { cause: error });
    }
  }
}
