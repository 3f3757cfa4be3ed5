// Places that chunks come from and go to, whatever moves them (DOT §3: transfer plugins). Chunks are named by the recipe
// of the content that they are wanted for: a source may find them by their digests, or as that part of that version.
import type { Recipe, VersionId } from "@runnel/shared";

/** The content that chunks are wanted for, as the server knows it. */
export interface WantedContent {
  /** In the volume, and its epoch, that the source was given for. */
  readonly version: VersionId;
  readonly sizeBytes: number;
  readonly recipe: Recipe;
}

/** Chunks of a recipe that follow one another. */
export interface ChunkSpan {
  readonly from: number;
  readonly count: number;
}

/** All bytes of the chunks of a span, 1 MiB at the most unless it is one chunk. */
export interface ChunkRun extends ChunkSpan {
  readonly bytes: Uint8Array;
}

/** Where bytes come from, as a person is told it. */
export type SourceKind = "server" | "colleague" | "stick" | "folder";

/**
 * Nothing that a source says is trusted: whoever takes its chunks digests them. It may leave out what it said to have,
 * stop, or fail; it never makes anything worse than slow.
 */
export interface ChunkSource {
  readonly kind: SourceKind;
  /** Told to a person: a device's name, a folder's path. */
  readonly name: string;
  /** The cheapest source is asked first; COSTS has the kinds'. */
  readonly cost: number;
  /**
   * Wrong bytes may come of rot or of another program's writing, and are no reason to ask it no more: it is told by
   * `wrong`.
   */
  readonly mayRot: boolean;
  /**
   * Returns which of the chunks it is likely to have, ascending, without waiting for more than a look.
   * @throws anything: it counts as having none.
   */
  locate(content: WantedContent, spans: readonly ChunkSpan[], signal: AbortSignal): Promise<ChunkSpan[]>;
  /**
   * Brings chunks of the spans, in any order, those first that are asked for first where it can. Ends when it has
   * brought what it has. @throws anything: it counts as gone.
   */
  get(content: WantedContent, spans: readonly ChunkSpan[], signal: AbortSignal): AsyncIterable<ChunkRun>;
  /** Called for each chunk that was not what its digest says. */
  wrong(content: WantedContent, index: number): void;
}

/** A place that chunks are written to: a stick, a memory. */
export interface ChunkSink {
  /** Returns which chunks of the spans it does not have, ascending. */
  lacks(content: WantedContent, spans: readonly ChunkSpan[]): Promise<ChunkSpan[]>;
  /** Takes chunks that were digested; they are there when it resolves, and durable after `flush`. @throws NoSpace, Io. */
  put(content: WantedContent, run: ChunkRun): Promise<void>;
  flush(): Promise<void>;
}

/** What a source costs: bytes of a disk at hand nothing, those of the network at hand little, the line's all. */
export const COSTS: Readonly<Record<SourceKind, number>> = { folder: 0, stick: 1, colleague: 10, server: 100 };
