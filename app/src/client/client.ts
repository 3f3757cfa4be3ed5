// A client for programs on Node: it puts and gets objects through the agent of this user, which is started where none
// runs. Bytes never go through the agent's socket: it is told of files, and says where they are.
import {
  type CallClient,
  type ChunkKind,
  type Clock,
  type ObjectUri,
  RunnelError,
  parseObjectUri,
} from "@runnel/shared/base";
import type { z } from "zod";
import { openAgent } from "../cli/agent-connection.ts";
import { copySchemas, getSchemas, putSchemas } from "../verbs/objects/schemas.ts";
import { putSpooled } from "./host/put-spooled.ts";
import { type ObjectBytes, readObject } from "./host/read-object.ts";

export type { ChunkKind, Clock, ObjectBytes, ObjectUri };

const TABLE = { put: putSchemas, get: getSchemas, copy: copySchemas };

export type PutResult = z.output<typeof putSchemas.gives>;
export type GetResult = z.output<typeof getSchemas.gives>;
export type CopyResult = z.output<typeof copySchemas.gives>;
/** Files and bytes that have been copied, and the path that is copied now. */
export type CopyProgress = z.output<typeof copySchemas.part>;

export interface CopyOptions {
  /** A folder with all in it. */
  isRecursive?: boolean;
  signal?: AbortSignal;
  /** Called before each file and folder. */
  progress?(copied: CopyProgress): void;
}

interface CallOptions {
  signal?: AbortSignal;
  /** Called with how many bytes are done, of all. */
  progress?(done: number, all: number): void;
}

export interface PutOptions extends CallOptions {
  /** A path in a drive, or wss://HOST:PORT/VOLUME; left out: the one drive there is. */
  to?: string;
  /** Time that it lives at least; left out: a week. */
  lifeMs?: number;
  /** Left out: "content". docs/transfer.md says when "fixed" is better. */
  chunks?: ChunkKind;
}

export class Client {
  readonly #calls: CallClient<typeof TABLE>;

  constructor(calls: CallClient<typeof TABLE>) {
    this.#calls = calls;
  }

  /**
   * Puts a file, by its absolute path, or what a stream brings, which is kept on the disk until it is put. @throws
   * RunnelError: Invalid, ReadOnly, Quota, NoSpace, Unreachable, Interrupted by the signal.
   */
  async put(content: string | AsyncIterable<Uint8Array>, options: PutOptions = {}): Promise<PutResult> {
    const { to, lifeMs, chunks, signal, progress } = options;
    mustGoOn("put", signal);
    const ask = (file: string): Promise<PutResult> =>
      this.#calls.ask("put", { file, to, lifeMs, chunks }, (part) => progress?.(part.done, part.all), signal);
    if (typeof content === "string") return ask(content);
    try {
      return await putSpooled(content, ask, signal);
    } catch (error) {
      if (!(error instanceof RunnelError)) mustGoOn("put", signal);
      throw error;
    }
  }

  /** Yields all bytes in their order, as they are here and right. @throws RunnelError: NotFound, Denied, Corrupt… */
  async *get(uri: string, options: CallOptions = {}): AsyncGenerator<Uint8Array> {
    for await (const { bytes } of readObject(this.#calls, uri, { ...options, isInOrder: true })) yield bytes;
  }

  /** Yields bytes with their offsets, those first that are here first. @throws as `get`. */
  getUnordered(uri: string, options: CallOptions = {}): AsyncGenerator<ObjectBytes> {
    return readObject(this.#calls, uri, { ...options, isInOrder: false });
  }

  /** Gets into a file, by its absolute path, which is there whole or not at all. @throws as `get`. */
  async getToFile(uri: string, file: string, { signal, progress }: CallOptions = {}): Promise<GetResult> {
    mustGoOn("get", signal);
    const mode = NEW_FILE_MODE & ~process.umask();
    let done = 0;
    const part = ({ length, all }: { length: number; all: number }): void => progress?.((done += length), all);
    return this.#calls.ask("get", { uri, file, mode }, part, signal);
  }

  /** Copies between absolute paths and addresses wss://HOST:PORT/VOLUME/PATH. @throws RunnelError, as `runnel cp`. */
  async copy(
    from: string,
    to: string,
    { isRecursive = false, signal, progress }: CopyOptions = {},
  ): Promise<CopyResult> {
    mustGoOn("copy", signal);
    return this.#calls.ask("copy", { from, to, isRecursive }, progress, signal);
  }

  close(): void {
    this.#calls.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

const NEW_FILE_MODE = 0o666;

/** Connects to the agent of this user (RUNNEL_HOME). @throws Unavailable, Version. */
export async function connect(): Promise<Client> {
  return new Client(await openAgent(TABLE));
}

/** Reads a URI without asking anybody. @throws Invalid. */
export function readUri(uri: string): ObjectUri {
  return parseObjectUri(uri);
}

function mustGoOn(operation: string, signal: AbortSignal | undefined): void {
  if (signal?.aborted === true)
    throw new RunnelError("Interrupted", operation, `The ${operation} was ended before it was done.`);
}
