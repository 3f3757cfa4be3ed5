// How a run is sent: as a delta against what the client holds, compressed, or as it is.
import type { FetchEncoding, Recipe, VersionId } from "@runnel/shared";
import { DeltaRegions, chunkOffsets, isRunnelError } from "@runnel/shared";
import type { OpenVersion } from "../content/content-store.ts";
import type { ChunkRun } from "../volume/version-reader.ts";
import { readRun } from "../volume/version-reader.ts";
import type { Volume } from "../volume/volume.ts";

/** Level for bulk: above it the processor, not a narrow link, would be the bottleneck. */
const BULK_LEVEL = 3;
/** From here on the match finder sees all of the prefix: a level less and a delta is several times as long. */
const DELTA_LEVEL = 6;

export interface EncodedRun {
  encoding: FetchEncoding;
  encoded: Uint8Array;
}

export async function encodeRun(volume: Volume, bytes: Uint8Array): Promise<EncodedRun> {
  const packed = await volume.executor.compress(bytes, BULK_LEVEL);
  return packed === undefined ? { encoding: "raw", encoded: bytes } : { encoding: "zstd", encoded: packed };
}

/** A version that the client holds whole. */
export interface HeldByClient {
  version: VersionId;
  recipe: Recipe;
}

/** Encodes runs of one content against the held version that it has most in common with. */
export class DeltaEncoder {
  private readonly volume: Volume;
  private readonly base: { index: number; held: HeldByClient; regions: DeltaRegions } | undefined;
  private open: OpenVersion | undefined;
  /** The old bytes cannot be had: told once, not tried again. */
  private isWithout = false;

  constructor(volume: Volume, recipe: Recipe, held: readonly HeldByClient[]) {
    this.volume = volume;
    for (const [index, one] of held.entries()) {
      if (one.recipe.lengths.length === 0) continue;
      const regions = new DeltaRegions(recipe, one.recipe);
      if (this.base === undefined || regions.matches > this.base.regions.matches)
        this.base = { index, held: one, regions };
    }
  }

  async encode(bytes: Uint8Array, run: ChunkRun): Promise<EncodedRun> {
    const region = this.isWithout ? undefined : this.base?.regions.regionFor(run.from, run.count);
    if (this.base === undefined || region === undefined) return encodeRun(this.volume, bytes);
    const old = await this.read(this.base.held, region);
    if (old === undefined) return encodeRun(this.volume, bytes);
    const packed = await this.volume.executor.compress(bytes, DELTA_LEVEL, old);
    if (packed === undefined) return { encoding: "raw", encoded: bytes };
    return { encoding: [this.base.index, region.from, region.count], encoded: packed };
  }

  async close(): Promise<void> {
    await this.open?.close();
  }

  private async read(
    { version, recipe }: HeldByClient,
    { from, count }: { from: number; count: number },
  ): Promise<Uint8Array | undefined> {
    const offsets = chunkOffsets(recipe);
    const offset = offsets[from] ?? 0;
    const run = { from, count, offset, length: (offsets[from + count] ?? 0) - offset };
    try {
      this.open ??= await this.volume.content.open(version);
      return await readRun(this.open, recipe, run, this.volume.executor);
    } catch (error) {
      if (!isRunnelError(error)) throw error;
      this.isWithout = true;
      return undefined;
    }
  }
}
