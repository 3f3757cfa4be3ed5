// An Executor for tests of the protocol: zstd of node:zlib, nothing else. A compression takes some turns of the loop,
// as on threads.
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { RunnelError } from "../../src/errors.ts";
import type { Executor } from "../../src/host/executor.ts";
import { settle } from "../../src/host/simulated/simulated-clock.ts";

function none(): never {
  throw new Error("not in this test");
}

export function zlibExecutor(turns = 1): Executor {
  const wait = async (): Promise<void> => {
    for (let turn = 0; turn < turns; turn++) await settle();
  };
  return {
    chunkBytes: none,
    chunkFile: none,
    rechunk: none,
    digest: none,
    digestFile: none,
    digestFiles: none,
    async compress(bytes, level) {
      await wait();
      const packed = zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: level } });
      return packed.length < bytes.length ? new Uint8Array(packed) : undefined;
    },
    async decompress(bytes, rawBytes) {
      await wait();
      try {
        const raw = zstdDecompressSync(bytes, { maxOutputLength: Math.max(rawBytes, 1) });
        if (raw.length === rawBytes) return new Uint8Array(raw);
      } catch (cause) {
        throw new RunnelError("Corrupt", "decompress", "not zstd", { cause });
      }
      throw new RunnelError("Corrupt", "decompress", "another length");
    },
  };
}
