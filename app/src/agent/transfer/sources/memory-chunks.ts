// Chunks in memory by their digests: the reference of sources and sinks.
import { chunkOffsets, digestAt, indexesOf, joinIndexes } from "@runnel/shared";
import type { ChunkRun, ChunkSink, ChunkSource, ChunkSpan, SourceKind, WantedContent } from "./chunk-source.ts";

export class MemoryChunks implements ChunkSource, ChunkSink {
  readonly kind: SourceKind;
  readonly name: string;
  readonly mayRot = true;
  readonly #chunks = new Map<string, Uint8Array>();

  constructor(kind: SourceKind, name: string) {
    this.kind = kind;
    this.name = name;
  }

  async locate({ recipe }: WantedContent, spans: readonly ChunkSpan[]): Promise<ChunkSpan[]> {
    return joinIndexes([...indexesOf(spans)].filter((index) => this.#chunks.has(keyOf(digestAt(recipe, index)))));
  }

  async *get({ recipe }: WantedContent, spans: readonly ChunkSpan[], signal: AbortSignal): AsyncGenerator<ChunkRun> {
    for (const from of indexesOf(spans)) {
      signal.throwIfAborted();
      const bytes = this.#chunks.get(keyOf(digestAt(recipe, from)));
      if (bytes !== undefined) yield { from, count: 1, bytes };
    }
  }

  wrong({ recipe }: WantedContent, index: number): void {
    this.#chunks.delete(keyOf(digestAt(recipe, index)));
  }

  async lacks({ recipe }: WantedContent, spans: readonly ChunkSpan[]): Promise<ChunkSpan[]> {
    return joinIndexes([...indexesOf(spans)].filter((index) => !this.#chunks.has(keyOf(digestAt(recipe, index)))));
  }

  async put({ recipe }: WantedContent, { from, count, bytes }: ChunkRun): Promise<void> {
    const offsets = chunkOffsets(recipe);
    const start = offsets[from] ?? 0;
    for (const index of indexesOf([{ from, count }])) {
      const chunk = bytes.slice((offsets[index] ?? 0) - start, (offsets[index + 1] ?? 0) - start);
      this.#chunks.set(keyOf(digestAt(recipe, index)), chunk);
    }
  }

  async flush(): Promise<void> {}
}

function keyOf(digest: Uint8Array): string {
  return Buffer.from(digest).toString("latin1");
}
