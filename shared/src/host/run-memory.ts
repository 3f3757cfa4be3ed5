// Memory for runs that pass through, used again and again: a fresh megabyte for each keeps the garbage collector busier
// than all other work of a large transfer.
import { LIMITS } from "../limits.ts";

/** Shorter runs are not worth a whole buffer. */
const WORTH_BYTES = 64 * 1024;

export class RunMemory {
  private readonly keptMax: number;
  private readonly kept: ArrayBufferLike[] = [];

  /** Keeps up to `keptMax` buffers while nobody uses them. */
  constructor(keptMax: number) {
    this.keptMax = keptMax;
  }

  /** Exactly `length` bytes, of any content. */
  take(length: number): Uint8Array {
    if (length < WORTH_BYTES || length > LIMITS.runBytes) return new Uint8Array(length);
    return new Uint8Array(this.kept.pop() ?? Buffer.allocUnsafeSlow(LIMITS.runBytes).buffer, 0, length);
  }

  /**
   * Takes back bytes that `take` gave and that are no longer used. To be called once at the most; memory that is never
   * given back is collected like all else.
   */
  giveBack({ buffer }: Uint8Array): void {
    if (buffer.byteLength === LIMITS.runBytes && this.kept.length < this.keptMax) this.kept.push(buffer);
  }
}
