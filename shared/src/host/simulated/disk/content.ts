// The bytes of one simulated file, and what of them would survive a power cut. Sectors written since the last sync
// survive or do not, each for itself and each as it was at some moment since; so does the length. That is all that
// POSIX promises.
import type { SeededRandom } from "../seeded-random.ts";

export const PAGE_BYTES = 4096;
const SECTOR_BYTES = 512;

/** undefined bytes: the file was cut or extended to `size`. */
interface Change {
  order: number;
  offset: number;
  bytes: Uint8Array | undefined;
  /** Length of the file after it. */
  size: number;
}

/** The content when a sync began. */
export interface Frozen {
  order: number;
  size: number;
  pages: Map<number, Uint8Array | undefined>;
}

/** A sparse array of bytes: pages that were never written are not there and read as zeros. */
class Pages {
  readonly at = new Map<number, Uint8Array>();
  /** Pages that another Pages holds too: copied before they are written. */
  readonly shared = new Set<number>();

  read(offset: number, into: Uint8Array): void {
    for (const [page, from, at, length] of pieces(offset, into.length, PAGE_BYTES)) {
      const bytes = this.at.get(page);
      if (bytes === undefined) into.fill(0, at, at + length);
      else into.set(bytes.subarray(from, from + length), at);
    }
  }

  write(offset: number, bytes: Uint8Array): void {
    for (const [page, from, at, length] of pieces(offset, bytes.length, PAGE_BYTES)) {
      this.own(page).set(bytes.subarray(at, at + length), from);
    }
  }

  own(page: number): Uint8Array {
    let bytes = this.at.get(page);
    if (bytes === undefined || this.shared.has(page)) {
      bytes = bytes === undefined ? new Uint8Array(PAGE_BYTES) : bytes.slice();
      this.at.set(page, bytes);
      this.shared.delete(page);
    }
    return bytes;
  }
}

export class Content {
  #pages = new Pages();
  #size = 0;
  #durable = new Pages();
  #durableSize = 0;
  /** Pages that differ from the durable ones. */
  #dirty = new Set<number>();
  #changes: Change[] = [];
  #order = 0;
  #syncedOrder = 0;

  get sizeBytes(): number {
    return this.#size;
  }

  /** Pages that take space. */
  get pageCount(): number {
    return this.#pages.at.size;
  }

  /** Pages a write would have to add. */
  missingPages(offset: number, length: number): number {
    let missing = 0;
    for (const [page] of pieces(offset, length, PAGE_BYTES)) if (!this.#pages.at.has(page)) missing += 1;
    return missing;
  }

  read(offset: number, length: number): Uint8Array {
    const bytes = new Uint8Array(Math.max(0, Math.min(length, this.#size - offset)));
    this.#pages.read(offset, bytes);
    return bytes;
  }

  write(offset: number, bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#pages.write(offset, bytes);
    for (const [page] of pieces(offset, bytes.length, PAGE_BYTES)) this.#dirty.add(page);
    this.#size = Math.max(this.#size, offset + bytes.length);
    this.#changes.push({ order: this.#order++, offset, bytes: bytes.slice(), size: this.#size });
  }

  truncate(size: number): void {
    for (const page of this.#pages.at.keys()) {
      if ((page + 1) * PAGE_BYTES <= size) continue;
      this.#dirty.add(page);
      if (page * PAGE_BYTES >= size) {
        this.#pages.at.delete(page);
        this.#pages.shared.delete(page);
      } else this.#pages.own(page).fill(0, size - page * PAGE_BYTES);
    }
    this.#size = size;
    this.#changes.push({ order: this.#order++, offset: size, bytes: undefined, size });
  }

  /** Returns the state that a sync that begins now promises. */
  freeze(): Frozen {
    const pages = new Map<number, Uint8Array | undefined>();
    for (const page of this.#dirty) {
      pages.set(page, this.#pages.at.get(page));
      this.#pages.shared.add(page);
    }
    return { order: this.#order, size: this.#size, pages };
  }

  /** The sync succeeded. */
  commit(frozen: Frozen): void {
    if (frozen.order < this.#syncedOrder) return;
    for (const [page, bytes] of frozen.pages) this.#keep(page, bytes);
    this.#durableSize = frozen.size;
    this.#settle(frozen);
  }

  /** The sync failed: the system holds the pages for clean and will not write them again, yet they may not be there. */
  lose(frozen: Frozen, random: SeededRandom): void {
    for (const [page, bytes] of frozen.pages) if (random.coin()) this.#keep(page, bytes);
    if (random.coin()) this.#durableSize = frozen.size;
    this.#settle(frozen);
  }

  crash(random: SeededRandom): void {
    const last = this.#changes.length;
    // Whole writes in order are as likely as sectors in any order, so that both kinds of mistakes are met.
    const isOrdered = random.coin();
    const edge = [0, last, random.below(last + 1)][random.below(3)] ?? 0;
    const pick = (): number => (isOrdered ? edge : random.below(last + 1));
    const cuts = new Map<number, number>();
    const cutOf = (sector: number): number => {
      let cut = cuts.get(sector);
      if (cut === undefined) cuts.set(sector, (cut = pick()));
      return cut;
    };
    for (const [index, change] of this.#changes.entries()) this.#replay(change, (sector) => cutOf(sector) > index);
    const sizeCut = pick();
    if (sizeCut > 0) this.#durableSize = this.#changes[sizeCut - 1]?.size ?? this.#durableSize;
    this.#dropBeyond(this.#durableSize);
    this.#pages = new Pages();
    for (const [page, bytes] of this.#durable.at) {
      this.#pages.at.set(page, bytes);
      this.#pages.shared.add(page);
    }
    this.#durable.shared.clear();
    this.#size = this.#durableSize;
    this.#changes = [];
    this.#dirty.clear();
  }

  #replay(change: Change, isKept: (sector: number) => boolean): void {
    const { offset, bytes } = change;
    if (bytes !== undefined) {
      for (const [sector, from, at, length] of pieces(offset, bytes.length, SECTOR_BYTES)) {
        if (isKept(sector)) this.#durable.write(sector * SECTOR_BYTES + from, bytes.subarray(at, at + length));
      }
      return;
    }
    for (const page of this.#durable.at.keys()) {
      const start = Math.max(offset, page * PAGE_BYTES);
      const length = (page + 1) * PAGE_BYTES - start;
      if (length <= 0) continue;
      for (const [sector, from, , count] of pieces(start, length, SECTOR_BYTES)) {
        if (isKept(sector)) this.#durable.write(sector * SECTOR_BYTES + from, new Uint8Array(count));
      }
    }
  }

  #dropBeyond(size: number): void {
    for (const page of this.#durable.at.keys()) {
      if (page * PAGE_BYTES >= size) this.#durable.at.delete(page);
      else if ((page + 1) * PAGE_BYTES > size) this.#durable.own(page).fill(0, size - page * PAGE_BYTES);
    }
  }

  #keep(page: number, bytes: Uint8Array | undefined): void {
    if (bytes === undefined) this.#durable.at.delete(page);
    else this.#durable.at.set(page, bytes);
    if (bytes !== undefined) this.#durable.shared.add(page);
  }

  #settle(frozen: Frozen): void {
    this.#syncedOrder = frozen.order;
    for (const [page, bytes] of frozen.pages) if (this.#pages.at.get(page) === bytes) this.#dirty.delete(page);
    this.#changes = this.#changes.filter((change) => change.order >= frozen.order);
  }
}

/** Cuts a range at unit borders: [unit, offset in the unit, offset in the range, length]. */
function* pieces(offset: number, length: number, unitBytes: number): Generator<[number, number, number, number]> {
  for (let at = 0; at < length;) {
    const unit = Math.floor((offset + at) / unitBytes);
    const from = offset + at - unit * unitBytes;
    const count = Math.min(unitBytes - from, length - at);
    yield [unit, from, at, count];
    at += count;
  }
}
