// The codec's XDR, made strict: it reads lengths beyond the record, repairs text that is not UTF-8, and reads a length
// of four gigabytes byte by byte. Any such thing is a RangeError here, which the codec's decoders take for a message
// that cannot be read.
import { Reader } from "@jsonjoy.com/buffers/lib/Reader.js";
import { XdrDecoder } from "@jsonjoy.com/json-pack/lib/xdr/XdrDecoder.js";
import { MountDecoder } from "@jsonjoy.com/json-pack/lib/nfs/v3/mount/MountDecoder.js";
import { Nfsv3Decoder } from "@jsonjoy.com/json-pack/lib/nfs/v3/Nfsv3Decoder.js";
import type { MountRequest } from "@jsonjoy.com/json-pack/lib/nfs/v3/mount/messages.js";
import type { Nfsv3Request } from "@jsonjoy.com/json-pack/lib/nfs/v3/messages.js";

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Bytes of XDR are filled up to a multiple of four. */
const padded = (size: number): number => Math.ceil(size / 4) * 4;

export class StrictXdr extends XdrDecoder<Reader> {
  override readOpaque(size: number): Uint8Array {
    if (padded(size) > this.reader.size()) throw new RangeError("a length beyond the record");
    return super.readOpaque(size);
  }

  override readString(): string {
    const bytes = this.readVarlenOpaque();
    try {
      return UTF8.decode(bytes);
    } catch {
      throw new RangeError("text that is not UTF-8");
    }
  }

  /** @throws RangeError when something follows. */
  end(): void {
    if (this.reader.size() !== 0) throw new RangeError("bytes after the message");
  }
}

export function strictXdr(bytes: Uint8Array): StrictXdr {
  return new StrictXdr(new Reader(bytes));
}

class StrictNfs extends Nfsv3Decoder {
  protected override readonly xdr = strictXdr(new Uint8Array());
}

class StrictMount extends MountDecoder {
  protected override readonly xdr = strictXdr(new Uint8Array());
}

const nfs = new StrictNfs();
const mount = new StrictMount();

/** Returns undefined for arguments that cannot be read, or that are followed by something. */
export function decodeNfs(params: Uint8Array, proc: number): Nfsv3Request | undefined {
  return whole(params, (reader) => nfs.decodeMessage(reader, proc, true) as Nfsv3Request | undefined);
}

/** The same of MOUNT. */
export function decodeMount(params: Uint8Array, proc: number): MountRequest | undefined {
  return whole(params, (reader) => mount.decodeMessage(reader, proc, true) as MountRequest | undefined);
}

function whole<T>(params: Uint8Array, decode: (reader: Reader) => T | undefined): T | undefined {
  const reader = new Reader(params);
  try {
    const decoded = decode(reader);
    return decoded !== undefined && reader.size() === 0 ? decoded : undefined;
  } catch {
    // It throws for a procedure that it does not know.
    return undefined;
  }
}
