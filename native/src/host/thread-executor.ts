// Executor on the addon's threads. Files without a descriptor are read through DiskFile.read, as the inline one does.
import type { Executor } from "@runnel/shared";
import { toChunkedRange, toRechunked } from "./chunk-result.ts";
import { coreAddon } from "./core-addon.ts";
import { checkName, checkSize, flatRanges } from "./disk-arguments.ts";
import { inlineExecutor } from "./inline-executor.ts";
import { RealFile } from "./real-file.ts";
import { RealRoot } from "./real-root.ts";
import { NO_PREFIX, allocateRun, checkLevel } from "./run-arguments.ts";
import { systemCall } from "./system-call.ts";

/** Runs a call while none of the files' descriptors can be closed. */
function usingAll<T>(files: readonly RealFile[], call: () => Promise<T>): Promise<T> {
  const [file, ...others] = files;
  return file === undefined ? systemCall("rechunk", call()) : file.use("rechunk", () => usingAll(others, call));
}

/** Bytes that are worked on on the caller's thread: to hand them over costs more, and they take some 15 µs. */
const AT_ONCE_BYTES = 16 * 1024;
const COMPRESSED_AT_ONCE_BYTES = 4 * 1024;
const FAST_LEVEL = 3;

/** Jobs that files are spread over: the disk's own queue does better with several. */
const JOBS_MAX = 8;
/** Files in a job at the least: to begin one costs more than to digest a small file. */
const FILES_MIN = 8;

/** Parts of a list, in order. */
function spread<T>(files: readonly T[]): T[][] {
  const count = Math.max(FILES_MIN, Math.ceil(files.length / JOBS_MAX));
  return Array.from({ length: Math.ceil(files.length / count) }, (_, at) => files.slice(at * count, (at + 1) * count));
}

async function digestPart(
  root: RealRoot,
  files: Parameters<Executor["digestFiles"]>[1],
  isSynced: boolean,
): Promise<(Uint8Array | undefined)[]> {
  for (const { path } of files) checkName(path, "digest files");
  const paths = files.map(({ path }) => path);
  const ranges = files.map((file) => flatRanges(file.ranges));
  const digests = await root.useToOpen("digest files", (fd) => coreAddon().digestFilesAt(fd, paths, ranges, isSynced));
  return digests.map((each) => (each === null ? undefined : new Uint8Array(each)));
}

export function threadExecutor(): Executor {
  const core = coreAddon();
  const inline = inlineExecutor();
  return {
    async chunkBytes(bytes, preset = 0) {
      if (bytes.length <= AT_ONCE_BYTES) return inline.chunkBytes(bytes, preset);
      return toChunkedRange(await systemCall("chunk", core.chunkBytes(bytes, preset)));
    },
    async chunkFile(file, offset, length, preset = 0) {
      if (!(file instanceof RealFile)) return inline.chunkFile(file, offset, length, preset);
      checkSize(offset, "offset");
      checkSize(length, "length");
      return toChunkedRange(await file.use("chunk file", (fd) => core.chunkFile(fd, offset, length, preset)));
    },
    async rechunk(content, baseLengths, dirty, preset = 0) {
      if (content.some(({ file }) => file !== undefined && !(file instanceof RealFile)))
        return inline.rechunk(content, baseLengths, dirty, preset);
      const flat = content.flatMap(({ file, offset, length }) => [file?.fd ?? -1, offset, length]);
      const ranges = flatRanges(dirty);
      for (const [index, value] of flat.entries()) if (index % 3 !== 0) checkSize(value, "piece");
      const files = new Set(content.flatMap(({ file }) => (file instanceof RealFile ? [file] : [])));
      return toRechunked(await usingAll([...files], () => core.rechunk(flat, baseLengths, ranges, preset)));
    },
    async digest(buffers) {
      if (buffers.reduce((sum, { length }) => sum + length, 0) <= AT_ONCE_BYTES) return inline.digest(buffers);
      return new Uint8Array(await systemCall("digest", core.digest([...buffers])));
    },
    async digestFile(file, ranges) {
      if (!(file instanceof RealFile)) return inline.digestFile(file, ranges);
      const flat = flatRanges(ranges);
      return new Uint8Array(await file.use("digest file", (fd) => core.digestFile(fd, flat)));
    },
    async digestFiles(root, files, isSynced) {
      if (!(root instanceof RealRoot)) return inline.digestFiles(root, files, isSynced);
      return (await Promise.all(spread(files).map((part) => digestPart(root, part, isSynced)))).flat();
    },
    async compress(bytes, level, prefix = NO_PREFIX) {
      if (bytes.length + prefix.length <= COMPRESSED_AT_ONCE_BYTES && level <= FAST_LEVEL)
        return inline.compress(bytes, level, prefix);
      checkLevel(level);
      const output = await systemCall("compress", core.compress(bytes, prefix, level));
      return output && new Uint8Array(output);
    },
    async decompress(bytes, rawBytes, prefix = NO_PREFIX) {
      if (bytes.length + rawBytes + prefix.length <= AT_ONCE_BYTES) return inline.decompress(bytes, rawBytes, prefix);
      const into = allocateRun(core, bytes, rawBytes);
      await systemCall("decompress", core.decompress(bytes, prefix, into));
      return into;
    },
  };
}
