// Calls and replies of ONC RPC (RFC 5531): what a record asks for and who says so, and the bytes of answers. Pure.
import { Reader } from "@jsonjoy.com/buffers/lib/Reader.js";
import { Writer } from "@jsonjoy.com/buffers/lib/Writer.js";
import { MountEncoder } from "@jsonjoy.com/json-pack/lib/nfs/v3/mount/MountEncoder.js";
import type { MountResponse } from "@jsonjoy.com/json-pack/lib/nfs/v3/mount/messages.js";
import type { Nfsv3Response } from "@jsonjoy.com/json-pack/lib/nfs/v3/messages.js";
import { Nfsv3Encoder } from "@jsonjoy.com/json-pack/lib/nfs/v3/Nfsv3Encoder.js";
import { RpcCallMessage, RpcOpaqueAuth } from "@jsonjoy.com/json-pack/lib/rpc/messages.js";
import { RpcMessageDecoder } from "@jsonjoy.com/json-pack/lib/rpc/RpcMessageDecoder.js";
import { RpcMessageEncoder } from "@jsonjoy.com/json-pack/lib/rpc/RpcMessageEncoder.js";
import { GROUPS_MAX } from "./bounds.ts";
import { ACCEPT, type AcceptStat, FLAVOR, REJECT, RPC_VERSION } from "./constants.ts";
import { strictXdr } from "./strict-xdr.ts";

/** A user, as a client says (AUTH_SYS): a claim, which only its connection can prove. */
export interface Credentials {
  uid: number;
  gid: number;
  gids: readonly number[];
}

export interface Call {
  xid: number;
  rpcVersion: number;
  program: number;
  version: number;
  procedure: number;
  /** Undefined: none were sent; "bad": they cannot be read. */
  credentials: Credentials | "bad" | undefined;
  params: Uint8Array;
}

const RECORD_HEADER_BYTES = 4;
/** Room for the header of a reply, and for attributes; the codec writes short text without asking for room. */
const REPLY_BYTES = 1024;
const LAST = 0x8000_0000;

const decoder = new RpcMessageDecoder();
const writer = new Writer(REPLY_BYTES);
const rpcEncoder = new RpcMessageEncoder(writer);
const nfsEncoder = new Nfsv3Encoder(writer);
const mountEncoder = new MountEncoder(writer);
const NO_VERIFIER = new RpcOpaqueAuth(FLAVOR.NONE, new Reader(new Uint8Array()));

/** Returns undefined for what is no call: nobody could be answered. */
export function parseCall(record: Uint8Array): Call | undefined {
  let message;
  try {
    message = decoder.decodeMessage(new Reader(record));
  } catch {
    return undefined;
  }
  if (!(message instanceof RpcCallMessage)) return undefined;
  const { xid, rpcvers, prog, vers, proc, cred, params } = message;
  return {
    xid,
    rpcVersion: rpcvers,
    program: prog,
    version: vers,
    procedure: proc,
    credentials: parseCredentials(cred),
    params: params === undefined ? new Uint8Array() : bytesOf(params),
  };
}

function bytesOf(reader: Pick<Reader, "subarray" | "size">): Uint8Array {
  return reader.subarray(0, reader.size());
}

/** authsys_parms: stamp, machine, uid, gid, groups. */
function parseCredentials({ flavor, body }: RpcOpaqueAuth): Credentials | "bad" | undefined {
  if (flavor === FLAVOR.NONE) return undefined;
  if (flavor !== FLAVOR.SYS) return "bad";
  try {
    const xdr = strictXdr(bytesOf(body));
    xdr.readUnsignedInt();
    xdr.readVarlenOpaque();
    const uid = xdr.readUnsignedInt();
    const gid = xdr.readUnsignedInt();
    const count = xdr.readUnsignedInt();
    if (count > GROUPS_MAX) return "bad";
    const gids = Array.from({ length: count }, () => xdr.readUnsignedInt());
    xdr.end();
    return { uid, gid, gids };
  } catch {
    return "bad";
  }
}

/** A record that answers a call; `write` writes what it resulted in, of no more than so many bytes. */
function recordWith(bytesMax: number, write: () => void): Buffer {
  writer.newBuffer(RECORD_HEADER_BYTES + REPLY_BYTES + bytesMax);
  writer.u32(0);
  write();
  const bytes = writer.flush();
  const reply = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  reply.writeUInt32BE(LAST + reply.length - RECORD_HEADER_BYTES);
  return reply;
}

/** `bytesMax`: of data and text in the response. */
export function nfsReply({ xid, procedure }: Call, response: Nfsv3Response, bytesMax: number): Buffer {
  return recordWith(bytesMax, () => {
    rpcEncoder.writeAcceptedReply(xid, NO_VERIFIER, ACCEPT.SUCCESS);
    nfsEncoder.writeMessage(response, procedure, false);
  });
}

export function mountReply({ xid, procedure }: Call, response: MountResponse): Buffer {
  return recordWith(0, () => {
    rpcEncoder.writeAcceptedReply(xid, NO_VERIFIER, ACCEPT.SUCCESS);
    mountEncoder.writeMessage(response, procedure, false);
  });
}

/** An answer without results: of NULL, and of a call that cannot be carried out. */
export function bareReply({ xid }: Call, accept: AcceptStat, versions?: { low: number; high: number }): Buffer {
  return recordWith(0, () => rpcEncoder.writeAcceptedReply(xid, NO_VERIFIER, accept, versions));
}

export function authRefused({ xid }: Call, authStat: number): Buffer {
  return recordWith(0, () => rpcEncoder.writeRejectedReply(xid, REJECT.AUTH_ERROR, undefined, authStat));
}

export function rpcMismatch({ xid }: Call): Buffer {
  const only = { low: RPC_VERSION, high: RPC_VERSION };
  return recordWith(0, () => rpcEncoder.writeRejectedReply(xid, REJECT.RPC_MISMATCH, only));
}
