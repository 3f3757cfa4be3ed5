// A stick as a sink of chunks: packs that are only appended to, whose indexes are written last. What is on it already,
// or is held by whom it is for, is not written again. One call after another.
import {
  type DiskFile,
  type DiskRoot,
  type Executor,
  RunnelError,
  digestAt,
  digestKey,
  isRunnelError,
  writeWhole,
} from "@runnel/shared";
import type { SupplyIndex } from "@runnel/shared/supply";
import type { ChunkRun, ChunkSink, ChunkSpan, WantedContent } from "../transfer/sources/chunk-source.ts";
import { encodePackIndex, indexPathOf, type PlacedChunk } from "@runnel/shared/supply";
import { CARRY_FOLDER, PACKS_FOLDER, STICK_LIMITS } from "@runnel/shared/supply";
import { onStick } from "./on-stick.ts";

/** Room that is left for indexes and manifests, and asked for anew after so many bytes. */
const SPARE_BYTES = 1024 * 1024;
const LOOK_BYTES = 4 * 1024 * 1024;
/** Bytes of a chunk's row in an index that is beside the former one for a moment. */
const ROW_BYTES = 80;
const FILE_MODE = 0o600;

export interface StickSinkDeps {
  root: DiskRoot;
  /** Index of what is on the stick. */
  index: SupplyIndex;
  executor: Pick<Executor, "digest">;
  /** Whom it is for has this chunk. */
  isHeld(key: bigint): boolean;
}

/** A pack that is being written. */
interface Pack {
  path: string;
  file: DiskFile;
  /** Number in the index of the stick. */
  id: number;
  bytes: number;
  chunks: PlacedChunk[];
}

export class StickSink implements ChunkSink {
  readonly #deps: StickSinkDeps;
  #pack: Pack | undefined;
  /** Bytes that may be written before the room is looked at again. */
  #freeBytes = 0;
  #writtenBytes = 0;
  /** Chunks that were taken are lost with it: nothing may be said to be on the stick any more. */
  #failure: unknown;

  constructor(deps: StickSinkDeps) {
    this.#deps = deps;
  }

  /** Bytes of chunks that were written. */
  get writtenBytes(): number {
    return this.#writtenBytes;
  }

  async lacks({ recipe }: WantedContent, spans: readonly ChunkSpan[]): Promise<ChunkSpan[]> {
    const { index, isHeld } = this.#deps;
    const lacking: { from: number; count: number }[] = [];
    for (const { from, count } of spans) {
      for (let at = from; at < from + count; at++) {
        const length = recipe.lengths[at] ?? 0;
        if (isHeld(digestKey(digestAt(recipe, at))) || index.places(recipe.digests, at, length).length > 0) continue;
        const last = lacking.at(-1);
        if (last !== undefined && last.from + last.count === at) last.count++;
        else lacking.push({ from: at, count: 1 });
      }
    }
    return lacking;
  }

  /** @throws NoSpace; Unavailable and others where the stick fails. */
  put(content: WantedContent, run: ChunkRun): Promise<void> {
    return onStick(this.#deps.root.path, () => this.#put(content, run));
  }

  /** Once it has failed, it and `put` go on failing. @throws as `put`. */
  flush(): Promise<void> {
    return onStick(this.#deps.root.path, () => this.#flush());
  }

  async #put({ recipe }: WantedContent, { from, count, bytes }: ChunkRun): Promise<void> {
    const { packBytes, packChunks } = STICK_LIMITS;
    const full = this.#pack;
    if (full !== undefined && (full.bytes + bytes.length > packBytes || full.chunks.length + count > packChunks))
      await this.#flush();
    if (this.#failure !== undefined) throw this.#failure;
    await this.#mustFit(bytes.length, count);
    const pack = (this.#pack ??= await this.#begin());
    const chunks: PlacedChunk[] = [];
    let offset = pack.bytes;
    for (let at = from; at < from + count; at++) {
      const length = recipe.lengths[at] ?? 0;
      chunks.push({ digest: digestAt(recipe, at).slice(), offset, length });
      offset += length;
    }
    await pack.file.write(pack.bytes, bytes);
    pack.bytes += bytes.length;
    pack.chunks.push(...chunks);
    this.#freeBytes -= bytes.length + count * ROW_BYTES;
    this.#writtenBytes += bytes.length;
    this.#deps.index.putPlaces(pack.id, chunks);
  }

  async #flush(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const pack = this.#pack;
    if (pack === undefined) return;
    this.#pack = undefined;
    try {
      await this.#complete(pack);
    } catch (error) {
      this.#failure = error;
      throw error;
    }
  }

  async #complete(pack: Pack): Promise<void> {
    const { root, index, executor } = this.#deps;
    try {
      // Cuts what a failed write left behind the last whole chunk.
      await pack.file.truncate(pack.bytes);
      await pack.file.sync();
    } finally {
      await pack.file.close();
    }
    await replaceBytes(root, indexPathOf(pack.path), await encodePackIndex(pack.bytes, pack.chunks, executor));
    index.isWhole(pack.id);
    this.#freeBytes = 0;
  }

  /** Gives up what was not flushed. */
  async close(): Promise<void> {
    const pack = this.#pack;
    this.#pack = undefined;
    if (pack === undefined) return;
    try {
      await pack.file.close();
      await this.#deps.root.removeFile(pack.path);
    } catch (error) {
      // A stick that was pulled out: the next one who writes to it removes it.
      if (!isRunnelError(error)) throw error;
    }
  }

  async #begin(): Promise<Pack> {
    const { root, index } = this.#deps;
    const path = `${CARRY_FOLDER}/${PACKS_FOLDER}/${crypto.randomUUID()}.pack`;
    const file = await root.open(path, "createNew", FILE_MODE);
    const id = index.begin({ path, sizeBytes: 0, stamp: "" }, index.lastScan);
    return { path, file, id, bytes: 0, chunks: [] };
  }

  /** @throws NoSpace, before anything is written. */
  async #mustFit(bytes: number, chunks: number): Promise<void> {
    const needed = bytes + chunks * ROW_BYTES;
    if (this.#freeBytes >= needed) return;
    const { availableBytes } = await this.#deps.root.space();
    const rows = ((this.#pack?.chunks.length ?? 0) + chunks) * ROW_BYTES;
    const room = availableBytes - SPARE_BYTES - rows;
    if (room < needed)
      throw new RunnelError(
        "NoSpace",
        "carry",
        `The stick at ${this.#deps.root.path} is full: its rest is kept for its lists.`,
      );
    this.#freeBytes = Math.min(room, LOOK_BYTES + needed);
  }
}

/** Durable when it resolves; the name is there with all bytes, or not at all. */
export async function replaceBytes(root: DiskRoot, path: string, bytes: Uint8Array): Promise<void> {
  await writeWhole(root, `${path}.new`, bytes, { isSynced: true });
  await root.rename(`${path}.new`, path, "replace");
  await root.syncFolder(path.slice(0, path.lastIndexOf("/")));
}
