// Adds up the records of a journal. Pure: records in, pending commits out.
import { nodesIn } from "./operation-nodes.ts";
import type { RecordPlace } from "@runnel/shared";
import type { JournalCommit, JournalOperation, ReservedNodes } from "./journal.ts";
import type { CommitRecord, JournalRecord, OperationName } from "./records.ts";

export interface PendingCommit {
  commit: JournalCommit;
  place: RecordPlace;
  /** Boot in which its data was not yet synced, as in the record; "" once the data is on stable storage. */
  unsyncedIn: string;
  /** Digest of its bytes, as they came to stable storage; undefined before that. */
  digest: Uint8Array | undefined;
  /** Bytes of it may be gone: see Journal.unverified. */
  isUnverified: boolean;
  /** Commits that it takes the place of, once its own bytes are on stable storage [F100]. */
  replaces: OperationName[];
}

export class JournalState {
  instance = "";
  /** Numbers of the instance below this one may have been given. */
  below = 0;
  nodes: ReservedNodes | undefined;
  readonly #pending = new Map<string, PendingCommit>();
  readonly #operations = new Map<string, { operation: JournalOperation; place: RecordPlace }>();
  /** Nodes that ids of an epoch stand for. */
  #bound = { epoch: "", nodes: new Map<number, number>() };
  /** Number of pending commits that name a data file. */
  readonly #uses = new Map<string, number>();

  /** Returns the files that no commit names any more because of it. */
  take(record: JournalRecord, place: RecordPlace): string[] {
    if (record.kind === "numbers") {
      if (record.instance === this.instance) this.below = Math.max(this.below, record.below);
      else [this.instance, this.below] = [record.instance, record.below];
    } else if (record.kind === "nodes") {
      const { epoch, from, end } = record;
      this.nodes = { epoch, from, end };
    } else if (record.kind === "bound") {
      if (record.epoch !== this.#bound.epoch) this.#bound = { epoch: record.epoch, nodes: new Map() };
      this.#bound.nodes.set(record.node, record.other);
    } else if (record.kind === "commit") {
      return this.#put(record, place);
    } else if (record.kind === "operation") {
      this.#operations.set(keyOf(record.operation), { operation: record.operation, place });
    } else if (record.kind === "onDisk") {
      return record.ids.flatMap((id) => {
        const entry = this.get(id);
        if (entry === undefined) return [];
        [entry.unsyncedIn, entry.digest] = ["", id.digest];
        return this.#replace(entry);
      });
    } else return this.remove(record);
    return [];
  }

  #put({ commit, unsyncedIn, digest, replaces = [] }: CommitRecord, place: RecordPlace): string[] {
    // Before what it takes the place of goes, with which it may share files.
    for (const { file } of commit.layers) this.#uses.set(file, (this.#uses.get(file) ?? 0) + 1);
    const former = this.get(commit);
    const all = [...(former?.replaces ?? []), ...replaces];
    if (former !== undefined) former.replaces = [];
    const freed = this.remove(commit);
    const entry = { commit, place, unsyncedIn, digest, isUnverified: false, replaces: all };
    this.#pending.set(keyOf(commit), entry);
    return unsyncedIn === "" ? [...freed, ...this.#replace(entry)] : freed;
  }

  /** Removes what it takes the place of; returns the files that only those named. */
  #replace(entry: PendingCommit): string[] {
    return entry.replaces.splice(0).flatMap((id) => this.remove(id));
  }

  get(id: OperationName): PendingCommit | undefined {
    return this.#pending.get(keyOf(id));
  }

  has(id: OperationName): boolean {
    return this.#pending.has(keyOf(id)) || this.#operations.has(keyOf(id));
  }

  /** Changes of names and attributes, in the order of their records. */
  operations(): JournalOperation[] {
    return [...this.#operations.values()]
      .toSorted((one, other) => one.place.segment - other.place.segment || one.place.offset - other.place.offset)
      .map(({ operation }) => operation);
  }

  /** Returns the files that only this commit named, and those that it takes the place of. */
  remove(id: OperationName): string[] {
    this.#operations.delete(keyOf(id));
    const entry = this.get(id);
    if (entry === undefined) return [];
    this.#pending.delete(keyOf(id));
    const own = entry.commit.layers.flatMap(({ file }) => {
      const left = (this.#uses.get(file) ?? 1) - 1;
      if (left > 0) this.#uses.set(file, left);
      else this.#uses.delete(file);
      return left > 0 ? [] : [file];
    });
    return [...own, ...this.#replace(entry)];
  }

  names(file: string): boolean {
    return this.#uses.has(file);
  }

  /**
   * Commits whose place no other one has taken, or takes as soon as its bytes are on stable storage; in the order of
   * their records.
   */
  current(): PendingCommit[] {
    const replaced = new Set([...this.#pending.values()].flatMap(({ replaces }) => replaces.map(keyOf)));
    return this.entries().filter(({ commit }) => !replaced.has(keyOf(commit)));
  }

  /** All commits, in the order of their records. */
  entries(): PendingCommit[] {
    return [...this.#pending.values()].toSorted(
      (one, other) => one.place.segment - other.place.segment || one.place.offset - other.place.offset,
    );
  }

  bound(epoch: string): ReadonlyMap<number, number> {
    return epoch === this.#bound.epoch ? this.#bound.nodes : new Map();
  }

  /** Returns records that say the same of these ids. */
  boundAnew(): JournalRecord[] {
    const { epoch, nodes } = this.#bound;
    return [...nodes].map(([node, other]) => ({ kind: "bound", epoch, node, other }));
  }

  /** Forgets ids that nothing names which is pending. */
  dropUnnamed(): void {
    const named = new Set<number>();
    for (const { commit } of this.#pending.values()) named.add(commit.node);
    for (const { operation } of this.#operations.values())
      for (const node of nodesIn(operation.operation)) named.add(node);
    for (const node of this.#bound.nodes.keys()) if (!named.has(node)) this.#bound.nodes.delete(node);
  }

  /** The oldest segment with something pending, or undefined. */
  oldestSegment(): number | undefined {
    let oldest: number | undefined;
    for (const all of [this.#pending, this.#operations])
      for (const { place } of all.values()) oldest = Math.min(oldest ?? place.segment, place.segment);
    return oldest;
  }
}

function keyOf({ instance, n }: OperationName): string {
  return `${instance}/${n}`;
}
