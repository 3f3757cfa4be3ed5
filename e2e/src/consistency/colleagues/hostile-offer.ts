// A colleague that nobody should believe: it says that it has all of every version that it has some of, and brings what
// is right, what an older version has there, what it made up, what was not asked for, or nothing; or it stalls, leaves
// in the middle, or fails.
import type { CachedContent, Offer, ReadRun } from "@runnel/app/internals";
import { type ChunkSpan, type Clock, RunnelError, type SeededRandom, chunkOffsets, sleep } from "@runnel/shared";
import type { VersionId } from "@runnel/shared";

export const LIES = ["old", "made", "length", "unasked", "nothing", "stall", "leave", "end", "fail"] as const;
export type Lie = (typeof LIES)[number];

/** Share of runs that are no lies, in so many. */
const HONEST_SHARE = 0.4;
/** Longer than anything that is waited for here. */
const STALL_MS = 60_000;

export interface HostileParts {
  clock: Clock;
  random: SeededRandom;
  lies: readonly Lie[];
  cache: { find(version: VersionId): CachedContent | undefined };
  /** Bytes of a version, as the server has them; undefined where it does not, or is away. */
  bytesOf(version: VersionId): Promise<Uint8Array | undefined>;
  /** All its connections break. */
  leave(): void;
}

/** Lets an offer lie from now on. */
export function makeHostile(offer: Offer, parts: HostileParts): void {
  const { clock, random, lies, cache, leave } = parts;
  const versions = new Map<number, Set<number>>();
  const honest = offer.read.bind(offer);
  offer.spansOf = ({ version: { node, seq }, recipe }): ChunkSpan[] => {
    const known = versions.get(node) ?? new Set();
    versions.set(node, known.add(seq));
    return recipe === undefined ? [] : [{ from: 0, count: recipe.lengths.length }];
  };
  offer.read = async function* (version, wanted): AsyncGenerator<ReadRun> {
    for await (const run of honest(version, wanted)) {
      const lie = random.coin(HONEST_SHARE) ? undefined : lies[random.below(lies.length)];
      if (lie === "nothing") continue;
      if (lie === "stall") await sleep(clock, STALL_MS);
      if (lie === "leave") leave();
      if (lie === "end") return;
      if (lie === "fail") throw new RunnelError("Io", "getChunks", "The disk is damaged.");
      if (lie === "unasked") yield { ...run, from: run.from + 1 };
      else if (lie === "made") yield { ...run, bytes: random.bytes(run.bytes.length) };
      else if (lie === "length") yield { ...run, bytes: random.bytes(1 + random.below(2 * run.bytes.length)) };
      else if (lie === "old") yield { ...run, bytes: await older(version, run) };
      else yield run;
    }
  };

  async function older(version: VersionId, run: ReadRun): Promise<Uint8Array> {
    const recipe = cache.find(version)?.recipe;
    const before = [...(versions.get(version.node) ?? [])].filter((seq) => seq < version.seq);
    const seq = before[random.below(before.length)];
    if (recipe === undefined || seq === undefined) return run.bytes;
    const whole = await parts.bytesOf({ node: version.node, seq }).catch(() => undefined);
    const offset = chunkOffsets(recipe)[run.from] ?? 0;
    const bytes = whole?.slice(offset, offset + run.bytes.length);
    return bytes?.length === run.bytes.length ? bytes : run.bytes;
  }
}
