// The sources of a drive besides its server (DOT §3), and which of them are not asked for a while: one that stalls
// makes nothing slower twice, one that lies is asked no more.
import type { Clock, Executor } from "@runnel/shared";
import { Bringing, type Take } from "./bringing.ts";
import { COSTS, type ChunkSource, type ChunkSpan, type WantedContent } from "./chunk-source.ts";
import { rangeOf } from "./chunk-spans.ts";
import { RightOfWay } from "./right-of-way.ts";

/** A source that did not answer in time, or failed, is not asked for so long. */
const REST_MS = 60_000;
/** Less than this is neither asked of colleagues nor said to be here for them: the server brings it as soon. */
export const WORTH_BYTES = 64 * 1024;
/** Bytes that are brought together: what is known of each chunk is kept for so long. */
const WINDOW_BYTES = 64 * 1024 * 1024;

export interface SourcesDeps {
  clock: Clock;
  executor: Executor;
  /** Returns the time after which what does not come is asked for elsewhere, too; it follows the line. */
  lateMs(): number;
  /** Called with a sentence for a person when a source is not asked for a minute, or any more. */
  dropped(source: ChunkSource, sentence: string, isForGood: boolean): void;
}

export interface Wish {
  content: WantedContent;
  /** Chunks that are wanted; those first that somebody waits for. */
  spans: readonly ChunkSpan[];
  /** A program waits for it: it goes before what is wanted in bulk. */
  isWaitedFor: boolean;
  /** Source of what no other has in time. */
  server: ChunkSource;
  /** Takes chunks that are what their digests say; each once. */
  take: Take;
  signal: AbortSignal;
}

export class Sources {
  readonly #deps: SourcesDeps;
  readonly #sources = new Set<ChunkSource>();
  readonly #restUntilMs = new Map<ChunkSource, number>();
  readonly #listeners = new Set<() => void>();
  readonly #rightOfWay: RightOfWay;

  constructor(deps: SourcesDeps) {
    this.#deps = deps;
    this.#rightOfWay = new RightOfWay(deps.clock);
  }

  /** Asks this one, too, until the disposal. */
  add(source: ChunkSource): Disposable {
    this.#sources.add(source);
    for (const tell of this.#listeners) tell();
    return {
      [Symbol.dispose]: () => {
        this.#sources.delete(source);
        this.#restUntilMs.delete(source);
      },
    };
  }

  /** Says whether there is nobody but the server. */
  get isEmpty(): boolean {
    return this.#sources.size === 0;
  }

  /** `tell` is called when a source has come, until the disposal. */
  onAdded(tell: () => void): Disposable {
    this.#listeners.add(tell);
    return { [Symbol.dispose]: () => void this.#listeners.delete(tell) };
  }

  /** Says whether anybody but the server may have some of so many bytes. */
  mayHave(bytes: number): boolean {
    return bytes > 0 && this.#usable(bytes).length > 0;
  }

  /**
   * Brings the chunks, each from the cheapest source that brings it in time. Resolves when all have been taken, or no
   * source has more. @throws what the server's source does when chunks are left, and what `take` does.
   */
  async bring(wish: Wish): Promise<void> {
    const { content, signal } = wish;
    for (const spans of windowsOf(content, wish.spans)) {
      signal.throwIfAborted();
      const bytes = spans.reduce((sum, span) => sum + rangeOf(content.recipe, span).length, 0);
      const passing = new Map<ChunkSource, ChunkSource>();
      for (const source of this.#usable(bytes)) passing.set(this.#rightOfWay.at(source, wish.isWaitedFor), source);
      const sources = [...passing.keys(), wish.server].toSorted((one, other) => COSTS[one.kind] - COSTS[other.kind]);
      await new Bringing(this.#deps, { ...wish, spans }, sources, (source, why, isForGood) =>
        this.#rest(passing.get(source) ?? source, why, isForGood),
      ).done;
    }
  }

  #usable(bytes: number): ChunkSource[] {
    const nowMs = this.#deps.clock.bootMs();
    return [...this.#sources].filter((source) => {
      if (bytes < WORTH_BYTES && COSTS[source.kind] >= COSTS.colleague) return false;
      return (this.#restUntilMs.get(source) ?? -Infinity) <= nowMs;
    });
  }

  #rest(source: ChunkSource, why: string, isForGood: boolean): void {
    if (!this.#sources.has(source)) return;
    this.#restUntilMs.set(source, isForGood ? Infinity : this.#deps.clock.bootMs() + REST_MS);
    const term = isForGood ? "any more" : "for a minute";
    this.#deps.dropped(source, `${source.name} ${why}: it is not asked ${term}.`, isForGood);
  }
}

function* windowsOf({ recipe }: WantedContent, spans: readonly ChunkSpan[]): Generator<ChunkSpan[]> {
  let window: ChunkSpan[] = [];
  let bytes = 0;
  for (const span of spans) {
    for (let { from, count } = span; count > 0;) {
      const whole = rangeOf(recipe, { from, count }).length;
      const taken = whole <= WINDOW_BYTES - bytes ? count : fitting(recipe.lengths, from, count, WINDOW_BYTES - bytes);
      window.push({ from, count: taken });
      bytes += rangeOf(recipe, { from, count: taken }).length;
      from += taken;
      count -= taken;
      if (bytes < WINDOW_BYTES) continue;
      yield window;
      window = [];
      bytes = 0;
    }
  }
  if (window.length > 0) yield window;
}

/** Chunks that come to at least so many bytes: one, at the least. */
function fitting(lengths: Uint32Array, from: number, count: number, bytes: number): number {
  let [taken, sum] = [0, 0];
  while (taken < count && sum < bytes) sum += lengths[from + taken++] ?? 0;
  return taken;
}
