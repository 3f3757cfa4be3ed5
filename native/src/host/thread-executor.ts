// Executor on the addon's threads. Files without a descriptor are read through DiskFile.read, as the inline one does.
import type { Executor } from "@runnel/shared";
import { toChunkedRange } from "./chunk-result.ts";
import { coreAddon } from "./core-addon.ts";
import { checkSize } from "./disk-arguments.ts";
import { inlineExecutor } from "./inline-executor.ts";
import { RealFile } from "./real-file.ts";
import { allocateRun, checkLevel } from "./run-arguments.ts";
import { systemCall } from "./system-call.ts";

export function threadExecutor(): Executor {
  const core = coreAddon();
  const inline = inlineExecutor();
  return {
    chunkBytes: async (bytes) => toChunkedRange(await systemCall("chunk", core.chunkBytes(bytes))),
    async chunkFile(file, offset, length) {
      if (!(file instanceof RealFile)) return inline.chunkFile(file, offset, length);
      checkSize(offset, "offset");
      checkSize(length, "length");
      return toChunkedRange(await file.use("chunk file", (fd) => core.chunkFile(fd, offset, length)));
    },
    digest: async (buffers) => new Uint8Array(await systemCall("digest", core.digest([...buffers]))),
    async digestFile(file, ranges) {
      if (!(file instanceof RealFile)) return inline.digestFile(file, ranges);
      const flat = ranges.flatMap(({ offset, length }) => [offset, length]);
      for (const value of flat) checkSize(value, "range");
      return new Uint8Array(await file.use("digest file", (fd) => core.digestFile(fd, flat)));
    },
    async compress(bytes, level) {
      checkLevel(level);
      const output = await systemCall("compress", core.compress(bytes, level));
      return output && new Uint8Array(output);
    },
    async decompress(bytes, rawBytes) {
      const into = allocateRun(core, bytes, rawBytes);
      await systemCall("decompress", core.decompress(bytes, into));
      return into;
    },
  };
}
