// A cached content in memory.
import type { ByteRange } from "@runnel/native/drive";
import type { DiskFile, Recipe } from "@runnel/shared";
import { RecipeIndex, chunkOffsets, decodeRecipe } from "@runnel/shared";
import type { CachedContent } from "./cache.ts";
import type { ContentRow } from "./content-index.ts";
import { addRange, decodeRanges, missingIn } from "./ranges.ts";

export class Content {
  readonly id: number;
  readonly lineage: number;
  readonly path: string;
  node: number;
  seq: number;
  sizeBytes: number;
  recipe: Recipe | undefined;
  oid: Uint8Array | undefined;
  indexed: number;
  /** Bytes that are here and known to be right: written or digested lately, by this process. Sorted and disjoint. */
  ranges: ByteRange[] = [];
  /**
   * Bytes that a former process wrote, or that were written long ago, and nobody has digested since; not in `ranges`
   * [F53].
   */
  unverified: ByteRange[];
  /** Present ranges are newer than in the index. */
  isChanged = false;
  isEvicted = false;
  /** Another content has its version: it is evicted once nobody holds it. */
  isReplaced = false;
  holds = 0;
  /** Operations under way. */
  working = 0;
  file: Promise<DiskFile> | undefined;
  /** Resolves once the file has been removed. */
  readonly removed = Promise.withResolvers<void>();
  /** Verification under way, which never rejects. */
  verifying: Promise<void> | undefined;
  #view: CachedContent | undefined;
  #offsets: Float64Array | undefined;

  constructor(row: ContentRow, recipe: Uint8Array | undefined, path: string) {
    this.id = row.id;
    this.lineage = row.lineage;
    this.path = path;
    this.node = row.node;
    this.seq = row.version;
    this.sizeBytes = row.size;
    this.oid = row.oid === null ? undefined : Uint8Array.from(row.oid);
    this.recipe = recipe && decodeRecipe(recipe);
    this.indexed = row.indexed;
    this.unverified = decodeRanges(row.present, row.size);
  }

  get isInUse(): boolean {
    return this.holds > 0 || this.working > 0 || this.verifying !== undefined;
  }

  view(): CachedContent {
    this.#view ??= {
      id: this.id,
      version: { node: this.node, seq: this.seq },
      sizeBytes: this.sizeBytes,
      path: this.path,
      recipe: this.recipe,
      oid: this.oid,
    };
    return this.#view;
  }

  identify(
    node: number,
    seq: number,
    sizeBytes: number,
    recipe: Recipe | undefined,
    oid: Uint8Array | undefined,
  ): void {
    [this.node, this.seq, this.sizeBytes, this.oid] = [node, seq, sizeBytes, oid];
    if (recipe !== this.recipe) this.#offsets = undefined;
    this.recipe = recipe;
    this.#view = undefined;
  }

  /** All that is here, verified or not. */
  get held(): readonly ByteRange[] {
    if (this.unverified.length === 0) return this.ranges;
    const held = [...this.ranges];
    for (const range of this.unverified) addRange(held, range);
    return held;
  }

  markUnverified(): void {
    [this.unverified, this.ranges] = [[...this.held], []];
  }

  /** Parts of the range that are not here at all. */
  absent(range: ByteRange): ByteRange[] {
    return missingIn(this.ranges, range).flatMap((missing) => missingIn(this.unverified, missing));
  }

  /** Offsets of the recipe's chunks, and its total last. */
  offsets(): Float64Array {
    this.#offsets ??= chunkOffsets(this.recipe ?? { lengths: new Uint32Array(0), digests: new Uint8Array(0) });
    return this.#offsets;
  }

  /** Index of the first chunk with this digest, or -1. */
  indexOf(digest: Uint8Array): number {
    return this.recipe === undefined ? -1 : RecipeIndex.of(this.recipe).indexOf(digest);
  }
}
