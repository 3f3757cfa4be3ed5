// A write and the notes beside its staged file [F33]: noted as items become whole, so that the next life can take it up where it was, and taken up.
import type { Executor, Recipe } from "@runnel/shared";
import { EMPTY_RECIPE, chunkOffsets, isRunnelError } from "@runnel/shared";
import type { ResumableFile, ResumedFile } from "../content/content-store.ts";
import type { NewData } from "./new-data.ts";
import type { Reference } from "./references.ts";
import type { ItemNote, WriteOpening } from "./write-notes.ts";
import { decodeItem, encodeItem, encodeOpening } from "./write-notes.ts";

export interface NotedPart {
  /** EMPTY_RECIPE: not whole yet. */
  recipe: Recipe;
  /** As it was said; undefined: it is new data. */
  said: Reference | undefined;
}

export class SessionNotes {
  readonly #data: Pick<NewData, "isStaged" | "note">;
  readonly #opening: WriteOpening;
  readonly #parts: readonly NotedPart[];
  #isBegun = false;
  /** So many parts have been noted, from the first on. */
  #noted = 0;
  #filled: number[] = [];
  #last: Promise<void> = Promise.resolve();

  constructor(data: Pick<NewData, "isStaged" | "note">, opening: WriteOpening, parts: readonly NotedPart[]) {
    this.#data = data;
    this.#opening = opening;
    this.#parts = parts;
  }

  /** Notes what has become whole; nothing while nothing is staged. @throws what writing throws, then always. */
  write(): Promise<void> {
    this.#last = this.#last.then(() => this.#writeNow());
    return this.#last;
  }

  /** What a part names is in the staged file now. */
  fill(index: number): void {
    if (this.#parts[index]?.said !== undefined) this.#filled.push(index);
  }

  /** All parts have been noted before. */
  goOn(): void {
    this.#isBegun = true;
    this.#noted = this.#parts.length;
  }

  async #writeNow(): Promise<void> {
    if (!this.#data.isStaged) return;
    const notes = this.#isBegun ? [] : [encodeOpening(this.#opening)];
    this.#isBegun = true;
    for (; this.#noted < this.#parts.length; this.#noted++) {
      const { recipe, said } = this.#parts[this.#noted] ?? { recipe: EMPTY_RECIPE, said: undefined };
      if (recipe === EMPTY_RECIPE) break;
      notes.push(encodeItem(said ?? ["d", recipe]));
    }
    for (const index of this.#filled) if (index < this.#noted) notes.push(encodeItem(["f", index]));
    this.#filled = this.#filled.filter((index) => index >= this.#noted);
    if (notes.length > 0) await this.#data.note(notes);
  }
}

/** What a write takes up of itself; false when an item is not there any more. */
export interface TakesUp {
  takeUpItem(item: ItemNote, isStaged: (offset: number, recipe: Recipe) => Promise<boolean>): Promise<boolean>;
}

/** Items in order, up to the first that is not what was noted: what follows is sent again [F34]. */
export async function takeUpItems(
  session: TakesUp,
  left: ResumableFile,
  file: ResumedFile,
  executor: Executor,
): Promise<void> {
  const isStaged = (offset: number, recipe: Recipe): Promise<boolean> => isAt(file, offset, recipe, executor);
  let kept = 0;
  for await (const { note, end } of left.notes()) {
    // The first is the opening.
    if (kept > 0 && !(await isTakenUp(session, decodeItem(note), isStaged))) break;
    kept = end;
  }
  await file.cutNotes(kept);
}

async function isTakenUp(
  session: TakesUp,
  item: ItemNote | undefined,
  isStaged: (offset: number, recipe: Recipe) => Promise<boolean>,
): Promise<boolean> {
  try {
    return item !== undefined && (await session.takeUpItem(item, isStaged));
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
