// The old bytes that new ones are compressed against: those of the version an edit started from, or, for a file saved
// under a new identity, of the version that most of its chunks match.
import type { OldBytes, Recipe, SentRunEncoding, VersionId } from "@runnel/shared";
import { DeltaRegions, chunkOffsets, isRunnelError } from "@runnel/shared";
import type { Cache, CachedContent } from "../cache/cache.ts";

/** Encoding by which a write names old bytes. */
export type Delta = Exclude<SentRunEncoding, string>;

/** A version that the server has, and this cache its bytes. */
export interface KnownVersion {
  version: VersionId;
  recipe: Recipe;
  content: CachedContent;
}

/** The cached version with most of these chunks. */
export function closestVersion(cache: Pick<Cache, "findChunks">, recipe: Recipe): KnownVersion | undefined {
  const counts = new Map<number, { content: CachedContent; count: number }>();
  for (const found of cache.findChunks(recipe.digests)) {
    if (found === undefined || found.content.version.node === 0) continue;
    const { content } = found;
    const counted = counts.get(content.id) ?? { content, count: 0 };
    counted.count++;
    counts.set(content.id, counted);
  }
  const [best] = [...counts.values()].toSorted((one, other) => other.count - one.count);
  if (best?.content.recipe === undefined) return undefined;
  return { version: best.content.version, recipe: best.content.recipe, content: best.content };
}

export class DeltaBase {
  readonly #cache: Cache;
  readonly #base: KnownVersion;
  readonly #regions: DeltaRegions;
  readonly #offsets: Float64Array;

  constructor(cache: Cache, recipe: Recipe, base: KnownVersion) {
    this.#cache = cache;
    this.#base = base;
    this.#regions = new DeltaRegions(recipe, base.recipe);
    this.#offsets = chunkOffsets(base.recipe);
  }

  /** Old bytes for the chunks [from, from + count) of the new recipe. @returns undefined when there are none here. */
  async oldBytes(from: number, count: number): Promise<OldBytes<Delta> | undefined> {
    const region = this.#regions.regionFor(from, count);
    if (region === undefined) return undefined;
    const { version, content } = this.#base;
    const offset = this.#offsets[region.from] ?? 0;
    const length = (this.#offsets[region.from + region.count] ?? 0) - offset;
    try {
      const bytes = await this.#cache.read(content, offset, length);
      return { bytes, encoding: [[version.node, version.seq], region.from, region.count] };
    } catch (error) {
      // Some of it is not here, or it has been evicted.
      if (isRunnelError(error, "Gone")) return undefined;
      throw error;
    }
  }
}
