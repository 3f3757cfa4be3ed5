// Executor that computes at once on the caller's thread and reads files through DiskFile.read: for the simulation, and for
// files without a descriptor. The same C++ as the thread executor's, so the same results.
import { RunnelError } from "@runnel/shared";
import type { DiskFile, Executor } from "@runnel/shared";
import { toChunkedRange } from "./chunk-result.ts";
import { coreAddon } from "./core-addon.ts";
import type { CoreAddon } from "./core-addon.ts";
import { checkSize } from "./disk-arguments.ts";
import { allocateRun, checkLevel } from "./run-arguments.ts";
import { toRunnelError } from "./system-call.ts";

const STEP_BYTES = 1024 * 1024;
const DIGEST_BYTES = 32;

/** Feeds a range of a file to `take`. @throws RunnelError Stale when the file ends before the range does. */
async function readRange(
  file: DiskFile,
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

async function chunkFile(core: CoreAddon, file: DiskFile, offset: number, length: number) {
  const stream = new core.ChunkStream();
  await readRange(file, offset, length, (bytes) => stream.update(bytes));
  return toChunkedRange(stream.finish());
}

async function digestFile(core: CoreAddon, file: DiskFile, ranges: readonly { offset: number; length: number }[]) {
  const stream = new core.DigestStream();
  const digests = new Uint8Array(ranges.length * DIGEST_BYTES);
  for (const [index, { offset, length }] of ranges.entries()) {
    await readRange(file, offset, length, (bytes) => stream.update(bytes));
    digests.set(new Uint8Array(stream.finish()), index * DIGEST_BYTES);
  }
  return digests;
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

function decompress(core: CoreAddon, bytes: Uint8Array, rawBytes: number): Uint8Array {
  const into = allocateRun(core, bytes, rawBytes);
  try {
    core.decompressNow(bytes, into);
  } catch (error) {
    throw toRunnelError(error, "decompress");
  }
  return into;
}

export function inlineExecutor(): Executor {
  const core = coreAddon();
  return {
    async chunkBytes(bytes) {
      const stream = new core.ChunkStream();
      stream.update(bytes);
      return toChunkedRange(stream.finish());
    },
    chunkFile: (file, offset, length) => chunkFile(core, file, offset, length),
    digest: async (buffers) => digestBuffers(core, buffers),
    digestFile: (file, ranges) => digestFile(core, file, ranges),
    async compress(bytes, level) {
      checkLevel(level);
      const output = core.compressNow(bytes, level);
      return output && new Uint8Array(output);
    },
    decompress: async (bytes, rawBytes) => decompress(core, bytes, rawBytes),
  };
}
