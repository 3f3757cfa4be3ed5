// What the records of a journal add up to. Pure: records in, pending commits out.
import type { RecordPlace } from "@runnel/shared";
import type { JournalCommit } from "./journal.ts";
import type { JournalRecord, OperationName } from "./records.ts";

export interface PendingCommit {
  commit: JournalCommit;
  place: RecordPlace;
  /** As in the record; "" once the data is on stable storage. */
  unsyncedIn: string;
  /** Of its bytes, as they came to stable storage; undefined before that. */
  digest: Uint8Array | undefined;
  /** Its bytes may be gone: see Journal.unproven. */
  isUnproven: boolean;
}

export class JournalState {
  instance = "";
  /** Numbers of the instance below this one may have been given. */
  below = 0;
  readonly #pending = new Map<string, PendingCommit>();
  /** How many pending commits name a data file. */
  readonly #uses = new Map<string, number>();

  take(record: JournalRecord, place: RecordPlace): void {
    if (record.kind === "numbers") {
      if (record.instance === this.instance) this.below = Math.max(this.below, record.below);
      else [this.instance, this.below] = [record.instance, record.below];
    } else if (record.kind === "commit") {
      this.remove(record.commit);
      const { commit, unsyncedIn, digest } = record;
      this.#pending.set(keyOf(commit), { commit, place, unsyncedIn, digest, isUnproven: false });
      for (const { file } of commit.layers) this.#uses.set(file, (this.#uses.get(file) ?? 0) + 1);
    } else if (record.kind === "onDisk") {
      for (const id of record.ids) {
        const entry = this.get(id);
        if (entry !== undefined) [entry.unsyncedIn, entry.digest] = ["", id.digest];
      }
    } else this.remove(record);
  }

  get(id: OperationName): PendingCommit | undefined {
    return this.#pending.get(keyOf(id));
  }

  /** Returns the files that only this commit named. */
  remove(id: OperationName): string[] {
    const entry = this.get(id);
    if (entry === undefined) return [];
    this.#pending.delete(keyOf(id));
    return entry.commit.layers.flatMap(({ file }) => {
      const left = (this.#uses.get(file) ?? 1) - 1;
      if (left > 0) this.#uses.set(file, left);
      else this.#uses.delete(file);
      return left > 0 ? [] : [file];
    });
  }

  names(file: string): boolean {
    return this.#uses.has(file);
  }

  /** In the order of their records. */
  entries(): PendingCommit[] {
    return [...this.#pending.values()].toSorted(
      (one, other) => one.place.segment - other.place.segment || one.place.offset - other.place.offset,
    );
  }

  /** The oldest segment with a pending commit, or undefined. */
  oldestSegment(): number | undefined {
    let oldest: number | undefined;
    for (const { place } of this.#pending.values()) oldest = Math.min(oldest ?? place.segment, place.segment);
    return oldest;
  }
}

function keyOf({ instance, n }: OperationName): string {
  return `${instance}/${n}`;
}
