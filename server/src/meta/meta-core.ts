// MetaCore: all of MetaStore, synchronously, over an engine's tables. The engine decides the thread it runs on; the front (meta-front.ts) makes it
// asynchronous and keeps other writes out while a batch is open.
import { DIGEST_BYTES, LIMITS, NODE_LIMIT, RunnelError, noticeKey } from "@runnel/shared";
import type { Change, Entry, NodeState, Notice, Recipe, VersionId, Xattr } from "@runnel/shared";
import type * as store from "./meta-store.ts";
import type { ChunkTable, MetaTables, StoredResult, Transactions } from "./meta-tables.ts";
import { planRequest } from "./plan/planner.ts";

/** Past this a request for ids is a mistake. */
const ALLOCATE_MAX = 2 ** 32;

type Methods = store.MetaStore;
/** MetaStore with every promise taken off. */
export type SyncMetaStore = {
  [Name in keyof Methods]: (...args: Parameters<Methods[Name]>) => Awaited<ReturnType<Methods[Name]>>;
};

export interface MetaEngine {
  /** The open transaction's tables. */
  write: MetaTables;
  /** The committed state; may be the same object where `park` hides the open batch. */
  read: MetaTables;
  transactions: Transactions;
  chunks: ChunkTable;
}

export class MetaCore implements SyncMetaStore {
  readonly #write: MetaTables;
  readonly #read: MetaTables;
  readonly #transactions: Transactions;
  readonly #chunks: ChunkTable;
  /** Versions of the open batch whose bytes are in the log, by index. */
  #contents = new Map<number, VersionId>();

  constructor(engine: MetaEngine) {
    this.#write = engine.write;
    this.#read = engine.read;
    this.#transactions = engine.transactions;
    this.#chunks = engine.chunks;
  }

  /** Runs `work` in a transaction; a throw rolls it back. */
  #transact<T>(isDurable: boolean, work: () => T): T {
    this.#transactions.begin(isDurable);
    return this.#orRollback(() => {
      const value = work();
      this.#transactions.commit();
      return value;
    });
  }

  #orRollback<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      this.#transactions.rollback();
      throw error;
    }
  }

  facts(): store.VolumeFacts {
    const { formatVersion, epoch, seq, appliedSeq, logSegment, logOffset } = this.#read.facts();
    return { formatVersion, epoch, seq, appliedSeq, logSegment, logOffset };
  }

  plan(batch: readonly store.PlanRequest[]): store.Planned[] {
    this.#contents = new Map();
    this.#transactions.begin(false);
    return this.#orRollback(() => {
      const planned = batch.map((request, index) => {
        const { planned: answer, content } = planRequest(this.#write, request);
        if (content !== undefined) this.#contents.set(index, content);
        return answer;
      });
      this.#transactions.park();
      return planned;
    });
  }

  commit(
    places: ReadonlyMap<number, { segment: number; offset: number; length: number }>,
    log: { segment: number; offset: number },
  ): void {
    this.#orRollback(() => {
      this.#transactions.resume();
      for (const [index, version] of this.#contents) {
        const place = places.get(index);
        const row = this.#write.version(version);
        if (place === undefined || row === undefined)
          throw new Error(`No log place for operation ${index} of the batch.`);
        this.#write.putVersion({ ...row, place: { at: "pending", ...place } });
      }
      this.#write.putFacts({ ...this.#write.facts(), logSegment: log.segment, logOffset: log.offset });
      this.#transactions.commit();
    });
  }

  rollback(): void {
    this.#transactions.rollback();
  }

  checkpoint(): void {
    this.#transactions.checkpoint();
  }

  node(node: number): NodeState | undefined {
    return this.#read.node(node);
  }

  nodes(nodes: readonly number[]): (NodeState | undefined)[] {
    return nodes.map((node) => this.#read.node(node));
  }

  lookup(folder: number, name: string): NodeState | undefined {
    const node = this.#read.binding(folder, name);
    return node === undefined ? undefined : this.#read.node(node);
  }

  list(folder: number, after: string, limit: number): Entry[] {
    return this.#read.list(folder, after, limit);
  }

  xattrs(node: number): Xattr[] {
    return this.#read.xattrs(node);
  }

  namesOf(node: number): { folder: number; name: string }[] {
    return this.#read.namesOf(node);
  }

  changesAfter(seq: number, limit: number): Change[] {
    const { forgottenSeq } = this.#read.facts();
    if (seq < forgottenSeq) {
      throw new RunnelError("Gone", "read changes", `Changes up to seq ${forgottenSeq} are no longer kept.`);
    }
    return this.#read.changesAfter(seq, limit);
  }

  forgetChanges(upToSeq: number): void {
    this.#transact(false, () => {
      const facts = this.#write.facts();
      const forgottenSeq = Math.min(upToSeq, facts.seq);
      if (forgottenSeq <= facts.forgottenSeq) return;
      this.#write.removeChangesUpTo(forgottenSeq);
      this.#write.putFacts({ ...facts, forgottenSeq });
    });
  }

  recipe(version: VersionId): Recipe | undefined {
    return this.#read.recipe(version);
  }

  version(version: VersionId): store.VersionRow | undefined {
    return this.#read.version(version);
  }

  versionsOf(node: number): store.VersionRow[] {
    return this.#read.versionsOf(node);
  }

  #move(version: VersionId, place: store.VersionPlace): void {
    const row = this.#write.version(version);
    if (row !== undefined) this.#write.putVersion({ ...row, place });
  }

  setPlace(version: VersionId, place: store.VersionPlace): void {
    this.#transact(false, () => this.#move(version, place));
  }

  forgetVersion(version: VersionId): void {
    this.#transact(false, () => {
      const state = this.#write.node(version.node);
      if (state !== undefined && state.nlink > 0 && state.version === version.seq) {
        throw new RunnelError("Invalid", "forget version", `Version ${version.node}.${version.seq} is current.`);
      }
      this.#write.removeVersion(version);
    });
  }

  withoutRecipe(limit: number, after = 0): VersionId[] {
    return this.#read.withoutRecipe(limit, after);
  }

  allocateNodes(count: number): { first: number; count: number } {
    return this.#transact(true, () => {
      const facts = this.#write.facts();
      const first = facts.nextNode;
      const isPossible = Number.isInteger(count) && count > 0 && count <= ALLOCATE_MAX && first + count <= NODE_LIMIT;
      if (!isPossible)
        throw new RunnelError("Invalid", "allocate nodes", `${count} ids cannot be given out after ${first}.`);
      this.#write.putFacts({ ...facts, nextNode: first + count });
      return { first, count };
    });
  }

  result(instance: string, n: number): StoredResult | undefined {
    return this.#read.result(instance, n);
  }

  forgetResults(instance: string, upToN: number, but: readonly number[]): void {
    this.#transact(false, () => this.#write.removeResultsUpTo(instance, upToN, but));
  }

  setAttached(instance: string, termMs: number): void {
    this.#transact(true, () =>
      termMs > 0 ? this.#write.putAttached({ instance, termMs }) : this.#write.removeAttached(instance),
    );
  }

  attached(): store.AttachedInstance[] {
    return this.#read.attached();
  }

  diskRows(folder: number): store.DiskRow[] {
    return this.#read.diskRows(folder);
  }

  diskRow(folder: number, name: string): store.DiskRow | undefined {
    return this.#read.diskRow(folder, name);
  }

  diskRowsOfNode(node: number): store.DiskRow[] {
    return this.#read.diskRowsOfNode(node);
  }

  diskRowByHandle(handle: Uint8Array): store.DiskRow | undefined {
    return this.#read.diskRowByHandle(handle);
  }

  countDiskRows(): number {
    return this.#read.countDiskRows();
  }

  recordApplied(change: Parameters<Methods["recordApplied"]>[0]): void {
    this.#transact(false, () => {
      for (const { folder, name } of change.removed) this.#write.removeDiskRow(folder, name);
      for (const row of change.put) this.#write.putDiskRow(row);
      for (const { version, place } of change.places) this.#move(version, place);
      const facts = this.#write.facts();
      this.#write.putFacts({ ...facts, appliedSeq: Math.max(facts.appliedSeq, change.appliedSeq) });
      if (change.passed !== undefined) this.#write.putPassed(change.passed);
    });
  }

  passed(): store.Passed {
    return this.#read.passed();
  }

  note(notices: readonly Notice[]): void {
    this.#transact(true, () => {
      const kept = new Map(this.#write.notices().map((notice) => [fullKey(notice), notice]));
      for (const notice of notices) {
        const key = fullKey(notice);
        const same = kept.get(key);
        const now = same === undefined ? notice : joinNotices(same, notice);
        kept.delete(key);
        kept.set(key, now);
        this.#write.putNotice(now);
        if (same === undefined) this.#forgetOldest(notice.kind, kept);
      }
    });
  }

  #forgetOldest(kind: Notice["kind"], kept: Map<string, Notice>): void {
    const ofKind = [...kept].filter(([, notice]) => notice.kind === kind);
    const [oldest] = ofKind;
    if (oldest === undefined || ofKind.length <= LIMITS.notices) return;
    kept.delete(oldest[0]);
    this.#write.removeNotice(oldest[1]);
  }

  notices(): Notice[] {
    return this.#read.notices();
  }

  forgetNotices(notices: readonly Notice[]): void {
    this.#transact(true, () => {
      for (const notice of notices) this.#write.removeNotice(notice);
    });
  }

  putChunks(version: VersionId, recipe: Recipe): void {
    this.#chunks.put(version, recipe);
  }

  findChunks(digests: Uint8Array): ({ version: VersionId; offset: number; length: number } | undefined)[] {
    if (digests.length % DIGEST_BYTES !== 0)
      throw new RunnelError("Invalid", "find chunks", "Digests have a ragged size.");
    return this.#chunks.find(digests);
  }

  clearChunks(): void {
    this.#chunks.clear();
  }

  close(): void {
    this.#transactions.close();
  }
}

function fullKey(notice: Notice): string {
  return `${notice.kind} ${noticeKey(notice)}`;
}

/** Merges what both notices know of a file. */
function joinNotices(before: Notice, after: Notice): Notice {
  if (before.kind !== "lost" || after.kind !== "lost") return after;
  const path = after.path === "" ? before.path : after.path;
  // Told twice, after a crash, it is one all the same.
  return { ...after, path, versions: before.versions + (after.seq === before.seq ? 0 : after.versions) };
}
