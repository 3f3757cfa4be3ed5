// The end of a log as it was written, in memory: what is appended is often read again at once.

/** Bytes that are kept at the most, besides the last batch. */
const TAIL_BYTES_MAX = 512 * 1024;

interface Written {
  segment: number;
  start: number;
  bytes: Uint8Array;
}

export class WrittenTail {
  #batches: Written[] = [];
  #bytes = 0;

  /** Keeps what was written at `start` of a segment. The caller leaves the bytes as they are. */
  add(segment: number, start: number, bytes: Uint8Array): void {
    if (bytes.length > TAIL_BYTES_MAX) return;
    this.#batches.push({ segment, start, bytes });
    this.#bytes += bytes.length;
    while (this.#bytes > TAIL_BYTES_MAX) this.#bytes -= this.#batches.shift()?.bytes.length ?? 0;
  }

  /** @returns a copy; undefined for what is not kept. */
  read(segment: number, offset: number, length: number): Uint8Array | undefined {
    const found = this.#batches.findLast((each) => each.segment === segment && each.start <= offset);
    const at = offset - (found?.start ?? 0);
    return found !== undefined && at + length <= found.bytes.length ? found.bytes.slice(at, at + length) : undefined;
  }

  /** Forgets segments before this one. */
  dropBefore(segment: number): void {
    this.#batches = this.#batches.filter((each) => each.segment >= segment);
    this.#bytes = this.#batches.reduce((sum, { bytes }) => sum + bytes.length, 0);
  }
}
