// A client of our own, which sends what no library does.
import { connect } from "node:net";
import type { Nfsv3Request } from "@jsonjoy.com/json-pack/lib/nfs/v3/messages.js";
import { MOUNT_PROC, NFS_PROC } from "../../src/drive/nfs/wire/constants.ts";
import { RecordSplitter } from "../../src/drive/nfs/wire/record-splitter.ts";
import { type Asked, mountCall, nfsCall, readReply, recordOf } from "./nfs-calls.ts";

export { NFS_PROC, STABLE, STATUS } from "../../src/drive/nfs/wire/constants.ts";

/** A file handle as the codec has it. */
export interface FileHandle {
  data: Uint8Array;
}

const UNSET = { set: false };
/** Attributes of a SETATTR or CREATE that says nothing. */
export const NO_CHANGE = { mode: UNSET, uid: UNSET, gid: UNSET, size: UNSET, atime: { how: 0 }, mtime: { how: 0 } };

/** The result of a call that has succeeded. */
export function resultOf<T>({ response }: { response: unknown }): T {
  return (response as { resok: T }).resok;
}

export class RawClient {
  readonly #path: string;
  readonly #socket;
  readonly #splitter = new RecordSplitter();
  /** Callers that wait for an answer, by the number of the call; they get none where the connection has ended. */
  readonly #waiting = new Map<number, (record?: Buffer) => void>();
  #xid = 1;
  isClosed = false;

  /** Connects to a drive by its address. */
  constructor(address: string) {
    const { pathname, searchParams } = new URL(address);
    this.#path = pathname;
    this.#socket = connect(Number(searchParams.get("nfsport")), "127.0.0.1");
    this.#socket.setNoDelay(true);
    this.#socket.on("data", (chunk) => {
      for (const record of this.#splitter.push(chunk)) this.#waiting.get(record.readUInt32BE())?.(record);
    });
    this.#socket.on("error", () => undefined);
    this.#socket.on("close", () => {
      this.isClosed = true;
      for (const answer of this.#waiting.values()) answer();
    });
  }

  send(bytes: Uint8Array): void {
    this.#socket.write(bytes);
  }

  end(): void {
    this.#socket.destroy();
  }

  /** Sends a call, and resolves with the record of its answer. @throws Error when the connection ends before it */
  async ask(message: Buffer): Promise<Buffer> {
    const xid = message.readUInt32BE();
    const answered = new Promise<Buffer | undefined>((resolve) => this.#waiting.set(xid, resolve));
    this.send(recordOf(message));
    const answer = this.isClosed ? undefined : await answered;
    this.#waiting.delete(xid);
    if (answer === undefined) throw new Error("closed");
    return Buffer.concat([Buffer.alloc(4), answer]);
  }

  async call(procedure: number, request: Nfsv3Request, asked: Partial<Asked> = {}) {
    const answer = await this.ask(nfsCall(procedure, request, { xid: this.#xid++, ...asked }));
    return readReply(answer, procedure);
  }

  /** The status of MNT, of the drive's path or another. */
  async mountStatus(path = this.#path): Promise<number> {
    return (await this.#mount(path)).readUInt32BE(STATUS_AT);
  }

  /** The handle of the root. */
  async mount(): Promise<FileHandle> {
    const answer = await this.#mount(this.#path);
    const at = STATUS_AT + 4;
    return { data: answer.subarray(at + 4, at + 4 + answer.readUInt32BE(at)) };
  }

  #mount(path: string): Promise<Buffer> {
    return this.ask(mountCall(MOUNT_PROC.MNT, path, { xid: this.#xid++ }));
  }

  /** Says that it has unmounted the drive. */
  async unmounted(): Promise<void> {
    await this.ask(mountCall(MOUNT_PROC.UMNT, this.#path, { xid: this.#xid++ }));
  }

  /** The handle of a name. */
  async lookup(dir: FileHandle, name: string): Promise<FileHandle> {
    return resultOf<{ object: FileHandle }>(await this.call(NFS_PROC.LOOKUP, { what: { dir, name } })).object;
  }
}

/** After the record's header and that of the reply. */
const STATUS_AT = 4 + 24;

/** Makes a file, which stays open for a while. */
export async function createFile(client: RawClient, dir: FileHandle, name: string): Promise<FileHandle> {
  const how = { mode: 1, objAttributes: NO_CHANGE };
  const made = await client.call(NFS_PROC.CREATE, { where: { dir, name }, how });
  return resultOf<{ obj: { handle: FileHandle } }>(made).obj.handle;
}
