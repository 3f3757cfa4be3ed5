// Places that chunks come from and go to, whatever moves them (DOT §3: transfer plugins). Chunks are named by the
// recipe of the content that they are wanted for: a source may find them by their digests, or as that part of that
// version.
import type { ChunkSpan, Recipe, VersionId } from "@runnel/shared";

export type { ChunkSpan };

/** The content that chunks are wanted for, as the server knows it. */
export interface WantedContent {
  /** A version of the volume, and its epoch, that the source was given for. */
  readonly version: VersionId;
  readonly sizeBytes: number;
  readonly recipe: Recipe;
}

/**
 * All bytes of the chunks of a span, 1 MiB at the most unless it is one chunk. No chunks: what was asked for is on its
 * way, and whoever waits need not ask another source yet.
 */
export interface ChunkRun extends ChunkSpan {
  readonly bytes: Uint8Array;
  /** There are no bytes: the source does not bring these after all, and another one is to be asked now. */
  readonly isGivenUp?: true;
}

/** Origin of bytes, as a person is told it. */
export type SourceKind = "server" | "colleague" | "stick" | "folder";

/**
 * Nothing that a source says is trusted: whoever takes its chunks digests them. It may leave out what it said to have,
 * stop, or fail; it never makes anything worse than slow.
 */
export interface ChunkSource {
  /** The cheapest kind is asked first (COSTS). */
  readonly kind: SourceKind;
  /** Told to a person: a device's name, a folder's path. */
  readonly name: string;
  /**
   * Wrong bytes are no reason to ask it no more, since they come of rot or of another program's writing, or of one
   * among several that it asks: it is told by `wrong`.
   */
  readonly mayRot: boolean;
  /**
   * Silence for so long means nothing yet: it asks several, and gives up by itself whoever of them stalls. Left out:
   * what the line needs.
   */
  readonly lateMs?: number;
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
  /**
   * Takes chunks that were digested; they are there when it resolves, and durable after `flush`. @throws NoSpace, Io.
   */
  put(content: WantedContent, run: ChunkRun): Promise<void>;
  flush(): Promise<void>;
}

/** Costs of the kinds, in order only: a disk at hand, the network at hand, the line. */
export const COSTS: Readonly<Record<SourceKind, number>> = { folder: 0, stick: 1, colleague: 10, server: 100 };
