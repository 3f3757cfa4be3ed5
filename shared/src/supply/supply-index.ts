// The index of a supply: where its chunks lie, digest key → file and offset. A hint that can be lost: whoever reads a
// chunk there digests it. Synchronous; what it is given is small.
import type { Recipe } from "../model/recipe.ts";

export interface SupplyFile {
  id: number;
  path: string;
  sizeBytes: number;
  /** Says whether it is still the file that was cut. */
  stamp: string;
  /** All its chunks are in the index: 1, else 0. */
  isWhole: number;
}

export interface ChunkPlace {
  file: number;
  offset: number;
  length: number;
}

/** A chunk of a file that has an index of its own. */
export interface PlacedChunk {
  digest: Uint8Array;
  offset: number;
  length: number;
}

export interface SupplyTotals {
  files: number;
  bytes: number;
}

export interface SupplyIndex {
  /** Files that are whole, and their bytes. */
  readonly totals: SupplyTotals;
  /** No more chunks are to be put in. */
  readonly isFull: boolean;
  /** Number of the scan that came to a file last; 0 for none. */
  readonly lastScan: number;
  fileAt(path: string): SupplyFile | undefined;
  file(id: number): SupplyFile | undefined;
  /** Puts a file in place of what was known of the path; its chunks are to come. @returns its id. */
  begin(file: Pick<SupplyFile, "path" | "sizeBytes" | "stamp">, scan: number): number;
  /** Puts in chunks of a file that follow one another from an offset on; of equal ones in a file the first counts. */
  put(file: number, recipe: Recipe, offset: number): void;
  putPlaces(file: number, places: readonly PlacedChunk[]): void;
  /** All chunks of the file are in. */
  isWhole(file: number): void;
  /** A scan has come to the file. */
  seen(file: number, scan: number): void;
  /** Forgets the chunks of a file, too. */
  forget(file: number): void;
  /** Ids of some files that a scan did not come to: they are gone. */
  unseen(scan: number): number[];
  /** Places that the chunk at an index of a list of digests is likely to be at; a few. */
  places(digests: Uint8Array, index: number, length: number): ChunkPlace[];
  close(): void;
}
