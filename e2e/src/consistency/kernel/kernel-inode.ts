// The state that a kernel has of one id of a drive: attributes for as long as it was told, and pages. Modelled on Linux
// 6.1, fs/fuse/{inode,file,dir}.c, with the flags that drive.node asks for: EXPLICIT_INVAL_DATA, ATOMIC_O_TRUNC, no
// write-back cache.
import type { ProgramStat } from "@runnel/native/drive";

export const PAGE_BYTES = 4096;

export class KernelInode {
  readonly id: number;
  /** Attributes as the drive answered last; but its size is `sizeBytes`. */
  private attributes: ProgramStat;
  /** The kernel's own: a write moves it on, a read that ends early back. */
  sizeBytes: number;
  attributesUntilMs = -Infinity;
  /** When its attributes were last changed, among those of all inodes: what was asked before says nothing any more. */
  order = 0;
  /** Count of lookups that FORGET gives back. */
  lookups = 0;
  /** Count of holders: programs that are in a call, open files, and names in the cache. */
  held = 0;
  opens = 0;
  names = 0;
  private readonly pages = new Map<number, Uint8Array>();

  constructor(id: number, stat: ProgramStat) {
    this.id = id;
    this.attributes = stat;
    this.sizeBytes = stat.sizeBytes;
  }

  get isUnused(): boolean {
    return this.held === 0 && this.opens === 0 && this.names === 0;
  }

  get stat(): ProgramStat {
    return { ...this.attributes, id: this.id, sizeBytes: this.sizeBytes };
  }

  /**
   * Attributes of an answer: another size cuts the pages (and a page that was cut shows zeros when the file grows
   * again).
   */
  tell(stat: ProgramStat, untilMs: number, order: number): void {
    this.attributes = stat;
    this.attributesUntilMs = untilMs;
    this.order = order;
    if (stat.sizeBytes !== this.sizeBytes) this.cut(stat.sizeBytes);
    this.sizeBytes = stat.sizeBytes;
  }

  /** The attributes are asked for again. */
  doubt(order: number): void {
    this.attributesUntilMs = -Infinity;
    this.order = order;
  }

  /** A program wrote these bytes, and the drive took them. */
  write(offset: number, bytes: Uint8Array, order: number): void {
    const end = offset + bytes.length;
    for (let page = Math.floor(offset / PAGE_BYTES); page * PAGE_BYTES < end; page++) {
      const begin = page * PAGE_BYTES;
      const [from, to] = [Math.max(offset, begin), Math.min(end, begin + PAGE_BYTES)];
      // A page that is not here is kept only when it was written whole.
      if (!this.pages.has(page) && to - from === PAGE_BYTES) this.pages.set(page, new Uint8Array(PAGE_BYTES));
      this.pages.get(page)?.set(bytes.subarray(from - offset, to - offset), from - begin);
    }
    this.doubt(order);
    this.sizeBytes = Math.max(this.sizeBytes, end);
  }

  /** The first page of these that is not here. */
  missing(from: number, to: number): number | undefined {
    for (let page = from; page < to; page++) if (!this.pages.has(page)) return page;
    return undefined;
  }

  /**
   * Stores what was read from a page on. Shorter than `pages`, it reached the end of the file, unless its size has
   * changed since it was asked for.
   */
  fill(from: number, pages: number, bytes: Uint8Array, asked: number, order: number): void {
    for (let index = 0; index < pages; index++) {
      if (this.pages.has(from + index)) continue;
      const page = new Uint8Array(PAGE_BYTES);
      page.set(bytes.subarray(index * PAGE_BYTES, (index + 1) * PAGE_BYTES));
      this.pages.set(from + index, page);
    }
    const end = from * PAGE_BYTES + bytes.length;
    if (bytes.length < pages * PAGE_BYTES && this.order <= asked && end < this.sizeBytes) {
      this.sizeBytes = end;
      this.order = order;
    }
  }

  /** All of them are here. */
  read(offset: number, length: number): Uint8Array {
    const bytes = new Uint8Array(Math.max(0, Math.min(length, this.sizeBytes - offset)));
    for (let at = 0; at < bytes.length;) {
      const within = (offset + at) % PAGE_BYTES;
      const page = this.pages.get(Math.floor((offset + at) / PAGE_BYTES));
      if (page === undefined) throw new Error("A page that was here is gone.");
      const part = page.subarray(within, Math.min(PAGE_BYTES, within + bytes.length - at));
      bytes.set(part, at);
      at += part.length;
    }
    return bytes;
  }

  dropPages(): void {
    this.pages.clear();
  }

  private cut(sizeBytes: number): void {
    for (const [page, bytes] of this.pages) {
      const left = sizeBytes - page * PAGE_BYTES;
      if (left <= 0) this.pages.delete(page);
      else if (left < PAGE_BYTES) bytes.fill(0, left);
    }
  }
}
