// Record marking of RPC over TCP (RFC 5531, section 11): cuts a stream into records. Pure. Keeps no more than one
// record's bytes, in memory that grows with what has come: neither a header nor many small pieces cost more. The
// codec's own has no bounds.
import { FRAGMENTS_MAX, RECORD_BYTES_MAX } from "./bounds.ts";

const LAST = 0x8000_0000;
const HEADER_BYTES = 4;
/** Room for what is to come, in relation to what has come. */
const GROWTH = 4;
const NOTHING = Buffer.alloc(0);

export class RecordSplitter {
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerBytes = 0;
  /** Bytes that the fragment still lacks; undefined between fragments. */
  #missing: number | undefined;
  #isLast = false;
  #fragments = 0;
  /** Bytes of the record, as its headers say so far. */
  #announced = 0;
  /** The record as it comes, and how much of it has come. */
  #record = NOTHING;
  #filled = 0;

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
      const piece = chunk.subarray(at, at + length);
      at += length;
      this.#missing -= length;
      if (this.#missing === 0 && this.#isLast) {
        records.push(this.#end(piece));
        continue;
      }
      this.#append(piece);
      if (this.#missing === 0) this.#missing = undefined;
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
    this.#announced += size;
    if (this.#announced > RECORD_BYTES_MAX || this.#fragments > FRAGMENTS_MAX)
      throw new RangeError(`a record of more than ${RECORD_BYTES_MAX} bytes or ${FRAGMENTS_MAX} fragments`);
    this.#missing = size;
    return from + length;
  }

  #append(piece: Buffer): void {
    const filled = this.#filled + piece.length;
    if (filled > this.#record.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(filled, Math.min(this.#announced, GROWTH * this.#filled)));
      this.#record.copy(grown, 0, 0, this.#filled);
      this.#record = grown;
    }
    piece.copy(this.#record, this.#filled);
    this.#filled = filled;
  }

  #end(last: Buffer): Buffer {
    let record = last;
    if (this.#filled > 0) {
      this.#append(last);
      record = this.#record.subarray(0, this.#filled);
    }
    this.#missing = undefined;
    this.#record = NOTHING;
    this.#filled = 0;
    this.#announced = 0;
    this.#fragments = 0;
    return record;
  }
}
