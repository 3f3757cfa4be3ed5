// Staged files: what uploads fill in temp/ before their commit names it. One with notes outlives the server: the next
// process may go on with it.
import type { DiskFile, DiskRoot } from "@runnel/shared";
import { NS_PER_MS, isRunnelError } from "@runnel/shared";
import type { ResumableFile, StagedFile, ResumedFile } from "../../content-store.ts";
import { makeStoreFolders } from "../disk/marker.ts";
import { StagedNotes, readNotes } from "./staged-notes.ts";
import {
  STORE_FILE_MODE,
  TEMP_FOLDER,
  countOfStaged,
  joinPath,
  notesPath,
  seqOfTemp,
  stagedName,
  stagedOfNotes,
  stagedPath,
} from "../disk/store-layout.ts";
import { removeIfThere } from "../disk/found.ts";
import { writeSparsely } from "../disk/write-sparsely.ts";

/**
 * Synced each time that so much more was written: what a power cut takes of a long upload, and what is left to sync in
 * the end.
 */
const SYNC_BYTES = 32 * 1024 * 1024;

class OpenStagedFile implements ResumedFile {
  readonly name: string;
  readonly file: DiskFile;
  readonly #root: DiskRoot;
  readonly #notes: StagedNotes;
  readonly #checkRoot: MustBeThere;
  #hasNotes: boolean;
  #isClosed = false;
  #unsyncedBytes = 0;
  #isSyncing = false;
  /** Syncs in the background. After one that failed nobody knows what the disk has: it fails the last one too. */
  #synced: Promise<void> = Promise.resolve();

  constructor(root: DiskRoot, name: string, file: DiskFile, checkRoot: MustBeThere, hasNotes = false) {
    this.#root = root;
    this.#checkRoot = checkRoot;
    this.name = name;
    this.file = file;
    this.#notes = new StagedNotes(root, name);
    this.#hasNotes = hasNotes;
  }

  /** It has its length in the end. A sparse file is staged as one. */
  async write(offset: number, bytes: Uint8Array): Promise<void> {
    await writeSparsely(this.file, offset, bytes);
    this.#unsyncedBytes += bytes.length;
    if (this.#unsyncedBytes >= SYNC_BYTES && !this.#isSyncing) this.#syncMeanwhile();
  }

  #syncMeanwhile(): void {
    this.#unsyncedBytes = 0;
    this.#isSyncing = true;
    this.#synced = this.#synced.then(async () => {
      await this.file.sync();
      await this.#notes.sync();
      await this.#root.syncFolder(TEMP_FOLDER);
      this.#isSyncing = false;
    });
    this.#synced.catch(() => undefined);
  }

  async note(notes: readonly Uint8Array[]): Promise<void> {
    this.#hasNotes = true;
    await this.#notes.append(notes);
  }

  async cutNotes(end: number): Promise<void> {
    await this.#notes.cut(end);
  }

  async sync(lengthBytes: number): Promise<void> {
    await this.#synced;
    await this.file.truncate(lengthBytes);
    // At once: a journaling file system commits both as one group.
    await Promise.all([this.file.sync(), this.#root.syncFolder(TEMP_FOLDER)]);
    // A folder that was moved away has it in vain: nobody may be told that it is saved [F111].
    await this.#checkRoot();
    await this.detach();
  }

  async named(): Promise<void> {
    await this.detach();
    if (this.#hasNotes) await removeIfThere(this.#root, notesPath(this.name));
  }

  async discard(): Promise<void> {
    await this.detach();
    // Notes without a file are nothing.
    await removeIfThere(this.#root, stagedPath(this.name));
    await this.named();
  }

  async detach(): Promise<void> {
    await this.#synced.catch(() => undefined);
    await this.#notes.close();
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.file.close();
  }
}

class ResumableStagedFile implements ResumableFile {
  readonly atMs: number;
  readonly #root: DiskRoot;
  readonly #name: string;
  readonly #checkRoot: MustBeThere;

  constructor(root: DiskRoot, name: string, atMs: number, checkRoot: MustBeThere) {
    this.#root = root;
    this.#checkRoot = checkRoot;
    this.#name = name;
    this.atMs = atMs;
  }

  notes(): AsyncIterable<{ note: Uint8Array; end: number }> {
    return readNotes(this.#root, this.#name);
  }

  async open(lengthBytes: number): Promise<ResumedFile> {
    const file = await this.#root.open(stagedPath(this.#name), "write");
    try {
      await file.truncate(lengthBytes);
    } catch (error) {
      await file.close();
      throw error;
    }
    return new OpenStagedFile(this.#root, this.#name, file, this.#checkRoot, true);
  }

  async discard(): Promise<void> {
    await removeIfThere(this.#root, stagedPath(this.#name));
    await removeIfThere(this.#root, notesPath(this.#name));
  }
}

/** @throws Unavailable when the folder is not the volume's any more. */
type MustBeThere = () => Promise<void>;

export class StagedFiles {
  readonly #root: DiskRoot;
  readonly #checkRoot: MustBeThere;
  #next = 1;

  constructor(root: DiskRoot, checkRoot: MustBeThere) {
    this.#root = root;
    this.#checkRoot = checkRoot;
  }

  async make(): Promise<StagedFile> {
    const name = stagedName(this.#next++);
    return new OpenStagedFile(this.#root, name, await this.#create(stagedPath(name)), this.#checkRoot);
  }

  async #create(path: string): Promise<DiskFile> {
    const create = (): Promise<DiskFile> => this.#root.open(path, "createNew", STORE_FILE_MODE);
    try {
      return await create();
    } catch (error) {
      await this.#checkRoot();
      if (!isRunnelError(error, "NotFound")) throw error;
      // A person has cleared the store's folders away.
      await makeStoreFolders(this.#root);
      return create();
    }
  }

  /**
   * Removes from temp/ what no pending commit (by seq, or by the staged file it names) still needs, but for staged
   * files that have notes [F24]; these are given, with their notes, to whoever may go on with them.
   */
  async clean(seqs: ReadonlySet<number>, names: ReadonlySet<string>): Promise<ResumableFile[]> {
    const found: string[] = [];
    const notesAtMs = new Map<string, number>();
    await this.#root.list(TEMP_FOLDER, (entries) => {
      for (const { name, stat } of entries) {
        if (name === undefined) continue;
        this.#next = Math.max(this.#next, (countOfStaged(name) ?? 0) + 1);
        if (!seqs.has(seqOfTemp(name) ?? -1) && !names.has(name)) found.push(name);
        const staged = stagedOfNotes(name);
        if (staged !== undefined && !names.has(staged)) notesAtMs.set(staged, Number(stat.mtimeNs / NS_PER_MS));
      }
    });
    for (const name of names) this.#next = Math.max(this.#next, (countOfStaged(name) ?? 0) + 1);
    const resumable = found.filter((name) => notesAtMs.has(name));
    const isResumable = new Set(resumable);
    for (const name of found)
      if (!isResumable.has(stagedOfNotes(name) ?? name)) await this.#remove(joinPath(TEMP_FOLDER, name));
    return resumable.map(
      (name) => new ResumableStagedFile(this.#root, name, notesAtMs.get(name) ?? 0, this.#checkRoot),
    );
  }

  /**
   * After a power cut a later commit's file can lie in the folder of an earlier one that has lost its place: salvage
   * has taken it from there.
   */
  async #removeFolder(path: string): Promise<void> {
    const names: string[] = [];
    await this.#root.list(path, (entries) => {
      for (const { name } of entries) if (name !== undefined) names.push(name);
    });
    for (const name of names) await this.#remove(joinPath(path, name));
    await this.#root.removeFolder(path);
  }

  async #remove(path: string): Promise<void> {
    try {
      await removeIfThere(this.#root, path);
    } catch (error) {
      if (!isRunnelError(error, "IsFolder", "Denied")) throw error;
      await this.#removeFolder(path);
    }
  }
}
