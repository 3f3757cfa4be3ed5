// The base of a content that is saved under a new identity: no version says what it was made of. The version that most
// of its chunks match, or one of those that it is likely to resemble, if a sample shows that this pays.
import type { Executor, Recipe } from "@runnel/shared";
import { DeltaRegions, chunkOffsets } from "@runnel/shared";
import type { Cache, CachedContent } from "../cache/cache.ts";
import type { CutContent } from "./cut-content.ts";
import type { KnownVersion } from "./delta-base.ts";
import { DeltaBase, closestVersion } from "./delta-base.ts";

/** Chunks that it has in common with one version: no other is tried. */
const PLAIN_SHARE = 0.5;
const SAMPLE_BYTES = 64 * 1024;
const SAMPLE_LEVEL = 3;
/** A delta names its base, and its write is not done with one frame: less is not worth it. */
const WORTH = 0.9;
const WORTH_BYTES = 64;

interface GuessedBaseDeps {
  cache: Cache;
  executor: Executor;
  guesses: readonly CachedContent[];
}

export class GuessedBase {
  readonly #deps: GuessedBaseDeps;
  #found: Promise<KnownVersion | undefined> | undefined;

  constructor(deps: GuessedBaseDeps) {
    this.#deps = deps;
  }

  /** The same for all attempts to send it: what is sent depends on it. */
  of(cut: CutContent, isLineFast: boolean): Promise<KnownVersion | undefined> {
    this.#found ??= this.#find(cut, isLineFast);
    return this.#found;
  }

  async #find(cut: CutContent, isLineFast: boolean): Promise<KnownVersion | undefined> {
    const first = await cut.firstWindow();
    const closest = closestVersion(this.#deps.cache, first.recipe);
    // While it is being cut it is sent already.
    if (isLineFast && first.end < cut.sizeBytes && closest === undefined) return undefined;
    const others = this.#deps.guesses.flatMap(({ id }) => knownOf(this.#deps.cache.byId(id)) ?? []);
    const isPlain =
      closest !== undefined && new DeltaRegions(first.recipe, closest.recipe).matchedBytes >= PLAIN_SHARE * first.end;
    if (isPlain || others.length === 0) return closest;
    return this.#cheapest(cut, closest, others);
  }

  /** The version against which a sample comes to least. */
  async #cheapest(
    cut: CutContent,
    closest: KnownVersion | undefined,
    others: readonly KnownVersion[],
  ): Promise<KnownVersion | undefined> {
    const { recipe } = await cut.whole();
    const { from, count, offset, length } = sampleOf(recipe, closest);
    const sample = new Uint8Array(length);
    await cut.content.read(offset, sample);
    const bytesOver = async (old?: Uint8Array): Promise<number> =>
      (await this.#deps.executor.compress(sample, SAMPLE_LEVEL, old))?.length ?? length;
    let best = closest;
    const plainBytes = await bytesOver();
    let bestBytes = Math.min(plainBytes * WORTH, plainBytes - WORTH_BYTES);
    for (const candidate of closest === undefined ? others : [closest, ...others]) {
      const old = await new DeltaBase(this.#deps.cache, recipe, candidate).oldBytes(from, count);
      const bytes = old === undefined ? Infinity : await bytesOver(old.bytes);
      if (bytes >= bestBytes) continue;
      [best, bestBytes] = [candidate, bytes];
    }
    return best;
  }
}

/** Chunks to be tried: of a long content those from where the closest version knows no more. */
function sampleOf(
  recipe: Recipe,
  closest: KnownVersion | undefined,
): { from: number; count: number; offset: number; length: number } {
  const offsets = chunkOffsets(recipe);
  const chunks = recipe.lengths.length;
  const isLong = (offsets[chunks] ?? 0) > SAMPLE_BYTES;
  const missing = isLong && closest !== undefined ? new DeltaRegions(recipe, closest.recipe).firstMissing : 0;
  const from = Math.max(0, Math.min(missing, chunks - 1));
  const offset = offsets[from] ?? 0;
  let count = 1;
  while (from + count < chunks && (offsets[from + count + 1] ?? 0) - offset <= SAMPLE_BYTES) count++;
  return { from, count, offset, length: (offsets[from + count] ?? 0) - offset };
}

function knownOf(content: CachedContent | undefined): KnownVersion | undefined {
  if (content?.recipe === undefined || content.version.node === 0) return undefined;
  return { version: content.version, recipe: content.recipe, content };
}
