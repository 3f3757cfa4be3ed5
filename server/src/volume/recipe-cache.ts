// Recipes that were read lately: a client that reads a large file on asks for range after range of one version, and its
// recipe is as long as the file.
import { DESCRIPTOR_BYTES, type Recipe, type VersionId } from "@runnel/shared";
import type { MetaStore } from "../meta/meta-store.ts";

/** Holds the largest recipe: that of a file of 4 GiB in small chunks, whose base was small, comes to 19 MiB. */
const BYTES_MAX = 24 * 1024 * 1024;

export class RecipeCache {
  readonly #meta: Pick<MetaStore, "recipe">;
  readonly #bytesMax: number;
  /** The one used last comes last. A version's recipe never changes once it has one. */
  readonly #recipes = new Map<string, Recipe>();
  readonly #asked = new Map<string, Promise<Recipe | undefined>>();
  /** Recipes that somebody holds, cached or not: whoever asks meanwhile shares them, however large they are. */
  readonly #living = new Map<string, WeakRef<Recipe>>();
  readonly #dead = new FinalizationRegistry<string>((key) => {
    if (this.#living.get(key)?.deref() === undefined) this.#living.delete(key);
  });
  #bytes = 0;

  constructor(meta: Pick<MetaStore, "recipe">, bytesMax: number = BYTES_MAX) {
    this.#meta = meta;
    this.#bytesMax = bytesMax;
  }

  /** Returns the meta store's recipe; whoever asks at the same time shares the answer. */
  async get(version: VersionId): Promise<Recipe | undefined> {
    const key = `${version.node}:${version.seq}`;
    const known = this.#recipes.get(key);
    if (known !== undefined) {
      this.#recipes.delete(key);
      this.#recipes.set(key, known);
      return known;
    }
    const living = this.#living.get(key)?.deref();
    if (living !== undefined) {
      this.#keep(key, living);
      return living;
    }
    let asked = this.#asked.get(key);
    if (asked === undefined) {
      asked = this.#meta.recipe(version).finally(() => this.#asked.delete(key));
      this.#asked.set(key, asked);
      const recipe = await asked;
      if (recipe !== undefined) this.#keep(key, recipe);
      return recipe;
    }
    return asked;
  }

  /** Caches the recipe of a version just made: it is likely to be asked for. */
  put({ node, seq }: VersionId, recipe: Recipe): void {
    const key = `${node}:${seq}`;
    if (!this.#recipes.has(key)) this.#keep(key, recipe);
  }

  /** Tells whether it is cached. */
  has({ node, seq }: VersionId): boolean {
    return this.#recipes.has(`${node}:${seq}`);
  }

  #keep(key: string, recipe: Recipe): void {
    const bytes = bytesOf(recipe);
    if (this.#living.get(key)?.deref() !== recipe) {
      this.#living.set(key, new WeakRef(recipe));
      this.#dead.register(recipe, key);
    }
    if (bytes > this.#bytesMax) return;
    this.#recipes.set(key, recipe);
    this.#bytes += bytes;
    for (const [oldest, dropped] of this.#recipes) {
      if (this.#bytes <= this.#bytesMax) return;
      this.#recipes.delete(oldest);
      this.#bytes -= bytesOf(dropped);
    }
  }
}

function bytesOf(recipe: Recipe): number {
  return recipe.lengths.length * DESCRIPTOR_BYTES;
}
