// The sqlite engine of MetaStore: a worker thread owns the database, this side sends it calls. Calls of one turn of the
// event loop go in one message and are answered in one; what crosses is copied, nothing is shared.
import { access } from "node:fs/promises";
import { Worker } from "node:worker_threads";
import { RunnelError } from "@runnel/shared/model";
import type { ErrorDetail, ErrorKind } from "@runnel/shared";
import type { SyncMetaStore } from "../meta-core.ts";
import { MetaFront } from "../meta-front.ts";
import type { Creation } from "../first-rows.ts";
import type { MetaStore } from "../meta-store.ts";
import { ownCopy } from "../own-copy.ts";
import { metaFile } from "./files.ts";

export { removeSqliteMetaStore } from "./files.ts";

export interface Opening {
  folder: string;
  create?: Creation;
}

export interface Call {
  method: keyof SyncMetaStore;
  args: unknown[];
}

export interface ThrownError {
  message: string;
  /** Absent for a mistake in the program. */
  runnel?: { kind: ErrorKind; operation: string; detail: ErrorDetail };
}

export type Answer = { ok: true; value: unknown } | { ok: false; error: ThrownError };

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

function toError({ message, runnel }: ThrownError): Error {
  if (runnel === undefined) return new Error(message);
  return new RunnelError(runnel.kind, runnel.operation, message, { detail: runnel.detail });
}

class MetaWorker {
  readonly #worker: Worker;
  /** Calls in their order, which is that of the answers; the first waits for the opening. */
  readonly #waiting: Waiting[] = [];
  #unsent: Call[] = [];
  #end: Error | undefined;
  readonly exited: Promise<void>;

  constructor(opening: Opening) {
    this.#worker = new Worker(new URL("./worker.ts", import.meta.url), { workerData: opening });
    this.#worker.on("message", (answers: Answer[]) => this.#take(answers));
    this.#worker.on("error", (error) => this.#fail(error));
    const { promise, resolve } = Promise.withResolvers<void>();
    this.exited = promise;
    this.#worker.on("exit", () => {
      this.#fail(undefined);
      resolve();
    });
  }

  #take(answers: Answer[]): void {
    for (const answer of answers) {
      const waiting = this.#waiting.shift();
      if (answer.ok) waiting?.resolve(answer.value);
      else waiting?.reject(toError(answer.error));
    }
  }

  #fail(cause: unknown): void {
    this.#end ??= new RunnelError("Io", "use meta store", "The thread of the meta store has ended.", { cause });
    for (const waiting of this.#waiting.splice(0)) waiting.reject(this.#end);
  }

  #wait(): Promise<unknown> {
    if (this.#end !== undefined) return Promise.reject(this.#end);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.push({ resolve, reject });
    return promise;
  }

  /** Once, before any call. */
  async opened(): Promise<void> {
    await this.#wait();
  }

  call(method: keyof SyncMetaStore, args: unknown[]): Promise<unknown> {
    if (this.#unsent.length === 0) queueMicrotask(() => this.#send());
    this.#unsent.push({ method, args: ownCopy(args) });
    return this.#wait();
  }

  #send(): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a window's, not a worker's
    this.#worker.postMessage(this.#unsent);
    this.#unsent = [];
  }
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/**
 * Opens the meta store in a folder, or creates one there. @throws Exists (create), NotFound, Version for one written by
 * a newer Runnel, Corrupt for a damaged one: it has to be removed and rebuilt (removeSqliteMetaStore).
 */
export async function openSqliteMetaStore(folder: string, options: { create?: Creation } = {}): Promise<MetaStore> {
  // A thread takes longer to find that out.
  if (options.create === undefined && !(await isThere(metaFile(folder))))
    throw new RunnelError("NotFound", "open meta store", "There is no meta store.");
  const worker = new MetaWorker({ folder, ...options });
  try {
    await worker.opened();
  } catch (error) {
    await worker.exited;
    throw error;
  }
  return new MetaFront(async (method, ...args) => {
    const value = await worker.call(method, args);
    if (method === "close") await worker.exited;
    return value as never;
  });
}
