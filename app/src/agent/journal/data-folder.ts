// journal/data/: the files with unsent bytes. The drive makes and writes them; here they are synced, measured and
// removed.
import type { ByteRange } from "@runnel/native/drive";
import type { DiskRoot, Executor } from "@runnel/shared";
import { DIGEST_BYTES, isRunnelError } from "@runnel/shared";
import type { JournalCommit } from "./journal.ts";

type Layer = JournalCommit["layers"][number];

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
  /** Says whether a program reads from a file. */
  isRead: (file: string) => boolean = () => false;

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

  /**
   * Brings the bytes of these commits to stable storage, and digests what their layers hold there [F43]. A commit is
   * left out when not all of it is there. A layer that was here before is neither synced nor read again.
   */
  async bringToDisk(commits: readonly JournalCommit[]): Promise<Map<JournalCommit, Uint8Array>> {
    const layers = commits.flatMap((commit) => commit.layers);
    const known = new Map(layers.map((layer) => [layer, this.#knownDigest(layer)]));
    const others = layers.filter((layer) => known.get(layer) === undefined);
    for (const [at, digest] of (await this.#digestsOf(others, true)).entries()) {
      const layer = others[at] as Layer;
      known.set(layer, digest);
      if (digest !== undefined) this.#synced.set(layer.file, { extents: layer.extents, digest });
    }
    const whole = new Map<JournalCommit, Uint8Array[]>();
    for (const commit of commits) {
      const found = commit.layers.flatMap((layer) => known.get(layer) ?? []);
      if (found.length === commit.layers.length) whole.set(commit, found);
    }
    const joined = await this.#executor.digest([...whole.values()].map((each) => Buffer.concat(each)));
    return new Map(
      [...whole.keys()].map((commit, at) => [commit, joined.slice(at * DIGEST_BYTES, (at + 1) * DIGEST_BYTES)]),
    );
  }

  async syncNames(): Promise<void> {
    await this.#root.syncFolder(this.#folder);
  }

  /** Digests all that the layers of a commit hold [F43]. @returns undefined when not all of it is there. */
  async digest({ layers }: JournalCommit): Promise<Uint8Array | undefined> {
    const digests = (await this.#digestsOf(layers, false)).filter((digest) => digest !== undefined);
    return digests.length === layers.length ? this.#executor.digest([Buffer.concat(digests)]) : undefined;
  }

  /** Removes a file that nobody reads. */
  async remove(file: string): Promise<void> {
    if (this.isRead(file)) return;
    this.#synced.delete(file);
    try {
      await this.#root.removeFile(`${this.#folder}/${file}`);
    } catch (error) {
      if (!isRunnelError(error, "NotFound")) throw error;
    }
  }

  /** The digest of a layer that has been brought to stable storage. */
  #knownDigest({ file, extents }: Layer): Uint8Array | undefined {
    const synced = this.#synced.get(file);
    return synced !== undefined && areSame(synced.extents, extents) ? synced.digest : undefined;
  }

  #digestsOf(layers: readonly Layer[], isSynced: boolean): Promise<(Uint8Array | undefined)[]> {
    const files = layers.map(({ file, extents }) => ({ path: `${this.#folder}/${file}`, ranges: extents }));
    return this.#executor.digestFiles(this.#root, files, isSynced);
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
