// Makes recipes of contents that came without one, because nobody wanted it or the server did not know it yet: cut here
// once all is here, and kept when the server's own has the same OID; else it is asked for. An edit of such a file would
// send all of it.
import type { Clock, Executor, Recipe } from "@runnel/shared";
import {
  CHUNK_PRESETS,
  concatRecipes,
  decodeRecipe,
  encodeRecipe,
  isRunnelError,
  presetFor,
  recipeSize,
  sleep,
  checkResult,
} from "@runnel/shared";
import type { Cache, CachedContent } from "../cache/cache.ts";
import type { Session } from "../wire/session.ts";

/** Size up to which nothing is known by its chunks. */
const WORTH_BYTES = CHUNK_PRESETS[0].maxBytes;
/** The server waits a second for itself each time, but for a file that somebody has just changed. */
const TRIES = 6;
const AGAIN_MS = 500;
const LIKE = 2;
/** Descriptors asked for at once: what a program waits for does not wait behind many. */
const AT_ONCE = 256;

interface OwnRecipesDeps {
  cache: Cache;
  session: Pick<Session, "ask">;
  executor: Executor;
  clock: Clock;
}

export class OwnRecipes {
  readonly #deps: OwnRecipesDeps;
  readonly #underway = new Map<number, { sizeBytes: number; taken: Promise<void> }>();

  constructor(deps: OwnRecipesDeps) {
    this.#deps = deps;
  }

  /**
   * The content with a recipe, if it has one, or is here whole and the server knows it or can cut it soon; else as it
   * is.
   */
  async of(content: CachedContent): Promise<CachedContent> {
    if (this.#isWanting(content)) {
      let taking = this.#underway.get(content.id);
      if (taking === undefined) {
        const taken = this.#take(content).finally(() => this.#underway.delete(content.id));
        taking = { sizeBytes: content.sizeBytes, taken };
        this.#underway.set(content.id, taking);
      }
      await taking.taken;
    }
    return this.#deps.cache.byId(content.id) ?? content;
  }

  /**
   * Resolves when no content of about this size is being asked for: a new file may be one of them, edited and saved
   * under another name.
   */
  async likely(sizeBytes: number): Promise<void> {
    const isLike = (other: number): boolean => Math.max(other, sizeBytes) <= LIKE * Math.min(other, sizeBytes);
    await Promise.all([...this.#underway.values()].map((one) => (isLike(one.sizeBytes) ? one.taken : undefined)));
  }

  #isWanting(content: CachedContent): boolean {
    const { recipe, version, sizeBytes } = this.#deps.cache.byId(content.id) ?? content;
    if (recipe !== undefined || version.node === 0 || sizeBytes <= WORTH_BYTES) return false;
    return this.#deps.cache.absent(content, { offset: 0, length: sizeBytes }).length === 0;
  }

  async #take(content: CachedContent): Promise<void> {
    using hold = this.#deps.cache.hold(content);
    try {
      const theirs = await this.#askServer(hold.content);
      if (theirs === undefined) return;
      const file = await this.#deps.cache.openFile(content);
      const recipe = await this.#deps.executor
        .chunkFile(file, 0, content.sizeBytes, presetFor(content.sizeBytes))
        .finally(() => file.close());
      const oid = await this.#deps.executor.digest([encodeRecipe(recipe)]);
      if (Buffer.compare(oid, theirs) === 0) this.#deps.cache.setRecipe(content, recipe, oid, true);
      else await this.#takeTheirs(content, theirs);
    } catch (error) {
      // Offline, or evicted, or no longer kept: it stays as it is.
      if (!isRunnelError(error)) throw error;
    }
  }

  /**
   * It was cut otherwise, as one that has grown is, or what came is not what the server has: then that is dropped, and
   * fetched again when it is read.
   */
  async #takeTheirs(content: CachedContent, theirs: Uint8Array): Promise<void> {
    const { node, seq } = content.version;
    const parts: Recipe[] = [];
    for (let from = 0, chunks = 1; from < chunks; from += AT_ONCE) {
      const answer = await this.#deps.session.ask("getHash", { version: [node, seq], from, count: AT_ONCE });
      const some = checkResult("getHash", answer);
      if (some.recipe === null) return;
      parts.push(decodeRecipe(some.recipe));
      chunks = some.chunks;
    }
    const recipe = concatRecipes(parts);
    const oid = await this.#deps.executor.digest([encodeRecipe(recipe)]);
    if (Buffer.compare(oid, theirs) !== 0 || recipeSize(recipe) !== content.sizeBytes) return;
    this.#deps.cache.setRecipe(content, recipe, oid);
    await this.#deps.cache.verify(content);
  }

  /** Has the server cut it soon, if it has not yet: what is still to come of it comes with a recipe then. */
  async prepare(content: CachedContent): Promise<void> {
    try {
      await this.#askServer(content);
    } catch (error) {
      // Whoever brings the content finds out.
      if (!isRunnelError(error)) throw error;
    }
  }

  /** The OID of the server's recipe. */
  async #askServer({ version: { node, seq } }: CachedContent): Promise<Uint8Array | undefined> {
    for (let tries = 1; ; tries++) {
      const answer = await this.#deps.session.ask("getHash", { version: [node, seq], from: 0, count: 0, oid: true });
      const { oid } = checkResult("getHash", answer);
      if (oid !== null || tries === TRIES) return oid ?? undefined;
      await sleep(this.#deps.clock, AGAIN_MS);
    }
  }
}
