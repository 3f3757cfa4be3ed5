// VerifiedSource: a file that a program goes on writing to, as a log that grows. Its tuple is never the recorded one
// for long, but a version whose recipe was made when it was taken in can still be in it: what is read counts when its
// digests are the recipe's.
import type { DiskFile, DiskRoot, Executor, Recipe } from "@runnel/shared";
import { chunkAt, chunkRanges, wrongChunks, openIfThere } from "@runnel/shared";
import { isSameHandle } from "../disk/same-file.ts";

export class VerifiedSource {
  readonly #file: DiskFile;
  readonly #recipe: Recipe;
  readonly #executor: Executor;

  private constructor(file: DiskFile, recipe: Recipe, executor: Executor) {
    this.#file = file;
    this.#recipe = recipe;
    this.#executor = executor;
  }

  /** Undefined when another file is at the path. */
  static async open(
    root: DiskRoot,
    path: string,
    handle: Uint8Array,
    recipe: Recipe,
    executor: Executor,
  ): Promise<VerifiedSource | undefined> {
    const file = await openIfThere(root, path);
    if (file === undefined) return undefined;
    if (isSameHandle(await file.handle(), handle)) return new VerifiedSource(file, recipe, executor);
    await file.close();
    return undefined;
  }

  /** Undefined when the version's bytes are no longer there. */
  async read(offset: number, length: number): Promise<Uint8Array | undefined> {
    const first = chunkAt(this.#recipe, offset);
    const count = chunkAt(this.#recipe, offset + length - 1) - first + 1;
    const indexes = Array.from({ length: count }, (_, at) => first + at);
    const ranges = chunkRanges(this.#recipe, indexes);
    const parts: Uint8Array[] = [];
    for (const range of ranges) parts.push(await this.#file.read(range.offset, range.length));
    const digests = await this.#executor.digest(parts);
    if (wrongChunks(this.#recipe, indexes, digests).length > 0) return undefined;
    const skip = offset - (ranges[0]?.offset ?? 0);
    return Buffer.concat(parts).subarray(skip, skip + length);
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}
