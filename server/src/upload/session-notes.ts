// Notes beside the staged file of a write [F33]: written as items become whole, so that the next process can resume it
// where it was, and read by it.
import type { Executor, Recipe } from "@runnel/shared";
import { EMPTY_RECIPE, chunkOffsets, isRunnelError } from "@runnel/shared";
import type { ResumableFile, ResumedFile } from "../content/content-store.ts";
import type { NewData } from "./new-data.ts";
import { type KeptReference, receivedAs } from "./references.ts";
import type { ItemNote, WriteOpening } from "./write-notes.ts";
import { decodeItem, encodeItem, encodeOpening } from "./write-notes.ts";

export interface NotedItem {
  /** EMPTY_RECIPE stands for an item that is not whole yet. */
  recipe: Recipe;
  /** Reference that it was received as; undefined for new data. */
  reference: KeptReference | undefined;
}

export class SessionNotes {
  readonly #data: Pick<NewData, "isStaged" | "note">;
  readonly #opening: WriteOpening;
  readonly #items: readonly NotedItem[];
  #isBegun = false;
  /** Number of items that have been noted, from the first on. */
  #noted = 0;
  #filled: number[] = [];
  #last: Promise<void> = Promise.resolve();

  constructor(data: Pick<NewData, "isStaged" | "note">, opening: WriteOpening, items: readonly NotedItem[]) {
    this.#data = data;
    this.#opening = opening;
    this.#items = items;
  }

  /** Writes notes of what has become whole; none while nothing is staged. @throws what writing throws, then always. */
  write(): Promise<void> {
    this.#last = this.#last.then(() => this.#writeNow());
    return this.#last;
  }

  /** Records that the data of a reference are in the staged file now. */
  fill(index: number): void {
    if (this.#items[index]?.reference !== undefined) this.#filled.push(index);
  }

  /** Continues behind the items that were noted before. */
  continue(): void {
    this.#isBegun = true;
    this.#noted = this.#items.length;
  }

  async #writeNow(): Promise<void> {
    if (!this.#data.isStaged) return;
    const notes = this.#isBegun ? [] : [encodeOpening(this.#opening)];
    this.#isBegun = true;
    for (; this.#noted < this.#items.length; this.#noted++) {
      const { recipe, reference } = this.#items[this.#noted] ?? { recipe: EMPTY_RECIPE, reference: undefined };
      if (recipe === EMPTY_RECIPE) break;
      notes.push(encodeItem(reference === undefined ? ["d", recipe] : receivedAs(reference, recipe)));
    }
    for (const index of this.#filled) if (index < this.#noted) notes.push(encodeItem(["f", index]));
    this.#filled = this.#filled.filter((index) => index >= this.#noted);
    if (notes.length > 0) await this.#data.note(notes);
  }
}

export interface ResumesItems {
  /** @returns false when the item is not there any more. */
  resumeItem(item: ItemNote, isStaged: (offset: number, recipe: Recipe) => Promise<boolean>): Promise<boolean>;
}

/** Resumes items in order, up to the first that is not what was noted: what follows is sent again [F34]. */
export async function resumeItems(
  session: ResumesItems,
  detached: ResumableFile,
  file: ResumedFile,
  executor: Executor,
): Promise<void> {
  const isStaged = (offset: number, recipe: Recipe): Promise<boolean> => isAt(file, offset, recipe, executor);
  let kept = 0;
  for await (const { note, end } of detached.notes()) {
    // The first is the opening.
    if (kept > 0 && !(await isResumed(session, decodeItem(note), isStaged))) break;
    kept = end;
  }
  await file.cutNotes(kept);
}

async function isResumed(
  session: ResumesItems,
  item: ItemNote | undefined,
  isStaged: (offset: number, recipe: Recipe) => Promise<boolean>,
): Promise<boolean> {
  try {
    return item !== undefined && (await session.resumeItem(item, isStaged));
  } catch (error) {
    // A version that is no longer kept, a file that is too short.
    if (!isRunnelError(error)) throw error;
    return false;
  }
}

async function isAt({ file }: ResumedFile, offset: number, recipe: Recipe, executor: Executor): Promise<boolean> {
  const offsets = chunkOffsets(recipe);
  const ranges = Array.from(recipe.lengths, (length, index) => ({ offset: offset + (offsets[index] ?? 0), length }));
  return Buffer.compare(await executor.digestFile(file, ranges), recipe.digests) === 0;
}
