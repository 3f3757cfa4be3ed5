// Executor that computes at once on the caller's thread and reads files through DiskFile.read: for the simulation, and
// for files without a descriptor. The same C++ as the thread executor's, so the same results.
import { RunnelError, isRunnelError } from "@runnel/shared/model";
import type { DiskRoot, Executor, Piece, ReadableFile } from "@runnel/shared";
import { toChunkedRange, toRechunked } from "./chunk-result.ts";
import { coreAddon } from "./core-addon.ts";
import type { CoreAddon } from "./core-addon.ts";
import { checkSize, flatRanges } from "./disk-arguments.ts";
import { NO_PREFIX, allocateRun, checkLevel } from "./run-arguments.ts";
import { toRunnelError } from "./system-call.ts";

const STEP_BYTES = 1024 * 1024;
const DIGEST_BYTES = 32;

/** Feeds a range of a file to `take`. @throws RunnelError Stale when the file ends before the range does. */
async function readRange(
  file: ReadableFile,
  offset: number,
  length: number,
  take: (bytes: Uint8Array) => void,
): Promise<void> {
  checkSize(offset, "offset");
  checkSize(length, "length");
  for (let done = 0; done < length;) {
    const wanted = Math.min(length - done, STEP_BYTES);
    const bytes = await file.read(offset + done, wanted);
    if (bytes.length < wanted) throw new RunnelError("Stale", "read range", "the file is shorter than the range");
    take(bytes);
    done += wanted;
  }
}

async function chunkFile(core: CoreAddon, ...[file, offset, length, preset]: Parameters<Executor["chunkFile"]>) {
  const stream = new core.ChunkStream(undefined, preset);
  await readRange(file, offset, length, (bytes) => stream.update(bytes));
  return toChunkedRange(stream.finish());
}

/** Bytes [offset, offset + length) of a content in pieces. */
async function readPieces(content: readonly Piece[], offset: number, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  let start = 0;
  for (const piece of content) {
    const from = Math.max(offset, start);
    const to = Math.min(offset + length, start + piece.length);
    if (from < to && piece.file !== undefined) {
      let at = from - offset;
      await readRange(piece.file, piece.offset + from - start, to - from, (part) => {
        bytes.set(part, at);
        at += part.length;
      });
    }
    start += piece.length;
  }
  return bytes;
}

async function rechunk(core: CoreAddon, ...[content, baseLengths, dirty, preset = 0]: Parameters<Executor["rechunk"]>) {
  const sizeBytes = content.reduce((sum, piece) => sum + piece.length, 0);
  const rechunking = new core.Rechunk(baseLengths, flatRanges(dirty), sizeBytes, preset);
  for (let range = rechunking.next(); range !== undefined; range = rechunking.next()) {
    rechunking.take(await readPieces(content, range.offset, range.length));
  }
  return toRechunked(rechunking.finish());
}

async function digestFile(core: CoreAddon, file: ReadableFile, ranges: readonly { offset: number; length: number }[]) {
  const stream = new core.DigestStream();
  const digests = new Uint8Array(ranges.length * DIGEST_BYTES);
  for (const [index, { offset, length }] of ranges.entries()) {
    await readRange(file, offset, length, (bytes) => stream.update(bytes));
    digests.set(new Uint8Array(stream.finish()), index * DIGEST_BYTES);
  }
  return digests;
}

/** Digests the ranges of a file by its path. @returns undefined when it is not there, or too short. */
async function digestAt(
  core: CoreAddon,
  root: DiskRoot,
  { path, ranges }: Parameters<Executor["digestFiles"]>[1][number],
  isSynced: boolean,
): Promise<Uint8Array | undefined> {
  try {
    const file = await root.open(path, isSynced ? "write" : "read");
    try {
      if (isSynced) await file.sync(true);
      return await digestFile(core, file, ranges);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isRunnelError(error, "NotFound", "Stale")) return undefined;
    throw error;
  }
}

function digestBuffers(core: CoreAddon, buffers: readonly Uint8Array[]): Uint8Array {
  const stream = new core.DigestStream();
  const digests = new Uint8Array(buffers.length * DIGEST_BYTES);
  for (const [index, bytes] of buffers.entries()) {
    stream.update(bytes);
    digests.set(new Uint8Array(stream.finish()), index * DIGEST_BYTES);
  }
  return digests;
}

function decompress(core: CoreAddon, bytes: Uint8Array, rawBytes: number, prefix: Uint8Array): Uint8Array {
  const into = allocateRun(core, bytes, rawBytes);
  try {
    core.decompressNow(bytes, prefix, into);
  } catch (error) {
    throw toRunnelError(error, "decompress");
  }
  return into;
}

export function inlineExecutor(): Executor {
  const core = coreAddon();
  return {
    async chunkBytes(bytes, preset) {
      const stream = new core.ChunkStream(undefined, preset);
      stream.update(bytes);
      return toChunkedRange(stream.finish());
    },
    chunkFile: (...range) => chunkFile(core, ...range),
    rechunk: (...edit) => rechunk(core, ...edit),
    digest: async (buffers) => digestBuffers(core, buffers),
    digestFile: (file, ranges) => digestFile(core, file, ranges),
    async digestFiles(root, files, isSynced) {
      const digests: (Uint8Array | undefined)[] = [];
      for (const file of files) digests.push(await digestAt(core, root, file, isSynced));
      return digests;
    },
    async compress(bytes, level, prefix = NO_PREFIX) {
      checkLevel(level);
      const output = core.compressNow(bytes, prefix, level);
      return output && new Uint8Array(output);
    },
    decompress: async (bytes, rawBytes, prefix = NO_PREFIX) => decompress(core, bytes, rawBytes, prefix),
  };
}
