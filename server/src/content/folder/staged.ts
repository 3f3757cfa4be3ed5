// Staged files: what uploads fill in temp/ before their commit names it. Those that no commit names do not outlive the server.
import type { DiskFile, DiskRoot } from "@runnel/shared";
import { isRunnelError } from "@runnel/shared";
import type { StagedFile } from "../content-store.ts";
import {
  STORE_FILE_MODE,
  TEMP_FOLDER,
  countOfStaged,
  joinPath,
  seqOfTemp,
  stagedName,
  stagedPath,
} from "./store-layout.ts";
import { removeIfThere } from "./trash.ts";
import { writeSparsely } from "./write-sparsely.ts";

class OpenStagedFile implements StagedFile {
  readonly name: string;
  readonly #root: DiskRoot;
  readonly #file: DiskFile;
  #isClosed = false;

  constructor(root: DiskRoot, name: string, file: DiskFile) {
    this.#root = root;
    this.name = name;
    this.#file = file;
  }

  /** It has its length in the end. A sparse file is staged as one. */
  async write(offset: number, bytes: Uint8Array): Promise<void> {
    await writeSparsely(this.#file, offset, bytes);
  }

  async sync(lengthBytes: number): Promise<void> {
    await this.#file.truncate(lengthBytes);
    // At once: a journaling file system commits both as one group.
    await Promise.all([this.#file.sync(), this.#root.syncFolder(TEMP_FOLDER)]);
    await this.#close();
  }

  async #close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#file.close();
  }

  async discard(): Promise<void> {
    await this.#close();
    await removeIfThere(this.#root, stagedPath(this.name));
  }
}

export class StagedFiles {
  readonly #root: DiskRoot;
  #next = 1;

  constructor(root: DiskRoot) {
    this.#root = root;
  }

  async make(): Promise<StagedFile> {
    const name = stagedName(this.#next++);
    return new OpenStagedFile(this.#root, name, await this.#root.open(stagedPath(name), "createNew", STORE_FILE_MODE));
  }

  /** Removes from temp/ what no pending commit (by seq, or by the staged file it names) still needs [F24]. */
  async clean(seqs: ReadonlySet<number>, names: ReadonlySet<string>): Promise<void> {
    const useless: string[] = [];
    await this.#root.list(TEMP_FOLDER, (entries) => {
      for (const { name } of entries) {
        if (name === undefined) continue;
        this.#next = Math.max(this.#next, (countOfStaged(name) ?? 0) + 1);
        if (!seqs.has(seqOfTemp(name) ?? -1) && !names.has(name)) useless.push(name);
      }
    });
    for (const name of names) this.#next = Math.max(this.#next, (countOfStaged(name) ?? 0) + 1);
    for (const name of useless) await this.#remove(joinPath(TEMP_FOLDER, name));
  }

  /** After a power cut a later commit's file can lie in the folder of an earlier one that has lost its place: salvage has taken it from there. */
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
