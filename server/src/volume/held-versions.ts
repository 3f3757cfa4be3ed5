// Versions that a write copies from: opened once, proved before use, and open until the commit that names them has been accepted, since an open version
// is not dropped.
import type { Executor, Recipe, VersionId } from "@runnel/shared";
import { RunnelError, chunkOffsets, digestAt, isRunnelError } from "@runnel/shared";
import type { ContentStore, OpenVersion } from "../content/content-store.ts";
import type { MetaStore, Run } from "../meta/meta-store.ts";
import { holdsChunks } from "./version-reader.ts";

export interface HeldVersion {
  recipe: Recipe;
  /** undefined: its bytes cannot be had now. */
  open: OpenVersion | undefined;
}

/** Each is an open file. A write that copies from more gets asked for the rest. */
const OPEN_VERSIONS_MAX = 128;

export class HeldVersions {
  private readonly meta: MetaStore;
  private readonly content: ContentStore;
  private readonly executor: Executor;
  private readonly held = new Map<string, HeldVersion | undefined>();
  /** Those that the write's runs name. */
  private readonly used = new Set<string>();
  private openCount = 0;

  constructor(parts: { meta: MetaStore; content: ContentStore; executor: Executor }) {
    this.meta = parts.meta;
    this.content = parts.content;
    this.executor = parts.executor;
  }

  /** undefined: the version or its recipe is not kept. */
  async get(version: VersionId): Promise<HeldVersion | undefined> {
    const key = keyOf(version);
    if (this.held.has(key)) return this.held.get(key);
    if (this.openCount >= OPEN_VERSIONS_MAX) await this.closeUnused();
    const recipe = await this.meta.recipe(version);
    const held = recipe && { recipe, open: this.openCount < OPEN_VERSIONS_MAX ? await this.open(version) : undefined };
    this.held.set(key, held);
    return held;
  }

  /** A run over chunks of a version, proved; undefined when they are not there. */
  async run(version: VersionId, { recipe, open }: HeldVersion, from: number, count: number): Promise<Run | undefined> {
    const [offset = 0, end = 0] = [from, from + count].map((index) => chunkOffsets(recipe)[index]);
    const length = end - offset;
    if (open === undefined || !(await open.secure([{ offset, length }]))) return undefined;
    if (!(await holdsChunks(open, recipe, from, count, this.executor))) return undefined;
    this.used.add(keyOf(version));
    return { from: "version", version, offset, length };
  }

  /** As run, for one chunk that the chunk index says is there. */
  async chunk(
    place: { version: VersionId; offset: number; length: number },
    digest: Uint8Array,
  ): Promise<Run | undefined> {
    const open = (await this.get(place.version))?.open;
    const { offset, length } = place;
    if (open === undefined || offset + length > open.sizeBytes || !(await open.secure([{ offset, length }])))
      return undefined;
    if (!(await this.isAt(open, place.offset, place.length, digest))) return undefined;
    this.used.add(keyOf(place.version));
    return { from: "version", ...place };
  }

  /** Whether the runs, all of versions, still have the bytes of the recipe. */
  async stillHave(runs: readonly Run[], recipe: Recipe): Promise<boolean> {
    let index = 0;
    for (const run of runs) {
      if (run.from !== "version") return false;
      const open = (await this.get(run.version))?.open;
      if (open === undefined || !(await open.secure([run]))) return false;
      this.used.add(keyOf(run.version));
      for (let at = 0; at < run.length; index++) {
        const length = recipe.lengths[index] ?? 0;
        if (length === 0) return false;
        const isProved =
          (await open.isSettled(run.offset + at, length)) ||
          (await this.isAt(open, run.offset + at, length, digestAt(recipe, index)));
        if (!isProved) return false;
        at += length;
      }
    }
    return true;
  }

  async close(): Promise<void> {
    this.used.clear();
    await this.closeUnused();
  }

  private async open(version: VersionId): Promise<OpenVersion | undefined> {
    try {
      const open = await this.content.open(version);
      this.openCount++;
      return open;
    } catch (error) {
      if (!isRunnelError(error)) throw error;
      return undefined;
    }
  }

  private async isAt(open: OpenVersion, offset: number, length: number, digest: Uint8Array): Promise<boolean> {
    try {
      return Buffer.compare(await this.executor.digest([await open.read(offset, length)]), digest) === 0;
    } catch (error) {
      if (!(error instanceof RunnelError)) throw error;
      return false;
    }
  }

  private async closeUnused(): Promise<void> {
    for (const [key, held] of this.held) {
      if (this.used.has(key)) continue;
      this.held.delete(key);
      if (held?.open === undefined) continue;
      this.openCount--;
      await held.open.close();
    }
  }
}

function keyOf({ node, seq }: VersionId): string {
  return `${node}.${seq}`;
}
