// The cache's sparse files: <folder>/<two hexadecimal digits>/<id>. Names are made from ids only.
import type { DiskEntry, DiskFile, DiskRoot } from "@runnel/shared";
import { isRunnelError } from "@runnel/shared";

const FILE_NAME = /^[1-9][0-9]{0,15}$/;
const FOLDER_NAME = /^[0-9a-f]{2}$/;
const FOLDERS = 256;

/** The files of both lie in one folder. */
export function isSameFolder(one: number, other: number): boolean {
  return one % FOLDERS === other % FOLDERS;
}

export class ContentFiles {
  readonly #root: DiskRoot;
  readonly #folder: string;
  readonly #made = new Set<string>();

  constructor(root: DiskRoot, folder: string) {
    this.#root = root;
    this.#folder = folder;
  }

  pathOf(id: number): string {
    return `${this.#root.path}/${this.#place(id)}`;
  }

  /** A new sparse file. */
  async make(id: number, sizeBytes: number): Promise<DiskFile> {
    await this.#makeFolderOf(id);
    const file = await this.#root.open(this.#place(id), "createNew", 0o600);
    try {
      await file.truncate(sizeBytes);
      return file;
    } catch (error) {
      await file.close();
      await this.remove(id);
      throw error;
    }
  }

  open(id: number, mode: "read" | "write"): Promise<DiskFile> {
    return this.#root.open(this.#place(id), mode);
  }

  /** Gives a file of the same root (path relative to it) a second name. */
  async link(from: string, id: number): Promise<void> {
    await this.#makeFolderOf(id);
    await this.#root.link(from, this.#place(id));
  }

  /** Gives a file another id. One that has a second name still is somebody else's too (adopt): it is copied. */
  async move(from: number, to: number): Promise<void> {
    const { nlink, sizeBytes } = await this.#root.stat(this.#place(from));
    await this.#makeFolderOf(to);
    if (nlink > 1) {
      await this.#copy(from, to, sizeBytes);
      await this.remove(from);
    } else await this.#root.rename(this.#place(from), this.#place(to), "keep");
  }

  async remove(id: number): Promise<void> {
    await this.#removeAt(this.#place(id));
  }

  /**
   * Removes what is not in `sizes` (by id) or has another length; returns the ids that are there. Makes the folder if
   * it is missing.
   */
  async sweep(sizes: ReadonlyMap<number, number>): Promise<Set<number>> {
    await this.#makeFolders(this.#folder);
    const present = new Set<number>();
    for (const { name, stat } of await this.#list(this.#folder)) {
      if (name === undefined) continue;
      const folder = `${this.#folder}/${name}`;
      if (stat.type !== "folder") await this.#removeAt(folder);
      else if (FOLDER_NAME.test(name)) {
        this.#made.add(folder);
        await this.#sweepFolder(folder, sizes, present);
      }
    }
    return present;
  }

  async #copy(from: number, to: number, sizeBytes: number): Promise<void> {
    const source = await this.open(from, "read");
    try {
      const target = await this.make(to, sizeBytes);
      try {
        await target.copyFrom(source, 0, 0, sizeBytes);
      } finally {
        await target.close();
      }
    } finally {
      await source.close();
    }
  }

  async #sweepFolder(folder: string, sizes: ReadonlyMap<number, number>, present: Set<number>): Promise<void> {
    for (const { name, stat } of await this.#list(folder)) {
      if (name === undefined || stat.type === "folder") continue;
      const id = FILE_NAME.test(name) ? Number(name) : 0;
      const isKnown = stat.type === "file" && sizes.get(id) === stat.sizeBytes && this.#folderOf(id) === folder;
      if (isKnown) present.add(id);
      else await this.#removeAt(`${folder}/${name}`);
    }
  }

  async #list(folder: string): Promise<DiskEntry[]> {
    const all: DiskEntry[] = [];
    await this.#root.list(folder, (entries) => {
      for (const entry of entries) all.push(entry);
    });
    return all;
  }

  #folderOf(id: number): string {
    return `${this.#folder}/${(id % FOLDERS).toString(16).padStart(2, "0")}`;
  }

  #place(id: number): string {
    return `${this.#folderOf(id)}/${id}`;
  }

  async #makeFolderOf(id: number): Promise<void> {
    const folder = this.#folderOf(id);
    if (this.#made.has(folder)) return;
    await this.#makeFolders(folder);
    this.#made.add(folder);
  }

  async #makeFolders(path: string): Promise<void> {
    const parts = path.split("/");
    for (let count = 1; count <= parts.length; count++) {
      try {
        await this.#root.makeFolder(parts.slice(0, count).join("/"), 0o700);
      } catch (error) {
        if (!isRunnelError(error, "Exists")) throw error;
      }
    }
  }

  async #removeAt(path: string): Promise<void> {
    try {
      await this.#root.removeFile(path);
    } catch (error) {
      if (!isRunnelError(error, "NotFound")) throw error;
    }
  }
}
