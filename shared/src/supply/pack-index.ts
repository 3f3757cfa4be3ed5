// The index of a pack on a stick: which chunk lies where in it [F221]. It is written last, and counts only when it is
// whole; what it says of the chunks is a hint all the same, since whoever reads one digests it.
import { RunnelError } from "../errors.ts";
import type { DiskRoot } from "../host/disk.ts";
import type { Executor } from "../host/executor.ts";
import { DIGEST_BYTES } from "../model/recipe.ts";
import type { PlacedChunk } from "./supply-index.ts";
import { STICK_LIMITS } from "./stick-names.ts";

const MAGIC = Buffer.from("RNLPACK1");
const HEAD_BYTES = MAGIC.length + 8;
const ROW_BYTES = DIGEST_BYTES + 8;
export const PACK_INDEX_BYTES_MAX = HEAD_BYTES + STICK_LIMITS.packChunks * ROW_BYTES + DIGEST_BYTES;

/** Returns the path of a pack's index. */
export function indexPathOf(packPath: string): string {
  return packPath.replace(/\.pack$/, ".index");
}

/** Resolves to the bytes of an index. */
export async function encodePackIndex(
  packBytes: number,
  chunks: readonly PlacedChunk[],
  executor: Pick<Executor, "digest">,
): Promise<Uint8Array> {
  const bytes = Buffer.alloc(HEAD_BYTES + chunks.length * ROW_BYTES);
  MAGIC.copy(bytes);
  bytes.writeUInt32BE(packBytes, MAGIC.length);
  bytes.writeUInt32BE(chunks.length, MAGIC.length + 4);
  for (const [at, { digest, offset, length }] of chunks.entries()) {
    const row = HEAD_BYTES + at * ROW_BYTES;
    bytes.set(digest, row);
    bytes.writeUInt32BE(offset, row + DIGEST_BYTES);
    bytes.writeUInt32BE(length, row + DIGEST_BYTES + 4);
  }
  return Buffer.concat([bytes, await executor.digest([bytes])]);
}

/** @throws RunnelError Corrupt where it is not as written, or says what cannot be. */
export async function decodePackIndex(
  bytes: Uint8Array,
  packBytes: number,
  executor: Pick<Executor, "digest">,
): Promise<PlacedChunk[]> {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.length < HEAD_BYTES + DIGEST_BYTES || !view.subarray(0, MAGIC.length).equals(MAGIC))
    throw damaged("no head");
  const indexedBytes = view.readUInt32BE(MAGIC.length);
  const count = view.readUInt32BE(MAGIC.length + 4);
  const end = HEAD_BYTES + count * ROW_BYTES;
  if (count > STICK_LIMITS.packChunks || view.length !== end + DIGEST_BYTES) throw damaged("another length");
  if (indexedBytes > packBytes || indexedBytes > STICK_LIMITS.packBytes) throw damaged("a pack of another size");
  const digest = await executor.digest([view.subarray(0, end)]);
  if (!view.subarray(end).equals(digest)) throw damaged("another digest");
  return Array.from({ length: count }, (_, at) => {
    const row = HEAD_BYTES + at * ROW_BYTES;
    const offset = view.readUInt32BE(row + DIGEST_BYTES);
    const length = view.readUInt32BE(row + DIGEST_BYTES + 4);
    if (length === 0 || length > STICK_LIMITS.chunkBytes || offset + length > indexedBytes)
      throw damaged("a chunk outside of its pack");
    return { digest: view.subarray(row, row + DIGEST_BYTES), offset, length };
  });
}

/**
 * Reads which chunks a pack has. @throws NotFound where it has no index, as after a stick was pulled out while it was
 * written; Corrupt.
 */
export async function packedChunks(
  root: DiskRoot,
  packPath: string,
  packBytes: number,
  executor: Pick<Executor, "digest">,
): Promise<PlacedChunk[]> {
  return decodePackIndex(await root.readFile(indexPathOf(packPath), PACK_INDEX_BYTES_MAX + 1), packBytes, executor);
}

function damaged(why: string): RunnelError {
  return new RunnelError("Corrupt", "read a pack's index", `The index of a pack is damaged: ${why}.`);
}
