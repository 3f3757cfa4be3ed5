// Reading versions, wherever their bytes are now: the live file, the trash, or log + older versions. A place can change
// while a version is open (a commit is applied, the trash is cut); a read then finds the new place, or fails by name.
// It never yields other bytes.
import type { DiskFile, DiskRoot, DiskStat, Executor, VersionId } from "@runnel/shared";
import { DIGEST_BYTES, RunnelError, isRunnelError, openIfThere, withFile } from "@runnel/shared";
import type { DiskRow, MetaStore, VersionPlace, VersionRow } from "../../../meta/meta-store.ts";
import type { ByteRange, ContentCallbacks, OpenVersion } from "../../content-store.ts";
import { BaseHold } from "./base-hold.ts";
import type { BaseHolds } from "./base-holds.ts";
import type { DiskRows } from "../disk/disk-rows.ts";
import { FileSource } from "./file-source.ts";
import type { OwnPlacings } from "./own-placings.ts";
import type { PendingContent, PendingContents, Piece } from "./pending-contents.ts";
import { VerifiedSource } from "./verified-source.ts";
import { isSettled } from "../disk/same-file.ts";
import { TRASH_FOLDER, joinPath, stagedPath, versionKey } from "../disk/store-layout.ts";
import { writeSparsely } from "../disk/write-sparsely.ts";

/** A place found may be gone when it is used; more often in a row than this, something else is wrong. */
const ATTEMPTS = 4;
/** Bytes that one read takes into memory where a copy within the system cannot be. */
const COPY_BUFFER_BYTES = 1024 * 1024;

export interface VersionsDeps {
  root: DiskRoot;
  meta: MetaStore;
  rows: DiskRows;
  pending: PendingContents;
  placings: Pick<OwnPlacings, "isAsPlaced">;
  holds: BaseHolds;
  callbacks: Pick<ContentCallbacks, "readLog">;
  /** Without one, a file that is being written to cannot be read. */
  executor: Executor | undefined;
  wallNs(): bigint;
  /** Resolves when no batch is just being put in place. Never waits for the volume. */
  steady(): Promise<void>;
  /** Something else lies at this path than was recorded. */
  suspect(path: string): void;
  /** The file of the tree that holds the version has its recorded tuple, and other bytes. */
  reportMismatch(version: VersionId): Promise<void>;
  /** The version's file is not what it was and is in nobody's way any more: it will never be readable again. */
  lose(version: VersionId): Promise<void>;
  unavailable(): string | undefined;
  /** It is not put in place, since a later save takes its place, and is forgotten then. */
  isSuperseded(version: VersionId): boolean;
  /** Commits are on their way into the folder. */
  hasPending(): boolean;
}

type Source = FileSource | VerifiedSource | BaseHold | PendingContent | "empty";

function isPending(source: Source | undefined): source is PendingContent {
  return source !== undefined && source !== "empty" && !(source instanceof BaseHold) && !isOpenFile(source);
}

function isOpenFile(source: Source | undefined): source is FileSource | VerifiedSource {
  return source instanceof FileSource || source instanceof VerifiedSource;
}

export class Versions {
  readonly deps: VersionsDeps;
  readonly #openings = new Map<string, number>();

  constructor(deps: VersionsDeps) {
    this.deps = deps;
  }

  /** Tells whether the version is open: it is not dropped then. */
  isOpen(version: VersionId): boolean {
    return this.#openings.has(versionKey(version));
  }

  /** `isWithinBatch`: asked by the one who puts a batch in place, who must not wait for its end. */
  async open(version: VersionId, isWithinBatch = false): Promise<FolderVersion> {
    const key = versionKey(version);
    this.#openings.set(key, (this.#openings.get(key) ?? 0) + 1);
    const opened = new FolderVersion(this, version, isWithinBatch);
    try {
      await opened.find();
      return opened;
    } catch (error) {
      await opened.close();
      throw error;
    }
  }

  /** An OpenVersion was closed. */
  release(version: VersionId): void {
    const key = versionKey(version);
    const count = (this.#openings.get(key) ?? 1) - 1;
    if (count > 0) this.#openings.set(key, count);
    else this.#openings.delete(key);
  }

  async row(version: VersionId): Promise<VersionRow> {
    const row = await this.deps.meta.version(version);
    if (row === undefined) throw gone(version);
    return row;
  }

  /** Finds where the bytes are at this moment. @returns undefined when what was found is not what was recorded. */
  async source(
    version: VersionId,
    sizeBytes: number,
    place: VersionPlace,
    skipsHold: boolean,
  ): Promise<Source | undefined> {
    const hold = skipsHold || place.at === "pending" ? undefined : this.deps.holds.get(version);
    if (hold !== undefined) return hold;
    switch (place.at) {
      case "empty":
        return "empty";
      case "lost":
        throw lost(version);
      case "trash":
        return this.#inTrash(version, place);
      case "disk":
        return this.#onDisk(version, sizeBytes);
      case "pending": {
        const content = this.deps.pending.get(version);
        if (content === undefined) throw gone(version);
        return content.isBeingApplied ? undefined : content;
      }
    }
  }

  /**
   * Said to be on disk, and no row knows of it: an index that lost both in a power cut found only one of them again.
   */
  async isNowhere(version: VersionId): Promise<boolean> {
    if (this.deps.hasPending()) return false;
    const place = this.deps.rows.placeOf(version) ?? (await this.row(version)).place;
    if (place.at !== "disk") return false;
    const row = (await this.deps.rows.ofNode(version.node)).find((name) => name.version === version.seq);
    if (row === undefined || row.stat.sizeBytes !== (await this.row(version)).sizeBytes) return true;
    return (await this.deps.rows.pathOf(row.folder)) === undefined;
  }

  /** The file that holds a version, of the tree or the trash, as it was recorded. */
  async fileOf(version: VersionId): Promise<FileSource | undefined> {
    const row = await this.row(version);
    const place = this.deps.rows.placeOf(version) ?? row.place;
    if (place.at === "trash") return this.#inTrash(version, place);
    const live = place.at === "disk" ? await this.#liveFile(version, row.sizeBytes) : undefined;
    return live && FileSource.open(this.deps.root, live.path, live.row.stat);
  }

  /** The live file of a version's node, whatever it holds now. */
  async changedFile({ node }: VersionId): Promise<DiskFile | undefined> {
    const { rows, root } = this.deps;
    const [row] = await rows.ofNode(node);
    const path = row && (await rows.pathOfName(row.folder, row.name));
    return path === undefined ? undefined : openIfThere(root, path);
  }

  async #liveFile(version: VersionId, sizeBytes: number): Promise<{ row: DiskRow; path: string } | undefined> {
    const { rows } = this.deps;
    const row = (await rows.ofNode(version.node)).find((name) => name.version === version.seq);
    const path = row && (await rows.pathOfName(row.folder, row.name));
    if (row === undefined || path === undefined || row.stat.sizeBytes !== sizeBytes) return undefined;
    return { row, path };
  }

  async #onDisk(version: VersionId, sizeBytes: number): Promise<FileSource | VerifiedSource | undefined> {
    const { root, meta, executor } = this.deps;
    const live = await this.#liveFile(version, sizeBytes);
    if (live === undefined) return undefined;
    const { row, path } = live;
    const source = await FileSource.open(root, path, row.stat);
    if (source !== undefined) return source;
    this.deps.suspect(path);
    const recipe = executor === undefined ? undefined : await meta.recipe(version);
    if (recipe === undefined || executor === undefined) return undefined;
    return VerifiedSource.open(root, path, row.handle, recipe, executor);
  }

  async #inTrash(version: VersionId, place: VersionPlace & { at: "trash" }): Promise<FileSource | undefined> {
    const source = await FileSource.open(this.deps.root, joinPath(TRASH_FOLDER, place.file), place.stat);
    // It is moved from there by nobody: a file with another tuple has been written to [F27].
    if (source === undefined) await this.deps.lose(version);
    return source;
  }

  /** Undefined when its content is being put in place by now. */
  async readStaged(piece: Piece & { from: "temp" }): Promise<Uint8Array | undefined> {
    if (piece.content.isBeingApplied) return undefined;
    return withFile(this.deps.root, stagedPath(piece.content.temp), "read", async (file) => {
      const bytes = await file.read(piece.at, piece.length);
      return bytes.length === piece.length && !piece.content.isBeingApplied ? bytes : undefined;
    });
  }
}

function gone(version: VersionId): RunnelError {
  return new RunnelError("Gone", "read version", `Version ${versionKey(version)} is no longer kept.`);
}

function lost(version: VersionId): RunnelError {
  return new RunnelError("Lost", "read version", `Version ${versionKey(version)} was destroyed by another program.`);
}

/** An opened version; the engine's own copying uses `copyTo` besides what OpenVersion offers. */
export class FolderVersion implements OpenVersion {
  sizeBytes = 0;
  readonly #versions: Versions;
  readonly #version: VersionId;
  readonly #isWithinBatch: boolean;
  #source: Source | undefined;
  /** Older versions that a pending one copies from. */
  readonly #older = new Map<string, FolderVersion>();
  /** Replaced files stay open until the version is closed: `file` may have been handed out. */
  readonly #replaced: (FileSource | VerifiedSource)[] = [];
  #isClosed = false;
  /** True once its bytes were promised to stay. */
  #isPromised = false;

  constructor(versions: Versions, version: VersionId, isWithinBatch: boolean) {
    this.#versions = versions;
    this.#version = version;
    this.#isWithinBatch = isWithinBatch;
  }

  get file(): DiskFile | undefined {
    return this.#source instanceof FileSource ? this.#source.file : undefined;
  }

  async isSettled(offset: number, length: number): Promise<boolean> {
    const source = this.#source;
    const { pending, holds, placings, wallNs } = this.#versions.deps;
    const isSettledStat = (stat: DiskStat): boolean =>
      isSettled(stat, wallNs()) || placings.isAsPlaced(this.#version, stat);
    if (source instanceof FileSource) return isSettledStat(source.stat);
    if (source instanceof BaseHold) return source.isSettled(isSettledStat);
    if (!isPending(source)) return false;
    const isStill = (): boolean => !source.isBeingApplied && pending.get(this.#version) === source;
    if (!isStill()) return false;
    for (const piece of pending.pieces(source, offset, length)) {
      if (piece.from !== "version") continue;
      // Bytes that a commit copies were verified before it was answered, and are held since.
      if (holds.get(piece.version)?.isWhole !== true && !(await this.#isOlderSettled(piece))) return false;
    }
    return isStill();
  }

  async #isOlderSettled({ version, at, length }: Piece & { from: "version" }): Promise<boolean> {
    try {
      return await (await this.#openOlder(version)).isSettled(at, length);
    } catch (error) {
      if (!isRunnelError(error)) throw error;
      return false;
    }
  }

  /**
   * Finds where the bytes are now; `skipsHold`: elsewhere than in a hold, which has not all. @throws Gone, Lost, Stale,
   * Unavailable.
   */
  async find(skipsHold = false): Promise<Source> {
    const { deps } = this.#versions;
    const reason = deps.unavailable();
    if (reason !== undefined) throw new RunnelError("Unavailable", "read version", reason);
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const row = await this.#versions.row(this.#version);
      this.sizeBytes = row.sizeBytes;
      const place = deps.rows.placeOf(this.#version) ?? row.place;
      const source = await this.#versions.source(this.#version, row.sizeBytes, place, skipsHold);
      if (source !== undefined) return this.#use(source);
      if (!this.#isWithinBatch) await deps.steady();
    }
    if (await this.#versions.isNowhere(this.#version)) {
      await deps.lose(this.#version);
      throw lost(this.#version);
    }
    throw new RunnelError(
      "Stale",
      "read version",
      `Version ${versionKey(this.#version)} is being changed by another program.`,
    );
  }

  async #use(source: Source): Promise<Source> {
    if (this.#isClosed && isOpenFile(source)) await source.close();
    if (isOpenFile(this.#source) && this.#source !== source) this.#replaced.push(this.#source);
    this.#source = source;
    return source;
  }

  async secure(ranges: readonly ByteRange[]): Promise<boolean> {
    const { holds } = this.#versions.deps;
    // Before it is looked where the bytes are: one that is applied from now on is held as it gets its place.
    if (!this.#isPromised) holds.promise(this.#version);
    this.#isPromised = true;
    try {
      const source = await this.find();
      if (this.#versions.deps.isSuperseded(this.#version)) return false;
      if (source === "empty") return true;
      if (isPending(source)) return await this.#secureOlder(source, ranges);
      return await holds.keep(
        this.#version,
        this.sizeBytes,
        ranges,
        () => this.#versions.fileOf(this.#version),
        (target, offset, length) => this.#copyToHold(target, offset, length),
      );
    } catch (error) {
      if (!isRunnelError(error)) throw error;
      return false;
    }
  }

  /** Into its own hold, from wherever else the bytes are. False when they are not there any more. */
  async #copyToHold(target: DiskFile, offset: number, length: number): Promise<boolean> {
    const source = await this.find(true);
    if (source instanceof FileSource) return source.copyTo(target, offset, offset, length);
    for (let done = 0; done < length; done += COPY_BUFFER_BYTES) {
      const bytes = await this.#readFrom(source, offset + done, Math.min(COPY_BUFFER_BYTES, length - done));
      if (bytes === undefined) return false;
      await target.write(offset + done, bytes);
    }
    return true;
  }

  /** Secures what a pending content copies from: it was held with its commit, unless that was in an earlier process. */
  async #secureOlder(content: PendingContent, ranges: readonly ByteRange[]): Promise<boolean> {
    for (const { offset, length } of ranges) {
      for (const piece of this.#pieces(content, offset, length)) {
        if (piece.from !== "version") continue;
        const older = await this.#openOlder(piece.version);
        if (!(await older.secure([{ offset: piece.at, length: piece.length }]))) return false;
      }
    }
    return true;
  }

  async digest(ranges: readonly ByteRange[], executor: Executor): Promise<Uint8Array> {
    const source = this.#source ?? (await this.find());
    if (source instanceof FileSource) return executor.digestFile(source.file, ranges);
    if (source instanceof BaseHold) return source.digest(ranges, executor);
    const digests = new Uint8Array(ranges.length * DIGEST_BYTES);
    const older = new Map<string, { version: VersionId; indexes: number[]; ranges: ByteRange[] }>();
    for (const [index, { offset, length }] of ranges.entries()) {
      const [piece, ...more] = this.#pieces(source, offset, length);
      if (piece?.from === "version" && more.length === 0) {
        const key = versionKey(piece.version);
        const one = older.get(key) ?? { version: piece.version, indexes: [], ranges: [] };
        older.set(key, one);
        one.indexes.push(index);
        one.ranges.push({ offset: piece.at, length });
      } else digests.set(await executor.digest([await this.read(offset, length)]), index * DIGEST_BYTES);
    }
    for (const { version, indexes, ranges: there } of older.values()) {
      const found = await (await this.#openOlder(version)).digest(there, executor);
      for (const [at, index] of indexes.entries())
        digests.set(found.subarray(at * DIGEST_BYTES, (at + 1) * DIGEST_BYTES), index * DIGEST_BYTES);
    }
    return digests;
  }

  /** None when it is not pending. */
  #pieces(source: Source, offset: number, length: number): Piece[] {
    if (!isPending(source)) return [];
    return this.#versions.deps.pending.pieces(source, offset, length);
  }

  async reportMismatch(): Promise<void> {
    if (this.#source instanceof FileSource) await this.#versions.deps.reportMismatch(this.#version);
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    this.#checkRange(offset, length);
    if (length === 0) return new Uint8Array(0);
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const source = attempt === 1 ? (this.#source ?? (await this.find())) : await this.find(attempt % 2 === 0);
      const bytes = await this.#readFrom(source, offset, length);
      if (bytes !== undefined) return bytes;
    }
    throw new RunnelError("Stale", "read version", `Version ${versionKey(this.#version)} changed while it was read.`);
  }

  #checkRange(offset: number, length: number): void {
    if (offset < 0 || length < 0 || offset + length > this.sizeBytes) {
      throw new RunnelError(
        "Invalid",
        "read version",
        `${length} bytes at ${offset} are not in a version of ${this.sizeBytes}.`,
      );
    }
  }

  async #readFrom(source: Source, offset: number, length: number): Promise<Uint8Array | undefined> {
    if (source === "empty") return new Uint8Array(length);
    if (!isPending(source)) return source.read(offset, length);
    const bytes = new Uint8Array(length);
    let at = 0;
    for (const piece of this.#versions.deps.pending.pieces(source, offset, length)) {
      const part = await this.#pieceOrMoved(source, piece);
      if (part === undefined) return undefined;
      bytes.set(part, at);
      at += part.length;
    }
    return bytes;
  }

  /**
   * A piece; undefined when it may have failed only because the version, or the one that has it, has been applied
   * meanwhile.
   */
  async #pieceOrMoved(content: PendingContent, piece: Piece): Promise<Uint8Array | undefined> {
    const { pending } = this.#versions.deps;
    const hasMoved = (one: PendingContent): boolean => one.isBeingApplied || pending.get(one.version) !== one;
    try {
      return await this.#readPiece(piece);
    } catch (error) {
      if (hasMoved(content) || (piece.from !== "version" && hasMoved(piece.content))) return undefined;
      throw error;
    }
  }

  async #readPiece(piece: Piece): Promise<Uint8Array | undefined> {
    if (piece.from === "log") return this.#versions.deps.callbacks.readLog(piece.data, piece.at, piece.length);
    if (piece.from === "temp") return this.#versions.readStaged(piece);
    return (await this.#openOlder(piece.version)).read(piece.at, piece.length);
  }

  /** Opened once; it waits for no batch either where this one must not. */
  async #openOlder(version: VersionId): Promise<FolderVersion> {
    const key = versionKey(version);
    const open = this.#older.get(key) ?? (await this.#versions.open(version, this.#isWithinBatch));
    this.#older.set(key, open);
    return open;
  }

  /**
   * Copies a range into a file that has nothing there, within the system where one file holds it. Holes stay holes, and
   * long runs of zeros become some: the file may end before them. @throws as read.
   */
  async copyTo(target: DiskFile, offset: number, at: number, length: number, bufferBytes: number): Promise<void> {
    this.#checkRange(offset, length);
    let isEmpty = true;
    for (let attempt = 1; attempt < ATTEMPTS; attempt++) {
      const source = attempt === 1 ? (this.#source ?? (await this.find())) : await this.find(attempt % 2 === 0);
      if (!(source instanceof FileSource || source instanceof BaseHold)) break;
      if (await source.copyTo(target, offset, at, length)) return;
      isEmpty = false;
    }
    for (let done = 0; done < length; done += bufferBytes) {
      const bytes = await this.read(offset + done, Math.min(bufferBytes, length - done));
      if (isEmpty) await writeSparsely(target, at + done, bytes);
      else await target.write(at + done, bytes);
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#versions.release(this.#version);
    if (this.#isPromised) await this.#versions.deps.holds.release(this.#version);
    const source = this.#source;
    for (const file of isOpenFile(source) ? [source, ...this.#replaced] : this.#replaced) await file.close();
    for (const older of this.#older.values()) await older.close();
  }
}
