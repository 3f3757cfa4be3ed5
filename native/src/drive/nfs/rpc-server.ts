// Answers the calls of a connection: who asks, what for, and whether that may be done twice. Knows no socket.
import type { MountResponse } from "@jsonjoy.com/json-pack/lib/nfs/v3/mount/messages.js";
import type { Nfsv3Response } from "@jsonjoy.com/json-pack/lib/nfs/v3/messages.js";
import type { Answer } from "./connection.ts";
import { failed, type NfsContext } from "./context.ts";
import { type Export, MountProgram } from "./mount-program.ts";
import { PROCEDURES } from "./procedures/index.ts";
import { ReplyCache } from "./state/reply-cache.ts";
import { NfsError } from "./status.ts";
import { PAGE_BYTES_MAX, PATH_BYTES_MAX, TRANSFER_BYTES_MAX } from "./wire/bounds.ts";
import {
  ACCEPT,
  AUTH,
  MOUNT_PROC,
  MOUNT_PROGRAM,
  NFS_PROC,
  NFS_PROGRAM,
  RPC_VERSION,
  STATUS,
  VERSION_3,
} from "./wire/constants.ts";
import {
  authRefused,
  bareReply,
  type Call,
  type Credentials,
  mountReply,
  nfsReply,
  parseCall,
  rpcMismatch,
} from "./wire/rpc.ts";
import { decodeMount, decodeNfs } from "./wire/strict-xdr.ts";

export interface RpcServerDeps {
  context: NfsContext;
  export: Export;
  /** The one user who is served. */
  uid: number;
  log(message: string, error?: unknown): void;
}

/** Bytes of data and text that an answer may have. */
const ANSWER_BYTES = new Map<number, number>([
  [NFS_PROC.READ, TRANSFER_BYTES_MAX],
  [NFS_PROC.READDIR, PAGE_BYTES_MAX],
  [NFS_PROC.READDIRPLUS, PAGE_BYTES_MAX],
  [NFS_PROC.READLINK, PATH_BYTES_MAX],
]);
const ONLY_3 = { low: VERSION_3, high: VERSION_3 };
const withoutProof = (record: Buffer): Answer => ({ record, isProof: false });

export class RpcServer {
  readonly #deps: RpcServerDeps;
  readonly #mount: MountProgram;
  readonly #replies: ReplyCache;

  constructor(deps: RpcServerDeps) {
    this.#deps = deps;
    this.#mount = new MountProgram(deps.context, deps.export);
    this.#replies = new ReplyCache(deps.context.clock);
  }

  /** Answers a record; undefined: it is no call. Never throws. */
  async answer(record: Uint8Array): Promise<Answer | undefined> {
    const call = parseCall(record);
    if (call === undefined) return undefined;
    try {
      return await this.#answer(call);
    } catch (error) {
      this.#deps.log("an NFS call failed", error);
      return withoutProof(bareReply(call, ACCEPT.SYSTEM_ERR));
    }
  }

  async #answer(call: Call): Promise<Answer> {
    const who = call.credentials;
    const reply = userlessReply(call);
    if (reply !== undefined) return withoutProof(reply);
    if (who === undefined) return withoutProof(authRefused(call, AUTH.TOOWEAK));
    if (who === "bad") return withoutProof(authRefused(call, AUTH.BADCRED));
    return call.program === NFS_PROGRAM ? this.#answerNfs(call, who) : this.#answerMount(call, who);
  }

  async #answerNfs(call: Call, who: Credentials): Promise<Answer> {
    const procedure = PROCEDURES.get(call.procedure);
    if (procedure === undefined) return withoutProof(bareReply(call, ACCEPT.PROC_UNAVAIL));
    const isUser = who.uid === this.#deps.uid;
    if (!isUser && !(who.uid === 0 && procedure.isForRoot)) return withoutProof(authRefused(call, AUTH.TOOWEAK));
    const request = decodeNfs(call.params, call.procedure);
    if (request === undefined) return withoutProof(bareReply(call, ACCEPT.GARBAGE_ARGS));
    const carryOut = async (): Promise<Answer> => {
      const response = await this.#respond(() => procedure.carryOut(this.#deps.context, who, request));
      const record = nfsReply(call, response, ANSWER_BYTES.get(call.procedure) ?? 0);
      // Nothing succeeds without a handle.
      return { record, isProof: response.status === STATUS.OK };
    };
    return procedure.isOnce ? this.#replies.answer(call, who.uid, carryOut) : carryOut();
  }

  async #respond(work: () => Promise<Nfsv3Response>): Promise<Nfsv3Response> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof NfsError) return failed(error.status) as Nfsv3Response;
      this.#deps.log("an NFS call failed", error);
      return failed(STATUS.SERVERFAULT) as Nfsv3Response;
    }
  }

  async #answerMount(call: Call, who: Credentials): Promise<Answer> {
    if (call.procedure > MOUNT_PROC.EXPORT) return withoutProof(bareReply(call, ACCEPT.PROC_UNAVAIL));
    if (who.uid !== this.#deps.uid && who.uid !== 0) return withoutProof(authRefused(call, AUTH.TOOWEAK));
    const request = decodeMount(call.params, call.procedure);
    if (request === undefined) return withoutProof(bareReply(call, ACCEPT.GARBAGE_ARGS));
    const response: MountResponse | undefined = await this.#mount.carryOut(call.procedure, who, request);
    if (response === undefined) return withoutProof(bareReply(call, ACCEPT.SUCCESS));
    return { record: mountReply(call, response), isProof: "status" in response && response.status === STATUS.OK };
  }
}

/** The reply to a call that is for no user: of another protocol, or NULL, which asks whether somebody is there. */
function userlessReply(call: Call): Buffer | undefined {
  if (call.rpcVersion !== RPC_VERSION) return rpcMismatch(call);
  if (call.program !== NFS_PROGRAM && call.program !== MOUNT_PROGRAM) return bareReply(call, ACCEPT.PROG_UNAVAIL);
  if (call.version !== VERSION_3) return bareReply(call, ACCEPT.PROG_MISMATCH, ONLY_3);
  // It has that number in every program.
  if (call.procedure === NFS_PROC.NULL) return bareReply(call, ACCEPT.SUCCESS);
  return undefined;
}
