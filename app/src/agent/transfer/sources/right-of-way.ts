// Lets what somebody waits for go first at a source that brings one thing at a time, as a disk does: what is wanted in
// bulk is not taken of it meanwhile. Colleagues are not held: there are several, and each brings while others do.
import type { Clock } from "@runnel/shared";
import { COSTS, type ChunkRun, type ChunkSource, type ChunkSpan, type WantedContent } from "./chunk-source.ts";

/** Whoever is held says so often that it is no source that stalls. */
const SAID_EVERY_MS = 500;
const ON_ITS_WAY: ChunkRun = { from: 0, count: 0, bytes: new Uint8Array(0) };

export class RightOfWay {
  readonly #clock: Clock;
  /** Requests under way that somebody waits for, by source. */
  readonly #urgent = new WeakMap<ChunkSource, Set<symbol>>();
  readonly #held = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the source as it is for whoever waits, or for what is wanted in bulk. */
  at(source: ChunkSource, isWaitedFor: boolean): ChunkSource {
    if (COSTS[source.kind] >= COSTS.colleague) return source;
    return new Passing(source, (runs, signal) =>
      isWaitedFor ? this.#first(source, runs, signal) : this.#behind(source, runs),
    );
  }

  async *#first(source: ChunkSource, runs: AsyncIterable<ChunkRun>, signal: AbortSignal): AsyncGenerator<ChunkRun> {
    const request = Symbol(source.name);
    const urgent = this.#urgent.get(source) ?? new Set();
    this.#urgent.set(source, urgent.add(request));
    const end = (): void => {
      urgent.delete(request);
      for (const go of this.#held) go();
    };
    // A source that stalls may never end it.
    signal.addEventListener("abort", end);
    try {
      yield* runs;
    } finally {
      signal.removeEventListener("abort", end);
      end();
    }
  }

  async *#behind(source: ChunkSource, runs: AsyncIterable<ChunkRun>): AsyncGenerator<ChunkRun> {
    const all = runs[Symbol.asyncIterator]();
    try {
      for (;;) {
        while ((this.#urgent.get(source)?.size ?? 0) > 0) {
          yield ON_ITS_WAY;
          await this.#until();
        }
        const next = await all.next();
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      await all.return?.();
    }
  }

  /** Resolves when a request has ended that others were held for, or after a while. */
  async #until(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held.add(resolve);
    const timer = this.#clock.after(SAID_EVERY_MS, resolve);
    await promise;
    timer.cancel();
    this.#held.delete(resolve);
  }
}

type Pass = (runs: AsyncIterable<ChunkRun>, signal: AbortSignal) => AsyncGenerator<ChunkRun>;

/** A source whose runs pass something on their way. */
class Passing implements ChunkSource {
  readonly #source: ChunkSource;
  readonly #pass: Pass;

  constructor(source: ChunkSource, pass: Pass) {
    this.#source = source;
    this.#pass = pass;
  }

  get kind(): ChunkSource["kind"] {
    return this.#source.kind;
  }

  get name(): string {
    return this.#source.name;
  }

  get mayRot(): boolean {
    return this.#source.mayRot;
  }

  locate(content: WantedContent, spans: readonly ChunkSpan[], signal: AbortSignal): Promise<ChunkSpan[]> {
    return this.#source.locate(content, spans, signal);
  }

  get(content: WantedContent, spans: readonly ChunkSpan[], signal: AbortSignal): AsyncIterable<ChunkRun> {
    return this.#pass(this.#source.get(content, spans, signal), signal);
  }

  wrong(content: WantedContent, index: number): void {
    this.#source.wrong(content, index);
  }
}
