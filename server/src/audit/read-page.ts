// Reads the audit log from its end: the folders' files backwards, block by block, and their entries in the order of
// their numbers. It bounds what is read for one page, so that a filter that nothing matches delays nobody.
import type { DiskFile, DiskRoot } from "@runnel/shared";
import { isRunnelError } from "@runnel/shared";
import { type AuditEntry, LINE_BYTES_MAX, headOf, parseLine } from "./audit-entry.ts";
import { type AuditFilter, type AuditPage, matches, needlesOf, smallNeedleOf } from "./audit-filter.ts";
import { PAGE_ENTRIES_MAX } from "./audit-limits.ts";
import type { EntryFile } from "./entry-files.ts";

const BLOCK_BYTES = 128 * 1024;
/** Bytes in which a line begins, but for very long ones. */
const PROBE_BYTES = 4096;
/** Bytes that number and time of a line have room in. */
const HEAD_BYTES = 64;
const NEWLINE = 0x0a;

/** `folders`: the files of each, the oldest first. Entries above `shownN` may not be whole yet. */
export async function readPage(
  root: DiskRoot,
  folders: readonly (readonly EntryFile[])[],
  shownN: number,
  filter: AuditFilter,
  bytesMax: number,
): Promise<AuditPage> {
  const below = Math.min(filter.after ?? Infinity, shownN + 1);
  const limit = filter.limit ?? PAGE_ENTRIES_MAX;
  const readers = folders.map((files) => new BackwardReader(root, files, below, filter));
  const entries: AuditEntry[] = [];
  try {
    for (;;) {
      // Above this number every reader has said what it has.
      const knownTo = Math.max(...readers.map((reader) => reader.knownTo));
      const known = readers.flatMap((reader) => reader.take(knownTo)).sort((one, other) => other.n - one.n);
      entries.push(...known);
      if (entries.length >= limit) {
        const page = entries.slice(0, limit);
        const isAll = knownTo === 0 && entries.length === limit;
        return { entries: page, after: isAll ? null : (page.at(-1)?.n ?? null) };
      }
      if (knownTo === 0) return { entries, after: null };
      if (readers.reduce((sum, { bytesRead }) => sum + bytesRead, 0) > bytesMax) return { entries, after: knownTo };
      await readers.find((reader) => reader.knownTo === knownTo)?.readBlock();
    }
  } finally {
    for (const reader of readers) await reader.close();
  }
}

class BackwardReader {
  /** The reader has found all matching entries from this number on; 0: all that there are. */
  knownTo: number;
  bytesRead = 0;
  readonly #root: DiskRoot;
  readonly #below: number;
  readonly #filter: AuditFilter;
  readonly #needles: readonly string[];
  readonly #smallNeedle: string | undefined;
  /** Files that are still to be read, the newest last. */
  readonly #files: EntryFile[];
  #open: { file: DiskFile; entry: EntryFile; endsAt: number } | undefined;
  #found: AuditEntry[] = [];

  constructor(root: DiskRoot, files: readonly EntryFile[], below: number, filter: AuditFilter) {
    this.#root = root;
    this.#below = below;
    this.#filter = filter;
    this.#needles = needlesOf(filter);
    this.#smallNeedle = smallNeedleOf(filter);
    this.#files = files.filter((file, index) => file.first < below && this.#mayMatch(file, files[index + 1]));
    this.knownTo = below;
    if (this.#files.length === 0) this.knownTo = 0;
  }

  /** Returns entries with numbers from `knownTo` on, once. */
  take(knownTo: number): AuditEntry[] {
    const taken = this.#found.filter(({ n }) => n >= knownTo);
    this.#found = this.#found.filter(({ n }) => n < knownTo);
    return taken;
  }

  /** Reads on towards the beginning. */
  async readBlock(): Promise<void> {
    this.#open ??= await this.#nextFile();
    const open = this.#open;
    if (open === undefined) {
      if (this.#files.length === 0) this.knownTo = 0;
      return;
    }
    const start = Math.max(0, open.endsAt - BLOCK_BYTES);
    const bytes = await open.file.read(start, open.endsAt - start);
    this.bytesRead += bytes.length;
    // The first line of the block may begin before it; one that is longer than any of ours is damage.
    const newline = start === 0 ? -1 : bytes.indexOf(NEWLINE);
    const from = newline === -1 || newline > LINE_BYTES_MAX ? 0 : newline + 1;
    this.#take(bytes.subarray(from), open.entry.first);
    open.endsAt = start + from;
    if (start === 0) await this.#ended(open.entry);
  }

  async close(): Promise<void> {
    await this.#open?.file.close();
    this.#open = undefined;
  }

  async #ended({ first }: EntryFile): Promise<void> {
    await this.close();
    this.knownTo = this.#files.length === 0 || first <= (this.#filter.above ?? 0) ? 0 : Math.min(this.knownTo, first);
  }

  /** Returns undefined when there is none, or the next one was removed meanwhile. */
  async #nextFile(): Promise<{ file: DiskFile; entry: EntryFile; endsAt: number } | undefined> {
    const entry = this.#files.pop();
    if (entry === undefined) return undefined;
    try {
      const file = await this.#root.open(entry.path, "read");
      this.#open = { file, entry, endsAt: entry.bytes };
      this.#open.endsAt = await this.#endOf(file, entry.bytes);
      return this.#open;
    } catch (error) {
      if (!isRunnelError(error, "NotFound")) throw error;
      return undefined;
    }
  }

  /** Finds an offset behind all lines that are asked for, and not far behind: numbers grow within a file. */
  async #endOf(file: DiskFile, bytes: number): Promise<number> {
    let [low, high] = [0, bytes];
    while (this.#filter.after !== undefined && this.#below <= this.knownTo && high - low > BLOCK_BYTES) {
      const middle = Math.floor((low + high) / 2);
      const line = firstLine(await file.read(middle, PROBE_BYTES));
      if (line === undefined) break;
      if (line.n < this.#below) low = middle;
      else high = middle + line.offset;
    }
    return high;
  }

  #take(bytes: Uint8Array, first: number): void {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const { above = 0, fromMs = -Infinity, toMs = Infinity } = this.#filter;
    // A block without a text that is asked for has nothing that matches: its first line tells how far it goes.
    const isAny = this.#needles.every((needle) => buffer.includes(needle));
    const lines = isAny ? buffer.toString().split("\n") : buffer.toString("utf8", 0, HEAD_BYTES).split("\n", 1);
    for (const text of lines.toReversed()) {
      const head = headOf(text);
      // A file may begin with acts that an earlier one has [F183].
      if (head === undefined || head.n >= this.#below || head.n < first) continue;
      if (head.n <= above) {
        this.knownTo = 0;
        return;
      }
      this.knownTo = Math.min(this.knownTo, head.n);
      if (head.ms < fromMs || head.ms >= toMs || !this.#needles.every((needle) => text.includes(needle))) continue;
      if (!this.#hasSmall(text)) continue;
      const line = parseLine(text);
      if (line === undefined || line.step?.is === "begun" || !matches(line.entry, this.#filter)) continue;
      this.#found.push(line.entry);
    }
  }

  #hasSmall(text: string): boolean {
    return this.#smallNeedle === undefined || text.toLowerCase().includes(this.#smallNeedle);
  }

  /** `next`: the file after it. */
  #mayMatch({ range }: EntryFile, next: EntryFile | undefined): boolean {
    const { above = 0, fromMs = -Infinity, toMs = Infinity } = this.#filter;
    if (next !== undefined && next.first <= above + 1) return false;
    // The last file grows while it is read.
    return range === undefined || next === undefined || (range.toMs >= fromMs && range.fromMs < toMs);
  }
}

/** Returns the number of the first line that begins within the bytes; undefined when none does. */
function firstLine(bytes: Uint8Array): { n: number; offset: number } | undefined {
  const offset = bytes.indexOf(NEWLINE) + 1;
  const head = headOf(Buffer.from(bytes.buffer, bytes.byteOffset + offset, bytes.length - offset).toString("latin1"));
  return offset === 0 || head === undefined ? undefined : { n: head.n, offset };
}
