// Folders beside the volumes that uploads need not bring what they have (`runnel serve --supply`): an old copy, a
// stick's packs. Their index is made anew at each start. Nothing in them is trusted: each chunk is digested.
import {
  type Clock,
  type Disk,
  type DiskRoot,
  type Executor,
  type Recipe,
  RunnelError,
  chunkOffsets,
  isRunnelError,
  recipeSize,
  wrongIn,
} from "@runnel/shared";
import { MemorySupplyIndex, SupplyFolder, SupplyWatch } from "@runnel/shared/supply";
import { Semaphore } from "../host/semaphore.ts";

/** Bytes of an item that is looked for: more is asked of the client. */
const ITEM_BYTES_MAX = 4 * 1024 * 1024;
/** Items that are read at the same time, each in memory. */
const READ_AT_ONCE = 2;

export interface OldFoldersDeps {
  disk: Disk;
  executor: Executor;
  clock: Clock;
  warn(message: string, error?: unknown): void;
}

export class OldFolders implements AsyncDisposable {
  readonly #executor: Executor;
  readonly #watches: readonly SupplyWatch[];
  readonly #slots = new Semaphore(READ_AT_ONCE);
  readonly #ending = new AbortController();

  private constructor(executor: Executor, watches: readonly SupplyWatch[]) {
    this.#executor = executor;
    this.#watches = watches;
  }

  /** Begins to look through them. @throws RunnelError Invalid naming one that cannot be opened. */
  static async open(paths: readonly string[], { disk, executor, clock, warn }: OldFoldersDeps): Promise<OldFolders> {
    for (const path of paths) {
      try {
        await (await disk.openRoot(path)).close();
      } catch (error) {
        if (!isRunnelError(error)) throw error;
        const sentence = `${path} cannot be a supply: ${error.message} Name a folder that is there, or leave --supply out.`;
        throw new RunnelError("Invalid", "serve", sentence, { cause: error });
      }
    }
    const watches = paths.map((path) => {
      const index = new MemorySupplyIndex();
      const openRoot = (): Promise<DiskRoot> => disk.openRoot(path);
      const folder = new SupplyFolder({ path, index, executor, clock, openRoot });
      const log = (message: string, error: unknown): void => warn(`${path}: ${message}`, error);
      const turn = async (): Promise<() => void> => () => undefined;
      const watch = new SupplyWatch(folder, { index, clock, leavesOut: () => false, turn, log });
      watch.wake();
      return watch;
    });
    return new OldFolders(executor, watches);
  }

  /** Resolves when all have been looked through. */
  async scanned(): Promise<void> {
    await Promise.all(this.#watches.map((watch) => watch.scanned()));
  }

  /** Reads all chunks of a recipe, digested. @returns undefined when it lacks one, or they are too many. */
  async read(recipe: Recipe): Promise<Uint8Array | undefined> {
    const sizeBytes = recipeSize(recipe);
    if (sizeBytes > ITEM_BYTES_MAX) return undefined;
    for (const { folder } of this.#watches) {
      const [all, ...others] = await folder.locate({ recipe }, whole(recipe), this.#ending.signal);
      if (others.length > 0 || all?.count !== recipe.lengths.length) continue;
      try {
        const bytes = await this.#slots.run(() => this.#readFrom(folder, recipe, sizeBytes));
        if (bytes !== undefined) return bytes;
      } catch (error) {
        // It is not there any more.
        if (!isRunnelError(error)) throw error;
      }
    }
    return undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await Promise.all(this.#watches.map((watch) => watch[Symbol.asyncDispose]()));
  }

  async #readFrom(folder: SupplyFolder, recipe: Recipe, sizeBytes: number): Promise<Uint8Array | undefined> {
    const offsets = chunkOffsets(recipe);
    const bytes = new Uint8Array(sizeBytes);
    let chunks = 0;
    for await (const run of folder.get({ recipe }, whole(recipe), this.#ending.signal)) {
      bytes.set(run.bytes, offsets[run.from] ?? 0);
      chunks += run.count;
    }
    if (chunks !== recipe.lengths.length) return undefined;
    const wrong = await wrongIn(bytes, recipe, this.#executor);
    if (wrong.length === 0) return bytes;
    for (const at of wrong) folder.wrong({ recipe }, at);
    return undefined;
  }
}

function whole(recipe: Recipe): [{ from: number; count: number }] {
  return [{ from: 0, count: recipe.lengths.length }];
}
