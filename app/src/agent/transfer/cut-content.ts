// A content's recipe while it is being made: cut in windows, one ahead of whoever sends, so that the first bytes go
// long before the last are cut. Kept for further attempts.
import type { ChunkPreset, Executor, Recipe } from "@runnel/shared";
import { EMPTY_RECIPE, concatRecipes, encodeRecipe, sliceRecipe } from "@runnel/shared";
import type { ComposedContent } from "./compose.ts";

/**
 * Enough for threads to be busy with; what is cut twice at the border of two windows, a chunk, is a hundredth of it.
 */
const WINDOW_BYTES = 8 * 1024 * 1024;

/** Neighbouring chunks of the content. */
export interface Window {
  recipe: Recipe;
  /** Index of its first chunk. */
  from: number;
  offset: number;
  end: number;
}

export class CutContent {
  readonly content: ComposedContent;
  readonly preset: ChunkPreset;
  readonly #executor: Executor;
  /** Undefined after the last. */
  #cut: Promise<Window | undefined>[] = [];
  #made: Promise<{ recipe: Recipe; oid: Uint8Array }> | undefined;

  /**
   * The content is the caller's, and must stay open until it is done with this. `recipe`: when it has been cut already.
   */
  constructor(content: ComposedContent, executor: Executor, preset: ChunkPreset, recipe?: Recipe) {
    this.content = content;
    this.preset = preset;
    this.#executor = executor;
    if (recipe !== undefined) this.#keepWhole(recipe);
  }

  /** All is to be cut, whatever was known. */
  begin(): void {
    this.#cut = [];
    this.#made = undefined;
  }

  get sizeBytes(): number {
    return this.content.sizeBytes;
  }

  /** Yields the windows in order; those that were cut before come at once. @throws what cutting throws. */
  async *windows(): AsyncGenerator<Window> {
    for (let index = 0; ; index++) {
      const wanted = this.#window(index);
      void this.#window(index + 1);
      const window = await wanted;
      if (window === undefined) return;
      yield window;
    }
  }

  /** The first window; the content must not be empty. */
  async firstWindow(): Promise<Window> {
    for await (const window of this.windows()) return window;
    throw new TypeError("Nothing has no window.");
  }

  /** Chunks [from, to), which windows that have come hold. */
  async slice(from: number, to: number): Promise<Recipe> {
    const parts: Recipe[] = [];
    for (const cut of this.#cut) {
      const window = await cut;
      if (window === undefined) break;
      const first = Math.max(0, from - window.from);
      if (first < window.recipe.lengths.length) parts.push(sliceRecipe(window.recipe, first, to - window.from));
      if (window.from + window.recipe.lengths.length >= to) break;
    }
    return concatRecipes(parts);
  }

  /** The whole recipe, cut to its end if need be, and its OID. */
  whole(): Promise<{ recipe: Recipe; oid: Uint8Array }> {
    this.#made ??= this.#make();
    return this.#made;
  }

  async #make(): Promise<{ recipe: Recipe; oid: Uint8Array }> {
    const windows = await Array.fromAsync(this.windows());
    const recipe = concatRecipes(windows.map((window) => window.recipe));
    // A single copy is enough.
    this.#keepWhole(recipe);
    return { recipe, oid: await this.#executor.digest([encodeRecipe(recipe)]) };
  }

  #keepWhole(recipe: Recipe): void {
    const all = { recipe, from: 0, offset: 0, end: this.sizeBytes };
    this.#cut = [...(this.sizeBytes > 0 ? [Promise.resolve(all)] : []), Promise.resolve(undefined)];
  }

  #window(index: number): Promise<Window | undefined> {
    for (let next = this.#cut.length; next <= index; next++) {
      const window = this.#cutNext(this.#cut[next - 1]);
      window.catch(() => undefined);
      this.#cut.push(window);
    }
    return this.#cut[index] ?? Promise.resolve(undefined);
  }

  async #cutNext(before: Promise<Window | undefined> | undefined): Promise<Window | undefined> {
    const last = await before;
    if (before !== undefined && last === undefined) return undefined;
    const { from, offset } =
      last === undefined ? { from: 0, offset: 0 } : { from: last.from + last.recipe.lengths.length, offset: last.end };
    const left = this.sizeBytes - offset;
    if (left <= 0) return undefined;
    const length = Math.min(left, WINDOW_BYTES);
    const cut = await this.#cutRange(offset, length);
    if (length === left) return { recipe: cut, from, offset, end: this.sizeBytes };
    // The last chunk was ended by the window: it begins the next one.
    const count = cut.lengths.length - 1;
    const end = offset + length - (cut.lengths[count] ?? 0);
    return { recipe: sliceRecipe(cut, 0, count), from, offset, end };
  }

  async #cutRange(offset: number, length: number): Promise<Recipe> {
    await this.content.verify(offset, length);
    const pieces = this.content.slice(offset, length);
    const [piece] = pieces;
    if (pieces.length === 1 && piece?.file !== undefined)
      return this.#executor.chunkFile(piece.file, piece.offset, piece.length, this.preset);
    return (await this.#executor.rechunk(pieces, EMPTY_RECIPE.lengths, [], this.preset)).fresh;
  }
}
