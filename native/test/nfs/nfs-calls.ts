// Calls of NFS and MOUNT as a client makes them, for tests that send what no client library sends.
import { Reader } from "@jsonjoy.com/buffers/lib/Reader.js";
import { Writer } from "@jsonjoy.com/buffers/lib/Writer.js";
import { Nfsv3Decoder } from "@jsonjoy.com/json-pack/lib/nfs/v3/Nfsv3Decoder.js";
import { Nfsv3Encoder } from "@jsonjoy.com/json-pack/lib/nfs/v3/Nfsv3Encoder.js";
import type { Nfsv3Request, Nfsv3Response } from "@jsonjoy.com/json-pack/lib/nfs/v3/messages.js";
import { RpcAcceptedReplyMessage, RpcOpaqueAuth } from "@jsonjoy.com/json-pack/lib/rpc/messages.js";
import { RpcMessageDecoder } from "@jsonjoy.com/json-pack/lib/rpc/RpcMessageDecoder.js";
import { RpcMessageEncoder } from "@jsonjoy.com/json-pack/lib/rpc/RpcMessageEncoder.js";
import { FLAVOR, MOUNT_PROGRAM, NFS_PROGRAM, VERSION_3 } from "../../src/drive/nfs/wire/constants.ts";

export interface User {
  uid: number;
  gid: number;
}

export const ME: User = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

const NOBODY = new RpcOpaqueAuth(FLAVOR.NONE, new Reader(new Uint8Array()));

/** authsys_parms of a user without further groups. */
function authSys({ uid, gid }: User): RpcOpaqueAuth {
  const body = Buffer.alloc(5 * 4);
  [0, 0, uid, gid, 0].forEach((word, at) => body.writeUInt32BE(word, at * 4));
  return new RpcOpaqueAuth(FLAVOR.SYS, new Reader(body));
}

export interface Asked {
  xid: number;
  user?: User | undefined;
  program?: number;
  version?: number;
}

/** The bytes of a call, without the header of its record. */
export function callBytes(procedure: number, params: Uint8Array, { xid, user = ME, ...asked }: Asked): Buffer {
  const encoder = new RpcMessageEncoder();
  const { program = NFS_PROGRAM, version = VERSION_3 } = asked;
  return Buffer.from(encoder.encodeCall(xid, program, version, procedure, authSys(user), NOBODY, params));
}

export function nfsCall(procedure: number, request: Nfsv3Request, asked: Asked): Buffer {
  const writer = new Writer();
  return callBytes(procedure, new Nfsv3Encoder(writer).encodeMessage(request, procedure, true), asked);
}

/** MNT or UMNT of a path. */
export function mountCall(procedure: number, path: string, asked: Asked): Buffer {
  const text = Buffer.from(path);
  const params = Buffer.alloc(4 + Math.ceil(text.length / 4) * 4);
  params.writeUInt32BE(text.length);
  text.copy(params, 4);
  return callBytes(procedure, params, { ...asked, program: MOUNT_PROGRAM });
}

/** A record, in fragments of so many bytes. */
export function recordOf(message: Uint8Array, fragmentBytes = message.length): Buffer {
  const parts: Buffer[] = [];
  let at = 0;
  do {
    const part = message.subarray(at, at + fragmentBytes);
    at += part.length;
    const header = Buffer.alloc(4);
    header.writeUInt32BE((at >= message.length ? 0x8000_0000 : 0) + part.length);
    parts.push(header, Buffer.from(part));
  } while (at < message.length);
  return Buffer.concat(parts);
}

/** Reads the record of an answer; `response` undefined: it has no result of NFS. */
export function readReply(
  record: Uint8Array,
  procedure: number,
): { xid: number; accepted: number | undefined; response: Nfsv3Response | undefined } {
  const message = new RpcMessageDecoder().decodeMessage(new Reader(record.subarray(4)));
  if (message === undefined) throw new Error("no reply");
  if (!(message instanceof RpcAcceptedReplyMessage))
    return { xid: message.xid, accepted: undefined, response: undefined };
  const { xid, stat, results } = message;
  if (results === undefined) return { xid, accepted: stat, response: undefined };
  const response = new Nfsv3Decoder().decodeMessage(results, procedure, false) as Nfsv3Response | undefined;
  return { xid, accepted: stat, response };
}
