// The server as a source of chunks: `fetch` of the ranges that they lie in. A client that knows the recipe is sent
// whole chunks by their places, those that resemble a held version as deltas.
import type { ByteRange } from "@runnel/native/drive";
import type { Cache, CachedContent } from "../../cache/cache.ts";
import type { Transfer } from "../../view/transfers.ts";
import type { Session } from "../../wire/session.ts";
import type { Arrivals } from "../arrivals.ts";
import type { ChunkRun, ChunkSource, ChunkSpan, WantedContent } from "./chunk-source.ts";
import { rangeOf } from "./chunk-spans.ts";

/** Ranges that are asked for before those in front of them have come: each takes a round trip. */
const RANGES_AT_ONCE = 8;

export interface ServerSourceDeps {
  cache: Cache;
  session: Session;
  arrivals: Arrivals;
}

/** The content as this machine knows it, and what a fetch may refer to. */
export interface ServedContent {
  content: CachedContent;
  held: readonly CachedContent[];
  transfer: Transfer;
  /** Bytes up to here are waited for; the rest comes when nothing else does. */
  askedEnd: number;
}

export class ServerSource implements ChunkSource {
  readonly kind = "server";
  readonly name = "the server";
  readonly mayRot = false;
  readonly #deps: ServerSourceDeps;
  readonly #served: ServedContent;

  constructor(deps: ServerSourceDeps, served: ServedContent) {
    this.#deps = deps;
    this.#served = served;
  }

  /** It has every version that it keeps; one that it does not it refuses when it is asked. */
  async locate(_content: WantedContent, spans: readonly ChunkSpan[]): Promise<ChunkSpan[]> {
    return [...spans];
  }

  /** @throws Unreachable, Gone, Lost, Stale, Corrupt, Invalid. */
  async *get({ recipe }: WantedContent, spans: readonly ChunkSpan[], signal: AbortSignal): AsyncGenerator<ChunkRun> {
    const waiting = spans.map((span) => ({ span, range: rangeOf(recipe, span) }));
    const { session, arrivals } = this.#deps;
    const { content, held, transfer } = this.#served;
    using holds = new DisposableStack();
    for (const one of held) holds.use(this.#deps.cache.hold(one));
    const fetches: { span: ChunkSpan; channel: ReturnType<Session["open"]> }[] = [];
    const stop = (): void => {
      for (const { channel } of fetches) channel.cancel();
    };
    signal.addEventListener("abort", stop);
    try {
      for (;;) {
        for (let next = waiting[0]; next !== undefined && fetches.length < RANGES_AT_ONCE; next = waiting[0]) {
          signal.throwIfAborted();
          fetches.push({ span: next.span, channel: this.#open(next.range) });
          waiting.shift();
        }
        const first = fetches[0];
        if (first === undefined) return;
        const runs = arrivals.chunks({ channel: first.channel, content, held, transfer }, recipe);
        for (;;) {
          const { value, done } = await session.whileItComes(runs.next(), "fetch");
          if (done === true) break;
          yield value;
        }
        fetches.shift();
      }
    } finally {
      signal.removeEventListener("abort", stop);
      stop();
    }
  }

  /** It is as it was sent: a link that changes bytes is noticed below, so the server's file is another. */
  wrong(): void {}

  #open({ offset, length }: ByteRange): ReturnType<Session["open"]> {
    const { session } = this.#deps;
    const { content, held, askedEnd } = this.#served;
    session.mustRespond();
    const asked = Math.max(0, Math.min(length, askedEnd - offset));
    return session.open(
      "fetch",
      {
        version: [content.version.node, content.version.seq],
        held: held.map(({ version }) => [version.node, version.seq]),
        hasRecipe: true,
        offset,
        length,
        ...(asked < length ? { asked } : {}),
      },
      true,
    );
  }
}
