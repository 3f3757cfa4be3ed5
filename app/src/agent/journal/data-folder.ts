// journal/data/: the files with unsent bytes. The drive makes and writes them; here they are synced, measured and
// removed.
import type { DiskRoot, Executor } from "@runnel/shared";
import { isRunnelError } from "@runnel/shared";
import type { JournalCommit } from "./journal.ts";

/** Files synced at a time: the disk's own queue does better with several. */
const SYNCS_AT_ONCE = 8;

export class DataFolder {
  readonly #root: DiskRoot;
  readonly #folder: string;
  readonly #executor: Executor;

  constructor(root: DiskRoot, folder: string, executor: Executor) {
    this.#root = root;
    this.#executor = executor;
    this.#folder = folder;
  }

  /** Makes the folder, and those above it in the root, where they are missing. */
  async make(): Promise<void> {
    const parts = this.#folder.split("/");
    for (let count = 1; count <= parts.length; count++) {
      try {
        await this.#root.makeFolder(parts.slice(0, count).join("/"), 0o700);
      } catch (error) {
        if (!isRunnelError(error, "Exists")) throw error;
      }
      await this.#root.syncFolder(parts.slice(0, count - 1).join("/"));
    }
  }

  /** Names and lengths of all regular files. */
  async sizes(): Promise<Map<string, number>> {
    const sizes = new Map<string, number>();
    await this.#root.list(this.#folder, (entries) => {
      for (const { name, stat } of entries) {
        if (name !== undefined && stat.type === "file") sizes.set(name, stat.sizeBytes);
      }
    });
    return sizes;
  }

  /** Brings the bytes of these files to stable storage; a missing one is reported to `missing`. */
  async sync(files: Iterable<string>, missing: (file: string) => void): Promise<void> {
    const queue = [...new Set(files)];
    const work = async (): Promise<void> => {
      for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
        try {
          await this.#syncFile(file);
        } catch (error) {
          if (!isRunnelError(error, "NotFound")) throw error;
          missing(file);
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(SYNCS_AT_ONCE, queue.length) }, work));
  }

  async syncNames(): Promise<void> {
    await this.#root.syncFolder(this.#folder);
  }

  /** Digests all that the layers of a commit hold [F43]. @returns undefined when not all of it is there. */
  async digest({ layers }: JournalCommit): Promise<Uint8Array | undefined> {
    try {
      const digests: Uint8Array[] = [];
      for (const { file, extents } of layers) {
        const open = await this.#root.open(`${this.#folder}/${file}`, "read");
        try {
          digests.push(await this.#executor.digestFile(open, extents));
        } finally {
          await open.close();
        }
      }
      return await this.#executor.digest([Buffer.concat(digests)]);
    } catch (error) {
      if (isRunnelError(error, "NotFound", "Stale")) return undefined;
      throw error;
    }
  }

  async remove(file: string): Promise<void> {
    try {
      await this.#root.removeFile(`${this.#folder}/${file}`);
    } catch (error) {
      if (!isRunnelError(error, "NotFound")) throw error;
    }
  }

  async #syncFile(file: string): Promise<void> {
    const open = await this.#root.open(`${this.#folder}/${file}`, "write");
    try {
      await open.sync(true);
    } finally {
      await open.close();
    }
  }
}

/** Returns whether each layer's file is there and long enough for its extents. */
export function isHeld(commit: JournalCommit, sizes: ReadonlyMap<string, number>): boolean {
  return commit.layers.every(({ file, extents }) => {
    const sizeBytes = sizes.get(file);
    return sizeBytes !== undefined && extents.every(({ offset, length }) => offset + length <= sizeBytes);
  });
}
