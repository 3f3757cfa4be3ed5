// A source of chunks that nobody should believe: it says that it has everything, and brings what is right, what was
// right before, what is of another length, what it made up, or nothing; or it stalls, or fails.
import type { ChunkRun, ChunkSource, ChunkSpan, WantedContent } from "@runnel/app/internals";
import { type Clock, RunnelError, type SeededRandom, type VersionId, chunkOffsets, sleep } from "@runnel/shared";

/** Longer than anything that is waited for here. */
const STALL_MS = 60_000;

export interface HostileSourceParts {
  clock: Clock;
  random: SeededRandom;
  /** Bytes of a version, as the server has them; undefined where it does not, or is away. */
  bytesOf(version: VersionId): Promise<Uint8Array | undefined>;
  mayRot: boolean;
}

export class HostileSource implements ChunkSource {
  readonly kind = "stick";
  readonly name = "a hostile stick";
  readonly mayRot: boolean;
  readonly #parts: HostileSourceParts;
  /** Version that a file had before the one that was asked for last. */
  readonly #versions = new Map<number, { now: number; before: number }>();

  constructor(parts: HostileSourceParts) {
    this.#parts = parts;
    this.mayRot = parts.mayRot;
  }

  async locate({ version: { node, seq } }: WantedContent, spans: readonly ChunkSpan[]): Promise<ChunkSpan[]> {
    const { random, clock } = this.#parts;
    const known = this.#versions.get(node) ?? { now: seq, before: 0 };
    if (seq !== known.now) this.#versions.set(node, { now: seq, before: known.now });
    else this.#versions.set(node, known);
    if (random.coin(0.05)) await sleep(clock, STALL_MS);
    if (random.coin(0.05)) throw new RunnelError("Io", "locate", "The stick is damaged.");
    return [...spans];
  }

  async *get(content: WantedContent, spans: readonly ChunkSpan[], signal: AbortSignal): AsyncGenerator<ChunkRun> {
    const { random, clock } = this.#parts;
    for (const { from, count } of spans) {
      for (let index = from; index < from + count; index++) {
        const does = random.below(20);
        await sleep(clock, random.below(5));
        signal.throwIfAborted();
        if (does === 0) await sleep(clock, STALL_MS);
        if (does === 1) throw new RunnelError("Unreachable", "get", "The stick was pulled out.");
        if (does === 2) continue;
        yield { from: index, count: 1, bytes: await this.#bytes(content, index, does) };
      }
    }
  }

  wrong(): void {}

  async #bytes({ version: { node, seq }, recipe }: WantedContent, index: number, does: number): Promise<Uint8Array> {
    const { random, bytesOf } = this.#parts;
    const [offset = 0, end = 0] = chunkOffsets(recipe).subarray(index, index + 2);
    const made = random.bytes(does === 3 ? random.below(2 * (end - offset)) : end - offset);
    if (does <= 4) return made;
    const old = does <= 7 ? (this.#versions.get(node)?.before ?? 0) : seq;
    const whole = await bytesOf({ node, seq: old }).catch(() => undefined);
    return whole?.slice(offset, end) ?? made;
  }
}
