// Requests of NFS calls to the drive: by the number of a node, which each call looks up anew, since a client keeps
// numbers for as long as it likes. Nothing of a call stays behind it but what is open.
import { ERRNO_OF_KIND } from "../errno-of-kind.ts";
import type { ProgramStat, Request, RequestResult } from "../program.ts";
import { NfsError, STATUS_OF_KIND } from "./status.ts";
import { STATUS } from "./wire/constants.ts";
import type { Credentials } from "./wire/rpc.ts";

export interface Reached {
  /** The drive's id, good until the call ends. */
  id: number;
  node: number;
  stat: ProgramStat;
}

export class NodeCalls {
  readonly #request: Request;

  constructor(request: Request) {
    this.#request = request;
  }

  /** @throws NfsError */
  async call(who: Credentials, op: string, args: object): Promise<RequestResult> {
    const result = await this.#request(op, { callerUid: who.uid, callerGid: who.gid, callerPid: 0, ...args });
    if (result.error !== ERRNO_OF_KIND[""]) throw new NfsError(STATUS_OF_KIND[result.kind ?? "Io"]);
    return result;
  }

  /** Does it for a node, and once more where the drive has another id for it by then. @throws NfsError */
  async withNode<T>(who: Credentials, node: number, what: (reached: Reached) => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      const reached = await this.#found(who, "reach", { node, wantsParent: false });
      try {
        return await what(reached);
      } catch (error) {
        if (!(error instanceof NfsError) || error.status !== STATUS.STALE || attempt > 0) throw error;
      } finally {
        await this.forget(who, reached.id);
      }
    }
  }

  /** Looks up a name as it is given; the caller forgets what it found. @throws NfsError, but for NOENT */
  async findName(who: Credentials, folder: number, name: string): Promise<Reached | undefined> {
    try {
      return await this.#found(who, "lookup", { folder, name });
    } catch (error) {
      if (error instanceof NfsError && error.status === STATUS.NOENT) return undefined;
      throw error;
    }
  }

  /** The folder above. @throws NfsError */
  async withParent<T>(who: Credentials, node: number, what: (found: Reached) => Promise<T>): Promise<T> {
    const found = await this.#found(who, "reach", { node, wantsParent: true });
    try {
      return await what(found);
    } finally {
      await this.forget(who, found.id);
    }
  }

  async #found(who: Credentials, op: string, args: object): Promise<Reached> {
    const { stat } = await this.call(who, op, args);
    if (stat === undefined) throw new NfsError(STATUS.IO);
    return { id: stat.id, node: stat.ino, stat };
  }

  /** The attributes of now, of whatever still has some. */
  async statOf(who: Credentials, id: number): Promise<ProgramStat | undefined> {
    try {
      return (await this.call(who, "getattr", { id })).stat;
    } catch {
      return undefined;
    }
  }

  async forget(who: Credentials, id: number): Promise<void> {
    await this.call(who, "forget", { id, lookups: 1 });
  }
}
