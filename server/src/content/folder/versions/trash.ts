// The trash: whole old files, moved out of the tree for free, each with a record beside it from which it can be found
// again when the database is lost. Kept within a budget of bytes, files and days; the oldest goes first, but not while
// something reads or copies from it.
import type { Clock, DiskRoot, DiskStat, VersionId } from "@runnel/shared";
import { NS_PER_MS, RunnelError, isRunnelError, withFile, writeWhole } from "@runnel/shared";
import { crc32 } from "node:zlib";
import type { MetaStore, VersionPlace } from "../../../meta/meta-store.ts";
import { FOLDER_FORMAT } from "../disk/marker.ts";
import { type FoundEntry, removeIfThere } from "../disk/found.ts";
import { isSameHandle } from "../disk/same-file.ts";
import {
  STORE_FILE_MODE,
  TRASH_FOLDER,
  isTrashName,
  joinPath,
  trashName,
  versionOfTrash,
} from "../disk/store-layout.ts";

const RECORD_ENDING = ".json";
const DAY_MS = 24 * 3_600_000;
const GiB = 1024 ** 3;
const DAYS_MAX = 30;
const FILES_MAX = 100_000;

export interface TrashSettings {
  /** Undefined: a fifth of the file system or 10 GiB, whichever is smaller. */
  bytesMax?: number;
  daysMax?: number;
  /** Each takes about 200 bytes of memory. */
  filesMax?: number;
}

/** Record of an old file, next to it [F26]. Numbers that JSON cannot hold are decimal strings. */
export interface TrashRecord {
  format: number;
  epoch: string;
  node: number;
  seq: number;
  /** The path it had, "" when it had none any more. */
  path: string;
  sizeBytes: number;
  mtimeNs: string;
  /** Kernel file handle, hex. */
  handle: string;
}

interface Kept {
  name: string;
  sizeBytes: number;
  /** When it came; the ctime that the move gave it. */
  sinceNs: bigint;
}

export interface TrashDeps {
  root: DiskRoot;
  meta: MetaStore;
  clock: Clock;
  epoch: string;
  settings: TrashSettings;
  /** Something reads the version or copies from it. */
  isNeeded(version: VersionId): boolean;
  /** A file came, by this name and with this tuple. */
  fileAdded(version: VersionId, name: string, stat: DiskStat): void;
}

export class Trash {
  readonly #deps: TrashDeps;
  /** Oldest first. */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;
  #bytesMax = 10 * GiB;

  constructor(deps: TrashDeps) {
    this.#deps = deps;
  }

  get isOver(): boolean {
    return this.#bytes > this.#bytesMax || this.#kept.size > this.#filesMax;
  }

  get #filesMax(): number {
    return this.#deps.settings.filesMax ?? FILES_MAX;
  }

  /** Finds what lies there, and removes records that have lost their file. */
  async start(): Promise<void> {
    const { root, settings } = this.#deps;
    const { totalBytes } = await root.space();
    this.#bytesMax = settings.bytesMax ?? Math.min(10 * GiB, Math.floor(totalBytes / 5));
    const found: Kept[] = [];
    const records = new Set<string>();
    await root.list(TRASH_FOLDER, (entries) => {
      for (const { name, stat } of entries) {
        if (name === undefined) continue;
        if (name.endsWith(RECORD_ENDING)) records.add(name.slice(0, -RECORD_ENDING.length));
        else if (isTrashName(name)) found.push({ name, sizeBytes: stat.sizeBytes, sinceNs: stat.ctimeNs });
      }
    });
    found.sort((a, b) => (a.sinceNs < b.sinceNs ? -1 : 1));
    for (const kept of found) {
      this.#add(kept);
      records.delete(kept.name);
    }
    for (const name of records) await removeIfThere(root, recordPath(name));
  }

  #add(kept: Kept): void {
    this.#forget(kept.name);
    this.#kept.set(kept.name, kept);
    this.#bytes += kept.sizeBytes;
  }

  #forget(name: string): void {
    const kept = this.#kept.get(name);
    if (kept === undefined) return;
    this.#kept.delete(name);
    this.#bytes -= kept.sizeBytes;
  }

  /** Moves the file found at `from` here. The record comes first: a file without one would be nobody's. */
  async take(from: string, version: VersionId, path: string, found: FoundEntry): Promise<VersionPlace> {
    const { root } = this.#deps;
    const name = trashName(this.#deps.epoch, version);
    await writeTrashRecord(root, name, this.#deps.epoch, version, path, found);
    await root.rename(from, joinPath(TRASH_FOLDER, name), "replace");
    const moved = await root.stat(joinPath(TRASH_FOLDER, name));
    this.#add({ name, sizeBytes: moved.sizeBytes, sinceNs: moved.ctimeNs });
    this.#deps.fileAdded(version, name, moved);
    return { at: "trash", file: name, stat: moved };
  }

  /** Lists those of this epoch that came last. */
  newest(count: number): { name: string; version: VersionId }[] {
    return [...this.#kept.keys()].slice(-count).flatMap((name) => {
      const version = versionOfTrash(this.#deps.epoch, name);
      return version === undefined ? [] : [{ name, version }];
    });
  }

  /** The path that a file had, by its record. @throws Corrupt. */
  async pathOf(name: string): Promise<string> {
    return withFile(this.#deps.root, recordPath(name), "read", async (file) => {
      return parseTrashRecord(await file.read(0, (await file.stat()).sizeBytes)).path;
    });
  }

  /** A file has been moved away. */
  async forget(name: string): Promise<void> {
    this.#forget(name);
    await removeIfThere(this.#deps.root, recordPath(name));
  }

  /** The place of a version that is here already: a crash came after the move. */
  async find(version: VersionId, handle: Uint8Array): Promise<VersionPlace | undefined> {
    const { root } = this.#deps;
    const file = trashName(this.#deps.epoch, version);
    const path = joinPath(TRASH_FOLDER, file);
    try {
      if (!isSameHandle(await root.handle(path), handle)) return undefined;
      return { at: "trash", file, stat: await root.stat(path) };
    } catch (error) {
      if (isRunnelError(error, "NotFound")) return undefined;
      throw error;
    }
  }

  /**
   * Drops the oldest until the budget holds and `freeBytes` more are free. One that cannot be dropped is passed over,
   * and tried again with the next cut.
   */
  async cut(freeBytes = 0): Promise<void> {
    const { clock, settings } = this.#deps;
    const oldestNs = clock.wallNs() - BigInt(Math.round((settings.daysMax ?? DAYS_MAX) * DAY_MS)) * NS_PER_MS;
    let toFree = freeBytes;
    for (const kept of this.#kept.values()) {
      const isOver = this.isOver || kept.sinceNs < oldestNs;
      if (!isOver && toFree <= 0) return;
      if (await this.#drop(kept).catch(() => false)) toFree -= kept.sizeBytes;
    }
  }

  async #drop(kept: Kept): Promise<boolean> {
    const { root, meta, epoch } = this.#deps;
    const version = versionOfTrash(epoch, kept.name);
    if (version !== undefined) {
      if (this.#deps.isNeeded(version)) return false;
      const row = await meta.version(version);
      if (row?.place.at === "trash" && row.place.file === kept.name) await meta.forgetVersion(version);
    }
    await removeIfThere(root, joinPath(TRASH_FOLDER, kept.name));
    await removeIfThere(root, recordPath(kept.name));
    this.#forget(kept.name);
    return true;
  }
}

function recordPath(name: string): string {
  return joinPath(TRASH_FOLDER, name + RECORD_ENDING);
}

/** Writes the record of a file that is to come to the trash by this name. */
export async function writeTrashRecord(
  root: DiskRoot,
  name: string,
  epoch: string,
  { node, seq }: VersionId,
  path: string,
  { stat, handle }: FoundEntry,
): Promise<void> {
  const { sizeBytes, mtimeNs } = stat;
  const record: TrashRecord = {
    format: FOLDER_FORMAT,
    epoch,
    node,
    seq,
    path,
    sizeBytes,
    mtimeNs: String(mtimeNs),
    handle: Buffer.from(handle).toString("hex"),
  };
  await writeWhole(root, recordPath(name), encodeTrashRecord(record), { mode: STORE_FILE_MODE });
}

/** [F26]: the record, and last the CRC-32 of what it is without that. */
export function encodeTrashRecord(record: TrashRecord): Uint8Array {
  return Buffer.from(JSON.stringify({ ...record, crc: crcOf(record) }));
}

function crcOf(record: TrashRecord): string {
  return crc32(JSON.stringify(record)).toString(16).padStart(8, "0");
}

/** @throws RunnelError Corrupt. */
export function parseTrashRecord(bytes: Uint8Array): TrashRecord {
  try {
    const { crc, ...record } = JSON.parse(Buffer.from(bytes).toString("utf8")) as TrashRecord & { crc: unknown };
    if (record.format <= FOLDER_FORMAT && crc === crcOf(record)) return record;
  } catch {
    // Falls through: torn by a power cut.
  }
  throw new RunnelError("Corrupt", "read trash record", "A record in the trash is damaged.");
}
