// Reads the bytes of an object from the agent's cache, where the agent says that they are here and right. The agent
// keeps them there until the request is cancelled, which is done when all has been read.
import { open, type FileHandle } from "node:fs/promises";
import { type CallClient, RunnelError, fromSystemError } from "@runnel/shared/base";
import type { z } from "zod";
import type { getSchemas } from "../../verbs/objects/schemas.ts";

/** Bytes of a content, at their offset. */
export interface ObjectBytes {
  offset: number;
  bytes: Uint8Array;
}

export interface ReadOptions {
  /** Else those first that are here first. */
  isInOrder: boolean;
  signal?: AbortSignal | undefined;
  /** Called with how many bytes are here, of all. */
  progress?: ((done: number, all: number) => void) | undefined;
}

type Part = z.output<typeof getSchemas.part>;

const PIECE_BYTES = 256 * 1024;

/** Yields bytes in memory that is the reader's. @throws the agent's refusals; Interrupted by the signal. */
export async function* readObject(
  client: CallClient<{ get: typeof getSchemas }>,
  uri: string,
  { isInOrder, signal, progress }: ReadOptions,
): AsyncGenerator<ObjectBytes> {
  const parts: Part[] = [];
  let wake: () => void = () => undefined;
  let failure: unknown;
  let hasEnded = false;
  const stop = new AbortController();
  const abort = (): void => stop.abort();
  if (signal?.aborted === true) throw interrupted();
  signal?.addEventListener("abort", abort);
  const answered = client
    .ask("get", { uri, isInOrder }, (part) => (parts.push(part), wake()), stop.signal)
    .catch((error: unknown) => {
      failure = error;
    })
    .finally(() => {
      hasEnded = true;
      wake();
    });
  stop.signal.addEventListener("abort", () => wake());
  let file: FileHandle | undefined;
  let done = 0;
  try {
    for (;;) {
      const part = parts.shift();
      if (stop.signal.aborted) throw interrupted();
      if (part === undefined) {
        if (failure !== undefined) throw failure;
        if (hasEnded) throw new RunnelError("Interrupted", "get", "The agent ended the get before all was here.");
        await new Promise<void>((resolve) => (wake = resolve));
        continue;
      }
      const { path, offset, length, all, isLast } = part;
      if (length > 0) file ??= await opened(path);
      progress?.((done += length), all);
      for (let at = 0; at < length; at += PIECE_BYTES)
        yield { offset: offset + at, bytes: await read(file, offset + at, Math.min(PIECE_BYTES, length - at)) };
      if (isLast) return;
    }
  } finally {
    signal?.removeEventListener("abort", abort);
    stop.abort();
    await file?.close();
    await answered;
  }
}

async function opened(path: string): Promise<FileHandle> {
  try {
    return await open(path, "r");
  } catch (error) {
    throw fromSystemError(error, "get");
  }
}

async function read(file: FileHandle | undefined, offset: number, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  for (let done = 0; done < length;) {
    const { bytesRead } = (await file?.read(bytes, done, length - done, offset + done)) ?? { bytesRead: 0 };
    if (bytesRead === 0) throw new RunnelError("Io", "get", "The cache's file is shorter than it was.");
    done += bytesRead;
  }
  return bytes;
}

function interrupted(): RunnelError {
  return new RunnelError("Interrupted", "get", "The get was ended before it was done.");
}
