// VerifiedSource: a file that a program goes on writing to, as a log that grows. Its tuple is never the recorded one for long, but a version whose recipe
// was made when it was taken in can still be in it: what is read counts when its digests are the recipe's.
import type { DiskFile, DiskRoot, Executor, Recipe } from "@runnel/shared";
import { DIGEST_BYTES, chunkOffsets, digestAt, isRunnelError } from "@runnel/shared";
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
    let file: DiskFile;
    try {
      file = await root.open(path, "read");
    } catch (error) {
      if (isRunnelError(error, "NotFound", "NotFolder", "IsFolder", "Unsupported")) return undefined;
      throw error;
    }
    if (isSameHandle(await file.handle(), handle)) return new VerifiedSource(file, recipe, executor);
    await file.close();
    return undefined;
  }

  /** Undefined when the version's bytes are no longer there. */
  async read(offset: number, length: number): Promise<Uint8Array | undefined> {
    const offsets = chunkOffsets(this.#recipe);
    const { lengths } = this.#recipe;
    const parts: Uint8Array[] = [];
    const indexes: number[] = [];
    for (let index = 0; index < lengths.length; index++) {
      const start = offsets[index] ?? 0;
      const size = lengths[index] ?? 0;
      if (start >= offset + length || start + size <= offset) continue;
      parts.push(await this.#file.read(start, size));
      indexes.push(index);
    }
    const digests = await this.#executor.digest(parts);
    const isVerified = indexes.every((index, at) => {
      const got = digests.subarray(at * DIGEST_BYTES, (at + 1) * DIGEST_BYTES);
      return Buffer.compare(got, digestAt(this.#recipe, index)) === 0;
    });
    if (!isVerified) return undefined;
    const skip = offset - (offsets[indexes[0] ?? 0] ?? 0);
    return Buffer.concat(parts).subarray(skip, skip + length);
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}
