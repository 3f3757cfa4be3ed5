// Versions that a write copies from: opened once, verified before use, and open until the commit that names them has
// been accepted, since an open version is not dropped.
import type { Executor, Recipe, VersionId } from "@runnel/shared";
import { RunnelError, chunkOffsets, digestAt, isRunnelError } from "@runnel/shared";
import type { ContentStore, OpenVersion } from "../content/content-store.ts";
import type { MetaStore, Run } from "../meta/meta-store.ts";
import type { Allowance } from "./allowances.ts";
import { holdsChunks } from "../content/version-reader.ts";

export interface HeldVersion {
  recipe: Recipe;
  /** Undefined when its bytes cannot be had now. */
  open: OpenVersion | undefined;
}

/** Versions open for a write, each of which is an open file. A write that copies from more is asked for the rest. */
const OPEN_VERSIONS_MAX = 128;
/** Versions held for a write, including those that cannot be opened. */
const HELD_MAX = 2 * OPEN_VERSIONS_MAX;

export interface HeldVersionsDeps {
  meta: MetaStore;
  content: ContentStore;
  executor: Executor;
}

export class HeldVersions {
  readonly #deps: HeldVersionsDeps;
  readonly #allowance: Pick<Allowance, "openFiles" | "holdDescriptors">;
  /** Versions that are being opened or are open. */
  readonly #held = new Map<string, Promise<HeldVersion | undefined>>();
  /** Versions that the write's runs name. */
  readonly #used = new Set<string>();
  #openCount = 0;

  constructor(deps: HeldVersionsDeps, allowance: Pick<Allowance, "openFiles" | "holdDescriptors">) {
    this.#allowance = allowance;
    this.#deps = deps;
  }

  /** @returns undefined when the version or its recipe is not kept. */
  async get(version: VersionId): Promise<HeldVersion | undefined> {
    const key = keyOf(version);
    const before = this.#held.get(key);
    if (before !== undefined) return before;
    if (this.#held.size >= HELD_MAX) {
      await this.#closeUnused();
      return this.get(version);
    }
    const held = this.#hold(version);
    this.#held.set(key, held);
    try {
      return await held;
    } catch (error) {
      if (this.#held.get(key) === held) this.#held.delete(key);
      throw error;
    }
  }

  async #hold(version: VersionId): Promise<HeldVersion | undefined> {
    const recipe = await this.#deps.meta.recipe(version);
    if (recipe === undefined) return undefined;
    const open = await this.#open(version);
    try {
      this.#allowance.holdDescriptors(recipe.lengths.length);
    } catch (error) {
      await this.#shut(open);
      throw error;
    }
    return { recipe, open };
  }

  /** Makes a run over chunks of a version, verified. @returns undefined when they are not there. */
  async run(version: VersionId, { recipe, open }: HeldVersion, from: number, count: number): Promise<Run | undefined> {
    const [offset = 0, end = 0] = [from, from + count].map((index) => chunkOffsets(recipe)[index]);
    const length = end - offset;
    if (open === undefined || !(await open.secure([{ offset, length }]))) return undefined;
    if (!(await holdsChunks(open, recipe, from, count, this.#deps.executor))) return undefined;
    this.#used.add(keyOf(version));
    return { from: "version", version, offset, length };
  }

  /** Makes a run like `run`, for one chunk that the chunk index says is there. */
  async chunk(
    place: { version: VersionId; offset: number; length: number },
    digest: Uint8Array,
  ): Promise<Run | undefined> {
    const open = (await this.get(place.version))?.open;
    const { offset, length } = place;
    if (open === undefined || offset + length > open.sizeBytes || !(await open.secure([{ offset, length }])))
      return undefined;
    if (!(await this.#isAt(open, place.offset, place.length, digest))) return undefined;
    this.#used.add(keyOf(place.version));
    return { from: "version", ...place };
  }

  /** Verifies that the runs, all of versions, still have the bytes of the recipe. */
  async stillHave(runs: readonly Run[], recipe: Recipe): Promise<boolean> {
    let index = 0;
    for (const run of runs) {
      if (run.from !== "version") return false;
      const open = (await this.get(run.version))?.open;
      if (open === undefined || !(await open.secure([run]))) return false;
      this.#used.add(keyOf(run.version));
      for (let at = 0; at < run.length; index++) {
        const length = recipe.lengths[index] ?? 0;
        if (length === 0) return false;
        const isVerified =
          (await open.isSettled(run.offset + at, length)) ||
          (await this.#isAt(open, run.offset + at, length, digestAt(recipe, index)));
        if (!isVerified) return false;
        at += length;
      }
    }
    return true;
  }

  async close(): Promise<void> {
    this.#used.clear();
    await this.#closeUnused();
  }

  async #open(version: VersionId): Promise<OpenVersion | undefined> {
    if (this.#openCount >= OPEN_VERSIONS_MAX || !this.#allowance.openFiles(1)) return undefined;
    this.#openCount++;
    try {
      return await this.#deps.content.open(version);
    } catch (error) {
      this.#closed();
      if (!isRunnelError(error)) throw error;
      return undefined;
    }
  }

  async #isAt(open: OpenVersion, offset: number, length: number, digest: Uint8Array): Promise<boolean> {
    try {
      return Buffer.compare(await this.#deps.executor.digest([await open.read(offset, length)]), digest) === 0;
    } catch (error) {
      if (!(error instanceof RunnelError)) throw error;
      return false;
    }
  }

  async #closeUnused(): Promise<void> {
    for (const [key, holding] of this.#held) {
      if (this.#used.has(key)) continue;
      this.#held.delete(key);
      const held = await holding.catch(() => undefined);
      if (held !== undefined) this.#allowance.holdDescriptors(-held.recipe.lengths.length);
      await this.#shut(held?.open);
    }
  }

  async #shut(open: OpenVersion | undefined): Promise<void> {
    if (open === undefined) return;
    this.#closed();
    await open.close();
  }

  #closed(): void {
    this.#openCount--;
    this.#allowance.openFiles(-1);
  }
}

function keyOf({ node, seq }: VersionId): string {
  return `${node}.${seq}`;
}
