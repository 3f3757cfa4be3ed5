// The files of one folder of the audit log: entries are appended to the last, the oldest go when they are too many or
// too old [F184]. One caller appends at a time; any number may read meanwhile.
import type { Clock, DiskFile, DiskRoot } from "@runnel/shared";
import { RunnelError, isRunnelError } from "@runnel/shared";
import type { AuditAct, ReadLine } from "./audit-entry.ts";
import type { AuditLimits } from "./audit-limits.ts";
import {
  type FoundContent,
  type TimeRange,
  fileNameOf,
  firstOfName,
  headerOf,
  parseHeader,
  scanContent,
  widened,
} from "./file-format.ts";

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
const HEADER_BYTES_MAX = 256;
/** A file is not read whole beyond that; ours end long before. */
const READ_BYTES_MAX = 64 * 1024 * 1024;

/** A file of the log. Of the last one the range of times grows. */
export interface EntryFile {
  path: string;
  /** Number of the first entry that it may have. */
  first: number;
  bytes: number;
  range: TimeRange | undefined;
}

/** A line that is appended. */
export interface Line {
  n: number;
  ms: number;
  text: string;
  /** Number of the act that begins or ends with it. */
  begins?: boolean;
  ends?: number;
}

export interface EntryFilesOptions {
  root: DiskRoot;
  clock: Clock;
  folder: string;
  limits: AuditLimits;
  bytesMax: number;
}

/** Findings of a start. */
export interface FoundEntries {
  lastN: number;
  lastAct: AuditAct | undefined;
  begun: ReadLine[];
  /** Lines of the last file that cannot be read. */
  damaged: number;
}

export class EntryFiles {
  readonly #options: EntryFilesOptions;
  /** Oldest first. */
  readonly #files: EntryFile[] = [];
  /** The last file, once something was appended. */
  #open: { file: DiskFile; entry: EntryFile; bornMs: number } | undefined;
  /** The next line goes to a new file. */
  #isFull = false;
  #isSynced = true;
  /** Lines of acts that have no outcome yet, by number: a new file begins with them. */
  readonly #begun = new Map<number, string>();

  private constructor(options: EntryFilesOptions) {
    this.#options = options;
  }

  /** @throws RunnelError Version for files of a newer Runnel. */
  static async open(options: EntryFilesOptions): Promise<{ files: EntryFiles; found: FoundEntries }> {
    const files = new EntryFiles(options);
    return { files, found: await files.#find() };
  }

  /** Oldest first, as they are now; a file may be gone when it is opened. */
  list(): readonly Readonly<EntryFile>[] {
    return this.#files.map((file) => ({ ...file }));
  }

  get needsSync(): boolean {
    return !this.#isSynced;
  }

  /** Appends lines in the order of their numbers. After a failure none of them is there. */
  async append(lines: readonly Line[]): Promise<void> {
    const bytes = Buffer.from(lines.map(({ text }) => text).join(""));
    const { file, entry } = await this.#fileFor(lines[0]?.n ?? 0, bytes.length);
    try {
      await file.write(entry.bytes, bytes);
    } catch (error) {
      await this.#cutOff(file, entry.bytes);
      throw error;
    }
    this.#isSynced = false;
    entry.bytes += bytes.length;
    for (const { n, ms, text, begins, ends } of lines) {
      entry.range = widened(entry.range, ms);
      if (begins === true) this.#begun.set(n, text);
      if (ends !== undefined) this.#begun.delete(ends);
    }
  }

  /**
   * Puts on stable storage what was appended. After a failure `lines`, which were appended last, are not there any
   * more.
   */
  async sync(lines: readonly Line[] = []): Promise<void> {
    if (this.#isSynced || this.#open === undefined) return;
    const { file, entry } = this.#open;
    try {
      await file.sync(true);
      this.#isSynced = true;
    } catch (error) {
      // The system may hold the pages for clean from now on: nothing more goes to this file.
      this.#isFull = true;
      entry.bytes -= Buffer.byteLength(lines.map(({ text }) => text).join(""));
      for (const { n } of lines) this.#begun.delete(n);
      await this.#cutOff(file, entry.bytes);
      throw error;
    }
  }

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    await open?.file.close();
  }

  /** Cuts a file off. What cannot be cut off is passed over by whoever reads, or stands there twice. */
  async #cutOff(file: DiskFile, bytes: number): Promise<void> {
    try {
      await file.truncate(bytes);
    } catch (error) {
      if (!isRunnelError(error)) throw error;
      this.#isFull = true;
    }
  }

  async #fileFor(n: number, bytes: number): Promise<{ file: DiskFile; entry: EntryFile }> {
    const { clock, limits } = this.#options;
    const last = this.#files.at(-1);
    if (this.#open === undefined && last !== undefined && !this.#isFull)
      this.#open = { file: await this.#options.root.open(last.path, "write"), entry: last, bornMs: nowMs(clock) };
    const open = this.#open;
    if (open !== undefined && !this.#isFull) {
      // Either way: a clock that was put back must not keep a file for ever.
      const ageMs = Math.abs(nowMs(clock) - (open.entry.range?.fromMs ?? open.bornMs));
      if (open.entry.bytes + bytes <= limits.fileBytes && ageMs <= limits.fileMs) return open;
    }
    return this.#begin(n);
  }

  /** Begins a file, durable with its name, and lets the oldest go. */
  async #begin(n: number): Promise<{ file: DiskFile; entry: EntryFile }> {
    const { root, clock, folder } = this.#options;
    await this.sync().catch(unlessExpected);
    if (this.#files.length === 0) await makeFolders(root, folder);
    const path = `${folder}/${fileNameOf(n)}`;
    const text = Buffer.from(headerOf(this.#files.at(-1)?.range) + [...this.#begun.values()].join(""));
    const file = await root.open(path, "create", FILE_MODE);
    try {
      // A file that could not be begun before may be there.
      await file.truncate(0);
      await file.write(0, text);
      await file.sync();
      await root.syncFolder(folder);
    } catch (error) {
      await file.close();
      throw error;
    }
    await this.close();
    const entry: EntryFile = { path, first: n, bytes: text.length, range: undefined };
    this.#open = { file, entry, bornMs: nowMs(clock) };
    this.#files.push(entry);
    this.#isFull = false;
    this.#isSynced = true;
    await this.#removeOld().catch(unlessExpected);
    return this.#open;
  }

  /**
   * Removes what is too much or too old. By age one file goes at a time, and none when the log seems to have been
   * silent for longer than it is kept: a clock that is wrong for once takes no history.
   */
  async #removeOld(): Promise<void> {
    const { limits, bytesMax, clock } = this.#options;
    let bytes = this.#files.reduce((sum, file) => sum + file.bytes, 0);
    while (bytes > bytesMax && this.#files.length > 1) bytes -= await this.#removeOldest();
    const [oldest, next] = this.#files;
    const isBefore = (range: TimeRange | undefined): boolean =>
      range === undefined || range.toMs < nowMs(clock) - limits.keptMs;
    const isOld = oldest?.range !== undefined && isBefore(oldest.range);
    if (isOld && next !== undefined && !isBefore(this.#files.at(-2)?.range)) await this.#removeOldest();
  }

  async #removeOldest(): Promise<number> {
    const oldest = this.#files[0];
    if (oldest === undefined) return 0;
    try {
      await this.#options.root.removeFile(oldest.path);
    } catch (error) {
      if (!isRunnelError(error, "NotFound")) throw error;
    }
    this.#files.shift();
    return oldest.bytes;
  }

  async #find(): Promise<FoundEntries> {
    const { root, folder } = this.#options;
    const list = root.list(folder, (batch) => {
      for (const { name = "", stat } of batch) {
        const first = firstOfName(name);
        if (first === undefined || stat.type !== "file") continue;
        this.#files.push({ path: `${folder}/${name}`, first, bytes: stat.sizeBytes, range: undefined });
      }
    });
    await list.catch(unlessMissing);
    this.#files.sort((one, other) => one.first - other.first);
    for (const [index, file] of this.#files.entries()) {
      const { newer, before } = parseHeader(await this.#text(file, HEADER_BYTES_MAX));
      if (newer !== undefined) throw newerFormat(root, file, newer);
      const previous = this.#files[index - 1];
      if (previous !== undefined) previous.range = before;
    }
    return this.#findLast();
  }

  async #findLast(): Promise<FoundEntries> {
    const last = this.#files.at(-1);
    if (last === undefined) return { lastN: 0, lastAct: undefined, begun: [], damaged: 0 };
    const { root } = this.#options;
    const file = await root.open(last.path, "write");
    let found: FoundContent;
    try {
      found = scanContent(await file.read(0, Math.min(last.bytes, READ_BYTES_MAX)));
      // A torn line was never acknowledged.
      if (found.wholeBytes < last.bytes) await file.truncate(found.wholeBytes);
    } finally {
      await file.close();
    }
    if (found.wholeBytes === 0) {
      // Begun and never used: its header was not whole.
      await root.removeFile(last.path);
      this.#files.pop();
      return this.#findLast();
    }
    last.bytes = found.wholeBytes;
    last.range = found.range;
    this.#isFull = found.damaged > 0;
    const { lastN, lastAct, begun, damaged } = found;
    return { lastN: Math.max(lastN, last.first - 1), lastAct, begun: [...begun.values()], damaged };
  }

  async #text({ path }: EntryFile, bytesMax: number): Promise<string> {
    const file = await this.#options.root.open(path, "read");
    try {
      return Buffer.from(await file.read(0, bytesMax)).toString();
    } finally {
      await file.close();
    }
  }
}

async function makeFolders(root: DiskRoot, path: string): Promise<void> {
  const parts = path.split("/");
  for (const index of parts.keys()) {
    try {
      await root.makeFolder(parts.slice(0, index + 1).join("/"), FOLDER_MODE);
      await root.syncFolder(parts.slice(0, index).join("/"));
    } catch (error) {
      if (!isRunnelError(error, "Exists")) throw error;
    }
  }
}

function newerFormat(root: DiskRoot, { path }: EntryFile, format: number): RunnelError {
  const sentence = `${path} in ${root.path} was written by a newer Runnel (format ${format}). Update this one.`;
  return new RunnelError("Version", "serve", sentence, { detail: { need: format } });
}

function unlessMissing(error: unknown): void {
  if (!isRunnelError(error, "NotFound")) throw error;
}

function unlessExpected(error: unknown): void {
  if (!isRunnelError(error)) throw error;
}

export function nowMs(clock: Clock): number {
  return Number(clock.wallNs() / 1_000_000n);
}
