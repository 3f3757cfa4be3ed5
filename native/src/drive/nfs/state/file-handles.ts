// File handles: the number of a node, the epoch of the volume in which it means something, and a signature. Nobody who
// was not given one can make one up, and each holds for one life of a drive: whoever has one has been let in by this
// process. Pure.
import { createHmac, hash, randomBytes, timingSafeEqual } from "node:crypto";
import { STATUS } from "../wire/constants.ts";
import { NfsError } from "../status.ts";

const NODE_BYTES = 8;
const EPOCH_BYTES = 8;
const SIGNED_BYTES = NODE_BYTES + EPOCH_BYTES;
const SIGNATURE_BYTES = 16;

export class FileHandles {
  readonly #key: Buffer;
  readonly #epoch: () => string;
  #tag: { epoch: string; bytes: Buffer } | undefined;

  /** `epoch`: that of the volume, now. */
  constructor(epoch: () => string, key: Buffer = randomBytes(32)) {
    this.#key = key;
    this.#epoch = epoch;
  }

  seal(node: number): Buffer {
    const handle = Buffer.alloc(SIGNED_BYTES + SIGNATURE_BYTES);
    handle.writeBigUInt64BE(BigInt(node));
    this.#epochTag().copy(handle, NODE_BYTES);
    this.#sign(handle).copy(handle, SIGNED_BYTES);
    return handle;
  }

  /**
   * Returns the node. @throws NfsError BADHANDLE for what never was a handle, STALE for one of another drive, of an
   * earlier life of this one, or of an earlier epoch.
   */
  open(handle: Uint8Array): number {
    if (handle.length !== SIGNED_BYTES + SIGNATURE_BYTES) throw new NfsError(STATUS.BADHANDLE);
    const bytes = Buffer.from(handle.buffer, handle.byteOffset, handle.length);
    const isOurs = timingSafeEqual(this.#sign(bytes), bytes.subarray(SIGNED_BYTES));
    const isCurrent = this.#epochTag().equals(bytes.subarray(NODE_BYTES, SIGNED_BYTES));
    if (!isOurs || !isCurrent) throw new NfsError(STATUS.STALE);
    return Number(bytes.readBigUInt64BE());
  }

  /** Tells the file system from others (fsid), for as long as its numbers mean the same. */
  fileSystemId(): bigint {
    return this.#epochTag().readBigUInt64BE();
  }

  #sign(handle: Buffer): Buffer {
    const signed = handle.subarray(0, SIGNED_BYTES);
    return createHmac("sha256", this.#key).update(signed).digest().subarray(0, SIGNATURE_BYTES);
  }

  #epochTag(): Buffer {
    const epoch = this.#epoch();
    if (this.#tag?.epoch !== epoch)
      this.#tag = { epoch, bytes: hash("sha256", epoch, "buffer").subarray(0, EPOCH_BYTES) };
    return this.#tag.bytes;
  }
}
