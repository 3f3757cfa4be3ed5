// Chooses the old bytes that new ones are compressed against: those between the neighbours that both recipes have.
// Pure.
import { LIMITS } from "../limits.ts";
import type { Recipe } from "../model/recipe.ts";
import { chunkPlaces } from "../model/recipe-index.ts";
import { chunkOffsets } from "../model/recipe.ts";

/** Chunks of the base: [from, from + count), at most LIMITS.runBytes. */
export interface DeltaRegion {
  from: number;
  count: number;
}

/** Looked at to either side of where the bytes should be, when a neighbour is not known. */
const SLACK_BYTES = 32 * 1024;

/** Regions of one base for runs of one content. */
export class DeltaRegions {
  private readonly recipe: Recipe;
  private readonly offsets: Float64Array;
  private readonly baseOffsets: Float64Array;
  /** Place in the base of each chunk; -1 when it is not there. */
  private readonly places: Int32Array;
  /** The last gap: chunks one after another of which the base has none. A long one is sent as many runs. */
  private gap = { first: 0, end: 0 };

  constructor(recipe: Recipe, base: Recipe) {
    this.recipe = recipe;
    this.offsets = chunkOffsets(recipe);
    this.baseOffsets = chunkOffsets(base);
    this.places = chunkPlaces(recipe, base);
  }

  /** Number of chunks of the content that the base has. */
  get matches(): number {
    return this.places.reduce((sum, place) => sum + (place < 0 ? 0 : 1), 0);
  }

  /** Number of bytes in the chunks that the base has. */
  get matchedBytes(): number {
    return this.places.reduce((sum, place, index) => sum + (place < 0 ? 0 : (this.recipe.lengths[index] ?? 0)), 0);
  }

  /** The first chunk of the content that the base does not have; their number when it has all. */
  get firstMissing(): number {
    const index = this.places.findIndex((place) => place < 0);
    return index < 0 ? this.places.length : index;
  }

  /**
   * Finds the region that may resemble the chunks [from, from + count), of which the base has none. @returns undefined
   * when the base has nothing there.
   */
  regionFor(from: number, count: number): DeltaRegion | undefined {
    const last = this.baseOffsets.length - 2;
    if (last < 0) return undefined;
    const { first, end } = this.gapAround(from, count);
    const span = this.baseSpan(first, end);
    // A run that is a part of all that is missing here gets its share.
    const missing = this.offsetOf(end) - this.offsetOf(first);
    const share = (span.end - span.start) / missing;
    const start = span.start + (this.offsetOf(from) - this.offsetOf(first)) * share - SLACK_BYTES;
    const stop = span.start + (this.offsetOf(from + count) - this.offsetOf(first)) * share + SLACK_BYTES;
    const low = Math.max(span.first, this.chunkAt(start));
    return this.bounded(low, Math.max(low, Math.min(span.last, this.chunkAt(stop))), (start + stop) / 2);
  }

  private gapAround(from: number, count: number): { first: number; end: number } {
    if (from >= this.gap.first && from + count <= this.gap.end) return this.gap;
    let first = from;
    while (first > 0 && this.placeOf(first - 1) < 0) first--;
    let end = from + count;
    while (end < this.recipe.lengths.length && this.placeOf(end) < 0) end++;
    const gap = { first, end };
    // A run that bridges what the base has is no part of one gap.
    if (this.places.subarray(from, from + count).every((place) => place < 0)) this.gap = gap;
    return gap;
  }

  /**
   * Bytes of the base that stand where the chunks [first, end) stand, and the chunks that may be taken: the known
   * neighbours too.
   */
  private baseSpan(first: number, end: number): { start: number; end: number; first: number; last: number } {
    const chunks = this.baseOffsets.length - 1;
    const total = this.baseOffsets[chunks] ?? 0;
    const missing = this.offsetOf(end) - this.offsetOf(first);
    const before = first > 0 ? this.placeOf(first - 1) : -1;
    const after = end < this.recipe.lengths.length ? this.placeOf(end) : chunks;
    if (before < after) {
      const start = this.baseOffsets[before + 1] ?? 0;
      return {
        start,
        end: this.baseOffsets[after] ?? total,
        first: Math.max(0, before),
        last: Math.min(chunks - 1, after),
      };
    }
    // The neighbours have changed places: as much as is missing, after the one before.
    const start = this.baseOffsets[before + 1] ?? 0;
    return { start, end: Math.min(total, start + missing), first: before, last: chunks - 1 };
  }

  /** Drops chunks at either end until the rest may be a region. */
  private bounded(low: number, high: number, middle: number): DeltaRegion {
    let first = low;
    let last = high;
    const bytes = (): number => (this.baseOffsets[last + 1] ?? 0) - (this.baseOffsets[first] ?? 0);
    while (first < last && bytes() > LIMITS.runBytes) {
      const isFirstFarther = middle - (this.baseOffsets[first] ?? 0) > (this.baseOffsets[last + 1] ?? 0) - middle;
      if (isFirstFarther) first++;
      else last--;
    }
    return { from: first, count: last - first + 1 };
  }

  /** The chunk of the base that has this byte, or the nearest. */
  private chunkAt(offset: number): number {
    let low = 0;
    let high = this.baseOffsets.length - 2;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.baseOffsets[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  private placeOf(index: number): number {
    return this.places[index] ?? -1;
  }

  private offsetOf(index: number): number {
    return this.offsets[index] ?? 0;
  }
}
