// Record marking of RPC over TCP (RFC 5531, section 11): cuts a stream into records. Pure. Keeps no more than one
// record's bytes, which it takes as they come: a header alone reserves nothing. The codec's own has no bounds.
import { FRAGMENTS_MAX, RECORD_BYTES_MAX } from "./bounds.ts";

const LAST = 0x8000_0000;
const HEADER_BYTES = 4;

export class RecordSplitter {
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerBytes = 0;
  /** Bytes that the fragment still lacks; undefined between fragments. */
  #missing: number | undefined;
  #isLast = false;
  #fragments = 0;
  #parts: Buffer[] = [];
  #bytes = 0;

  /**
   * Takes what came, and returns the records that are whole now. They may share the memory of `chunk`.
   * @throws RangeError when the stream holds a record that is too long: nothing can be made of what follows.
   */
  push(chunk: Buffer): Buffer[] {
    const records: Buffer[] = [];
    let at = 0;
    while (at < chunk.length) {
      if (this.#missing === undefined) {
        at = this.#readHeader(chunk, at);
        if (this.#missing === undefined) break;
      }
      const length = Math.min(this.#missing, chunk.length - at);
      if (length > 0) this.#parts.push(chunk.subarray(at, at + length));
      at += length;
      this.#missing -= length;
      if (this.#missing > 0) break;
      this.#missing = undefined;
      if (this.#isLast) records.push(this.#take());
    }
    return records;
  }

  #readHeader(chunk: Buffer, from: number): number {
    const length = Math.min(HEADER_BYTES - this.#headerBytes, chunk.length - from);
    chunk.copy(this.#header, this.#headerBytes, from, from + length);
    this.#headerBytes += length;
    if (this.#headerBytes < HEADER_BYTES) return from + length;
    this.#headerBytes = 0;
    const header = this.#header.readUInt32BE();
    const size = header % LAST;
    this.#isLast = header >= LAST;
    this.#fragments += 1;
    this.#bytes += size;
    if (this.#bytes > RECORD_BYTES_MAX || this.#fragments > FRAGMENTS_MAX)
      throw new RangeError(`a record of more than ${RECORD_BYTES_MAX} bytes or ${FRAGMENTS_MAX} fragments`);
    this.#missing = size;
    return from + length;
  }

  #take(): Buffer {
    const [only = Buffer.alloc(0), ...more] = this.#parts;
    const record = more.length === 0 ? only : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#bytes = 0;
    this.#fragments = 0;
    return record;
  }
}
