// journal/data/: the files with unsent bytes. The drive makes and writes them; here they are synced, measured and
// removed.
import type { ByteRange } from "@runnel/native/drive";
import type { DiskRoot, Executor } from "@runnel/shared";
import { isRunnelError } from "@runnel/shared";
import type { JournalCommit } from "./journal.ts";

type Layer = JournalCommit["layers"][number];

/** Files synced at a time: the disk's own queue does better with several. */
const SYNCS_AT_ONCE = 8;

/** A layer on stable storage, and the digest of what it holds there. */
interface Synced {
  extents: readonly ByteRange[];
  digest: Uint8Array;
}

export class DataFolder {
  /** Layers that have come to stable storage, by file: what is recorded is not written to any more. */
  readonly #synced = new Map<string, Synced>();
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
    const queue = [...new Set(files)].filter((file) => !this.#synced.has(file));
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
  digest(commit: JournalCommit): Promise<Uint8Array | undefined> {
    return this.#digestBy(commit, (layer) => this.#digestOf(layer));
  }

  /** The same of a commit whose files have been synced here. A layer that was digested then is not read again. */
  digestSynced(commit: JournalCommit): Promise<Uint8Array | undefined> {
    return this.#digestBy(commit, async (layer) => {
      const known = this.#synced.get(layer.file);
      if (known !== undefined && areSame(known.extents, layer.extents)) return known.digest;
      const digest = await this.#digestOf(layer);
      this.#synced.set(layer.file, { extents: layer.extents, digest });
      return digest;
    });
  }

  async remove(file: string): Promise<void> {
    this.#synced.delete(file);
    try {
      await this.#root.removeFile(`${this.#folder}/${file}`);
    } catch (error) {
      if (!isRunnelError(error, "NotFound")) throw error;
    }
  }

  async #digestBy(
    { layers }: JournalCommit,
    digestOf: (layer: Layer) => Promise<Uint8Array>,
  ): Promise<Uint8Array | undefined> {
    try {
      const digests: Uint8Array[] = [];
      for (const layer of layers) digests.push(await digestOf(layer));
      return await this.#executor.digest([Buffer.concat(digests)]);
    } catch (error) {
      if (isRunnelError(error, "NotFound", "Stale")) return undefined;
      throw error;
    }
  }

  async #digestOf({ file, extents }: Layer): Promise<Uint8Array> {
    const open = await this.#root.open(`${this.#folder}/${file}`, "read");
    try {
      return await this.#executor.digestFile(open, extents);
    } finally {
      await open.close();
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

function areSame(some: readonly ByteRange[], others: readonly ByteRange[]): boolean {
  if (some.length !== others.length) return false;
  return some.every(({ offset, length }, at) => others[at]?.offset === offset && others[at].length === length);
}

/** Returns whether each layer's file is there and long enough for its extents. */
export function isHeld(commit: JournalCommit, sizes: ReadonlyMap<string, number>): boolean {
  return commit.layers.every(({ file, extents }) => {
    const sizeBytes = sizes.get(file);
    return sizeBytes !== undefined && extents.every(({ offset, length }) => offset + length <= sizeBytes);
  });
}
