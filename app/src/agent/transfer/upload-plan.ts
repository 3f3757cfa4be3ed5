// Plans what a write consists of: chunks that the server has, named, and the others as runs of data. Goes window by
// window; the items are the same whatever the windows are, so that a broken write can be resumed at the item that the
// server names. Pure but for looking chunks up.
import type { Recipe, VersionId } from "@runnel/shared";
import { DIGEST_BYTES, LIMITS, chunkPlaces, digestAt, firstPlaceOf, sameRun } from "@runnel/shared";
import type { Cache, FoundChunk } from "../cache/cache.ts";
import type { Window } from "./cut-content.ts";

/**
 * The part that is left to the server's memory of versions: ranges of their recipes; if one is no longer kept, of the
 * base's only, and descriptors of the others' chunks (found by digest, or asked for); if that is not kept either,
 * descriptors only; if what came was not right, nothing.
 */
export type References = "copies" | "base" | "digests" | "none";

/** A part of the stream; chunks of the new recipe [from, from + count). */
export type Item = { is: "copy" | "hash"; version: VersionId; at: number; from: number; count: number } | DataItem;

export interface DataItem {
  is: "data";
  from: number;
  count: number;
  offset: number;
  length: number;
  /** The one chunk that all of it repeats: of a hole, mostly. */
  repeats: string | undefined;
}

/** References after which the rest goes as data: naming more pieces would cost more than it saves. */
const REFERENCES_MAX = LIMITS.channelItems / 2;

/**
 * Copied chunks between two runs of data that are sent as a delta: up to here they cost less in the delta than as items
 * of their own.
 */
const BRIDGE_BYTES_MAX = 128 * 1024;

/** Contents have more chunks than is likely. */
const ASKED_MARGIN = 1.25;
/** Stands for the version of what is named by digest alone. */
const NO_VERSION: VersionId = { node: 0, seq: 0 };

export interface UploadPlanDeps {
  cache: Pick<Cache, "findChunks">;
  /** The version the edit started from, when the server has it. */
  base: { version: VersionId; recipe: Recipe } | undefined;
  references: References;
  /** Likely number of chunks, of which those that nothing is known of are named by digest; 0: they go as data. */
  asksFirst?: number;
  /** Data goes as deltas against the base. All is planned in one window then. */
  hasDeltas: boolean;
}

export class UploadPlan {
  /** All that is known so far; the last may still grow. */
  readonly items: Item[] = [];
  readonly #deps: UploadPlanDeps;
  #references = 0;
  /** The chunk is the one before it again, of a hole mostly: as data it costs less than another reference. */
  #isRepeated = false;
  /** Key of the last chunk of the window before. */
  #lastKey: string | undefined;
  #handedOut = 0;

  constructor(deps: UploadPlanDeps) {
    this.#deps = deps;
  }

  /** Plans the chunks of the next window; the items that are complete by it, not given before. */
  add(window: Window): Item[] {
    const { recipe } = window;
    const { lengths } = recipe;
    const known = this.#known(recipe);
    const keyAt = (index: number): string | undefined => (index < 0 ? this.#lastKey : keyOf(recipe, index));
    let { offset } = window;
    for (let index = 0; index < lengths.length;) {
      let count = this.#extendCopy(recipe, index);
      if (count === 0) {
        count = 1;
        const key = keyOf(recipe, index);
        this.#isRepeated = key === keyAt(index - 1);
        const length = lengths[index] ?? 0;
        const from = window.from + index;
        const isNamed =
          this.#addCopy(recipe, index, from) ||
          this.#addKnown(known.get(index), recipe, index, from) ||
          this.#addAsked(from);
        if (!isNamed) this.#addData(key, { is: "data", from, count: 1, offset, length, repeats: undefined });
      }
      for (const end = index + count; index < end; index++) offset += lengths[index] ?? 0;
    }
    this.#lastKey = keyAt(lengths.length - 1);
    return this.#deps.hasDeltas ? [] : this.#take(this.items.length - 1);
  }

  /** Places of chunks that the base does not have, by their index. */
  #known(recipe: Recipe): Map<number, FoundChunk> {
    const known = new Map<number, FoundChunk>();
    const { base, cache, references } = this.#deps;
    if (references === "none" || this.#references >= REFERENCES_MAX) return known;
    const missing: number[] = [];
    const places = base && chunkPlaces(recipe, base.recipe);
    for (let index = 0; index < recipe.lengths.length; index++) if ((places?.[index] ?? -1) < 0) missing.push(index);
    const digests = new Uint8Array(missing.length * DIGEST_BYTES);
    for (const [place, index] of missing.entries()) digests.set(digestAt(recipe, index), place * DIGEST_BYTES);
    for (const [place, found] of cache.findChunks(digests).entries())
      if (found !== undefined) known.set(missing[place] ?? 0, found);
    return known;
  }

  /** The items that are left after the last window. */
  end(): Item[] {
    if (this.#deps.hasDeltas) this.#bridge();
    return this.#take(this.items.length);
  }

  /** Joins runs of data over what little is copied between them. */
  #bridge(): void {
    const planned = this.items.splice(0);
    for (const item of planned) {
      const [copy, data] = [this.items.at(-1), this.items.at(-2)];
      if (item.is === "data" && copy?.is === "copy" && data?.is === "data") {
        const bridge = item.offset - data.offset - data.length;
        if (bridge <= BRIDGE_BYTES_MAX && data.length + bridge + item.length <= LIMITS.runBytes) {
          this.items.splice(-2, 2, {
            ...data,
            count: item.from + item.count - data.from,
            length: item.offset + item.length - data.offset,
            repeats: undefined,
          });
          continue;
        }
      }
      this.items.push(item);
    }
  }

  #take(to: number): Item[] {
    const items = this.items.slice(this.#handedOut, to);
    this.#handedOut = Math.max(this.#handedOut, to);
    return items;
  }

  /** Chunks that a copy of the base, where it is the last item, goes on for. */
  #extendCopy(recipe: Recipe, index: number): number {
    const { base } = this.#deps;
    const last = this.items.at(-1);
    if (base === undefined || last?.is !== "copy" || !isSameVersion(last.version, base.version)) return 0;
    const count = sameRun(recipe, index, base.recipe, last.at + last.count);
    last.count += count;
    return count;
  }

  #addCopy(recipe: Recipe, index: number, from: number): boolean {
    const { base } = this.#deps;
    if (base === undefined || !this.#mayRefer()) return false;
    const at = firstPlaceOf(recipe, index, base.recipe);
    if (at < 0) return false;
    this.items.push({ is: "copy", version: base.version, at, from, count: 1 });
    this.#references++;
    return true;
  }

  /**
   * Adds a chunk that a known version has. Of equal chunks the index knows one place; a copy of a run of them, a hole,
   * still goes on from chunk to chunk.
   */
  #addKnown(found: FoundChunk | undefined, recipe: Recipe, index: number, from: number): boolean {
    if (found === undefined || found.length !== recipe.lengths[index]) return false;
    const { version, recipe: theirs } = found.content;
    const is = this.#deps.references === "copies" && version.node !== 0 ? "copy" : "hash";
    const last = this.items.at(-1);
    const goesOn = last?.is === is && !(is === "hash" && this.#isRepeated);
    if (goesOn && isSameVersion(last.version, version) && last.count < LIMITS.recipeDescriptorsPerItem) {
      const next = last.at + last.count;
      if (next === found.index || (theirs !== undefined && sameRun(recipe, index, theirs, next) > 0)) {
        last.count++;
        return true;
      }
    }
    if (!this.#mayRefer()) return false;
    this.items.push({ is, version, at: found.index, from, count: 1 });
    this.#references++;
    return true;
  }

  /** Names a chunk of which only the server may know whether it has it. Few items are asked for large contents. */
  #addAsked(from: number): boolean {
    const { asksFirst = 0, hasDeltas, references } = this.#deps;
    if (asksFirst === 0 || hasDeltas || references === "none" || this.#isRepeated) return false;
    const last = this.items.at(-1);
    const chunksMax = Math.ceil((ASKED_MARGIN * asksFirst) / REFERENCES_MAX);
    if (last?.is === "hash" && last.version === NO_VERSION && last.count < chunksMax) {
      last.count++;
      return true;
    }
    if (!this.#mayRefer()) return false;
    this.items.push({ is: "hash", version: NO_VERSION, at: 0, from, count: 1 });
    this.#references++;
    return true;
  }

  #mayRefer(): boolean {
    return this.#references < REFERENCES_MAX && !this.#isRepeated;
  }

  #addData(key: string, item: DataItem): void {
    const last = this.items.at(-1);
    if (last?.is === "data" && last.length + item.length <= LIMITS.runBytes) {
      last.count++;
      last.length += item.length;
      if (last.repeats !== key) last.repeats = undefined;
    } else this.items.push({ ...item, repeats: key });
  }
}

export function isSameVersion(one: VersionId, other: VersionId): boolean {
  return one.node === other.node && one.seq === other.seq;
}

function keyOf(recipe: Recipe, index: number): string {
  return Buffer.from(recipe.digests.buffer, recipe.digests.byteOffset + index * DIGEST_BYTES, DIGEST_BYTES).toString(
    "latin1",
  );
}
