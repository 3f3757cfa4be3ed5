// Background work on contents: recipes for files that other programs wrote, and the chunk index. Everything here is a
// hint that can be lost.
import type { ChunkPreset, Clock, Executor, Recipe, Timer, VersionId } from "@runnel/shared";
import { isRunnelError, presetFor, presetOf } from "@runnel/shared";
import type { ContentStore } from "../content/content-store.ts";
import { eachOf } from "../host/each-of.ts";
import type { MetaStore } from "../meta/meta-store.ts";
import type { CommitQueue } from "../commit-log/queue.ts";
import { chunkVersion } from "../content/version-reader.ts";

const BATCH = 64;
/** While one recipe is written to the log, others are made: the log takes them as one write. */
const CUT_AT_ONCE = 8;
/** A file that changed while it was cut is looked at again after this. */
const AGAIN_MS = 2_000;
/** A file of less may have the wrong preset: soon cut anew, soon fetched again. */
const LARGE_BYTES = 64 * 1024 * 1024;
const NO_DATA = new Uint8Array(0);

export interface ChunkIndexerDeps {
  meta: MetaStore;
  content: ContentStore;
  executor: Executor;
  clock: Clock;
  queue: CommitQueue;
  warn(message: string, error?: unknown): void;
}

export class ChunkIndexer {
  readonly #deps: ChunkIndexerDeps;
  #working: Promise<void> | undefined;
  #isWanted = false;
  #isClosed = false;
  #timer: Timer | undefined;
  /** Queue of what clients wait for: one at a time, beside the others. */
  #turn: Promise<void> = Promise.resolve();
  readonly #asked = new Map<string, Promise<void>>();

  constructor(deps: ChunkIndexerDeps) {
    this.#deps = deps;
  }

  /** Chunks of a version just committed. */
  index(version: VersionId, recipe: Recipe): void {
    this.#deps.meta
      .putChunks(version, recipe)
      .catch((error: unknown) => this.#deps.warn("The chunk index could not be written.", error));
  }

  /** There may be files without a recipe. */
  schedule(): void {
    this.#isWanted = true;
    if (this.#isClosed) return;
    this.#working ??= this.#work()
      .catch((error: unknown) => this.#deps.warn("Files could not be chunked in the background.", error))
      .finally(() => {
        this.#working = undefined;
        if (this.#isWanted) this.schedule();
      });
  }

  /** Cuts this one before the others; resolves when that is done, or cannot be now. */
  cutFirst(version: VersionId): Promise<void> {
    const key = keyOf(version);
    let asked = this.#asked.get(key);
    if (asked === undefined) {
      asked = this.#turn.then(() => this.#cutAsked(version)).finally(() => this.#asked.delete(key));
      this.#asked.set(key, asked);
      this.#turn = asked;
    }
    return asked;
  }

  async #cutAsked(version: VersionId): Promise<void> {
    const { meta, warn } = this.#deps;
    try {
      if (!this.#isClosed && (await meta.version(version))?.hasRecipe === false) await this.#cut(version);
    } catch (error) {
      warn("A file could not be chunked.", error);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#working;
    await this.#turn;
  }

  async #work(): Promise<void> {
    const { meta } = this.#deps;
    /** Versions that cannot be cut now must not keep the others waiting. */
    const later = new Set<string>();
    while (this.#isWanted && !this.#isClosed) {
      this.#isWanted = false;
      let isNew = false;
      for (let after = 0; !this.#isClosed;) {
        const page = await meta.withoutRecipe(BATCH, after);
        after = page.at(-1)?.node ?? 0;
        const versions = page.filter((version) => !later.has(keyOf(version)));
        await eachOf(versions, CUT_AT_ONCE, async (version) => {
          if (!this.#isClosed && !(await this.#cut(version))) later.add(keyOf(version));
        });
        isNew ||= versions.length > 0;
        if (page.length < BATCH) break;
      }
      this.#isWanted ||= isNew;
    }
    if (later.size > 0 && !this.#isClosed) {
      this.#timer?.cancel();
      this.#timer = this.#deps.clock.after(AGAIN_MS, () => this.schedule());
    }
  }

  /**
   * That of the version before, so that clients have most of its chunks: looked for where there may be another than the
   * size says.
   */
  async #presetOf({ node, seq }: VersionId, sizeBytes: number): Promise<ChunkPreset> {
    const { meta } = this.#deps;
    if (sizeBytes < LARGE_BYTES) return presetFor(sizeBytes);
    const [before] = (await meta.versionsOf(node))
      .filter(({ version, hasRecipe }) => hasRecipe && version.seq < seq)
      .toSorted((one, other) => other.version.seq - one.version.seq);
    const recipe = before && (await meta.recipe(before.version));
    return (recipe && presetOf(recipe)) ?? presetFor(sizeBytes);
  }

  async #cut(version: VersionId): Promise<boolean> {
    const { meta, queue } = this.#deps;
    try {
      const recipe = await chunkVersion(this.#deps, version, (sizeBytes) => this.#presetOf(version, sizeBytes));
      if (recipe === undefined) return false;
      await queue.submit({
        operation: { op: "setRecipe", version, recipe },
        id: undefined,
        data: NO_DATA,
        holder: undefined,
      });
      await meta.putChunks(version, recipe);
      return true;
    } catch (error) {
      if (!isRunnelError(error)) throw error;
      return false;
    }
  }
}

function keyOf({ node, seq }: VersionId): string {
  return `${node}.${seq}`;
}
