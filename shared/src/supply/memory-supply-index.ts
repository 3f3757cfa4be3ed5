// The index of a supply in memory, where it is made anew at each start.
import { DIGEST_BYTES, type Recipe, digestKey } from "../model/recipe.ts";
import type { ChunkPlace, PlacedChunk, SupplyFile, SupplyIndex, SupplyTotals } from "./supply-index.ts";

/** Some 150 bytes each. */
const CHUNKS_MAX = 2_000_000;
const UNSEEN_AT_ONCE = 256;

interface FileEntry extends SupplyFile {
  scan: number;
  /** Keys of its chunks. */
  keys: bigint[];
}

export class MemorySupplyIndex implements SupplyIndex {
  readonly #files = new Map<number, FileEntry>();
  readonly #byPath = new Map<string, FileEntry>();
  /** Places by key; most have one. */
  readonly #places = new Map<bigint, ChunkPlace[]>();
  readonly #chunksMax: number;
  #chunks = 0;
  #lastId = 0;
  #lastScan = 0;

  constructor(chunksMax: number = CHUNKS_MAX) {
    this.#chunksMax = chunksMax;
  }

  get totals(): SupplyTotals {
    const whole = [...this.#files.values()].filter(({ isWhole }) => isWhole === 1);
    return { files: whole.length, bytes: whole.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) };
  }

  get isFull(): boolean {
    return this.#chunks >= this.#chunksMax;
  }

  get lastScan(): number {
    return this.#lastScan;
  }

  fileAt(path: string): SupplyFile | undefined {
    return this.#byPath.get(path);
  }

  file(id: number): SupplyFile | undefined {
    return this.#files.get(id);
  }

  begin(file: Pick<SupplyFile, "path" | "sizeBytes" | "stamp">, scan: number): number {
    const former = this.#byPath.get(file.path);
    if (former !== undefined) this.forget(former.id);
    const { path, sizeBytes, stamp } = file;
    const entry = { id: ++this.#lastId, path, sizeBytes, stamp, isWhole: 0, scan, keys: [] };
    this.#files.set(entry.id, entry);
    this.#byPath.set(path, entry);
    this.#lastScan = Math.max(this.#lastScan, scan);
    return entry.id;
  }

  put(file: number, { lengths, digests }: Recipe, offset: number): void {
    let at = offset;
    for (const [index, length] of lengths.entries()) {
      this.#put(file, digests.subarray(index * DIGEST_BYTES), at, length);
      at += length;
    }
  }

  putPlaces(file: number, places: readonly PlacedChunk[]): void {
    for (const { digest, offset, length } of places) this.#put(file, digest, offset, length);
  }

  isWhole(file: number): void {
    const entry = this.#files.get(file);
    if (entry !== undefined) entry.isWhole = 1;
  }

  seen(file: number, scan: number): void {
    const entry = this.#files.get(file);
    if (entry !== undefined) entry.scan = scan;
    this.#lastScan = Math.max(this.#lastScan, scan);
  }

  forget(file: number): void {
    const entry = this.#files.get(file);
    if (entry === undefined) return;
    this.#files.delete(file);
    this.#byPath.delete(entry.path);
    this.#chunks -= entry.keys.length;
    for (const key of entry.keys) {
      const left = this.#places.get(key)?.filter((place) => place.file !== file) ?? [];
      if (left.length === 0) this.#places.delete(key);
      else this.#places.set(key, left);
    }
  }

  unseen(scan: number): number[] {
    const ids: number[] = [];
    for (const entry of this.#files.values()) {
      if (entry.scan !== scan) ids.push(entry.id);
      if (ids.length === UNSEEN_AT_ONCE) break;
    }
    return ids;
  }

  places(digests: Uint8Array, index: number, length: number): ChunkPlace[] {
    const key = digestKey(digests.subarray(index * DIGEST_BYTES, (index + 1) * DIGEST_BYTES));
    return (this.#places.get(key) ?? []).filter((place) => place.length === length).slice(0, PLACES_MAX);
  }

  close(): void {
    for (const map of [this.#files, this.#byPath, this.#places]) map.clear();
  }

  #put(file: number, digest: Uint8Array, offset: number, length: number): void {
    const key = digestKey(digest);
    const there = this.#places.get(key) ?? [];
    if (there.length >= PLACES_MAX || there.some((place) => place.file === file)) return;
    this.#places.set(key, [...there, { file, offset, length }]);
    this.#files.get(file)?.keys.push(key);
    this.#chunks++;
  }
}

/** Places of one chunk that are kept. */
const PLACES_MAX = 8;
