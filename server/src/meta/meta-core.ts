// MetaCore: all of MetaStore, synchronously, over an engine's tables. The engine decides the thread it runs on; the
// front (meta-front.ts) makes it asynchronous and keeps other writes out while a batch is open.
import { DIGEST_BYTES, LIMITS, NODE_LIMIT, RunnelError, noticeKey } from "@runnel/shared/model";
import type {
  Change,
  Entry,
  NodeState,
  Notice,
  NumberSpan,
  Recipe,
  RecordPlace,
  VersionId,
  Xattr,
} from "@runnel/shared";
import type * as store from "./meta-store.ts";
import type { ChunkTable, LastName, MetaTables, StoredResult, Transactions } from "./meta-tables.ts";
import { giveNodes } from "./node-ranges.ts";
import { planRequest } from "./plan/planner.ts";
import { forgetSpent, hasNothingLeft } from "./spent-versions.ts";

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
  readonly #engine: MetaEngine;
  /** Versions of the open batch whose bytes are in the log, by index. */
  #contents = new Map<number, VersionId>();

  constructor(engine: MetaEngine) {
    this.#engine = engine;
  }

  /** Runs `work` in a transaction; a throw rolls it back. */
  #transact<T>(isDurable: boolean, work: () => T): T {
    this.#engine.transactions.begin(isDurable);
    return this.#orRollback(() => {
      const value = work();
      this.#engine.transactions.commit();
      return value;
    });
  }

  #orRollback<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      this.#engine.transactions.rollback();
      throw error;
    }
  }

  node = (node: number): NodeState | undefined => this.#engine.read.node(node);
  list = (folder: number, after: string, limit: number): Entry[] => this.#engine.read.list(folder, after, limit);
  xattrs = (node: number): Xattr[] => this.#engine.read.xattrs(node);
  namesOf = (node: number): { folder: number; name: string }[] => [...this.#engine.read.namesOf(node)];
  lastName = (node: number): LastName | undefined => this.#engine.read.lastName(node);
  recipe = (version: VersionId): Recipe | undefined => this.#engine.read.recipe(version);
  version = (version: VersionId): store.VersionRow | undefined => this.#engine.read.version(version);
  versionsOf = (node: number): store.VersionRow[] => this.#engine.read.versionsOf(node);
  withoutRecipe = (limit: number, after = 0): VersionId[] => this.#engine.read.withoutRecipe(limit, after);
  result = (instance: string, n: number): StoredResult | undefined => this.#engine.read.result(instance, n);
  writeLease = (): string => this.#engine.read.writeLease();
  attached = (): store.AttachedInstance[] => this.#engine.read.attached();
  diskRows = (folder: number): store.DiskRow[] => this.#engine.read.diskRows(folder);
  diskRow = (folder: number, name: string): store.DiskRow | undefined => this.#engine.read.diskRow(folder, name);
  diskRowsOfNode = (node: number): store.DiskRow[] => this.#engine.read.diskRowsOfNode(node);
  diskRowsOf = (
    names: readonly { folder: number; name: string }[],
    nodes: readonly number[],
  ): { ofNames: (store.DiskRow | undefined)[]; ofNodes: store.DiskRow[][] } => ({
    ofNames: names.map(({ folder, name }) => this.diskRow(folder, name)),
    ofNodes: nodes.map((node) => this.diskRowsOfNode(node)),
  });
  diskRowByHandle = (handle: Uint8Array): store.DiskRow | undefined => this.#engine.read.diskRowByHandle(handle);
  countDiskRows = (): number => this.#engine.read.countDiskRows();
  passed = (): store.Passed => this.#engine.read.passed();
  notices = (): Notice[] => this.#engine.read.notices();

  facts(): store.VolumeFacts {
    const { formatVersion, epoch, seq, appliedSeq, logSegment, logOffset } = this.#engine.read.facts();
    return { formatVersion, epoch, seq, appliedSeq, logSegment, logOffset };
  }

  plan(batch: readonly store.PlanRequest[]): store.Planned[] {
    this.#contents = new Map();
    this.#engine.transactions.begin(false);
    return this.#orRollback(() => {
      const planned: store.Planned[] = [];
      for (const [index, request] of batch.entries()) {
        const refused = request.after?.map((before) => planned[before]).find((before) => before?.ok === false);
        const { planned: answer, content } =
          refused === undefined ? planRequest(this.#engine.write, request) : { planned: refused, content: undefined };
        if (content !== undefined) this.#contents.set(index, content);
        planned.push(answer);
      }
      this.#engine.transactions.park();
      return planned;
    });
  }

  commit(places: ReadonlyMap<number, RecordPlace>, log: { segment: number; offset: number }): void {
    this.#orRollback(() => {
      this.#engine.transactions.resume();
      for (const [index, version] of this.#contents) {
        const place = places.get(index);
        const row = this.#engine.write.version(version);
        if (place === undefined || row === undefined)
          throw new Error(`No log place for operation ${index} of the batch.`);
        this.#engine.write.putVersion({ ...row, place: { at: "pending", ...place } });
      }
      this.#engine.write.putFacts({ ...this.#engine.write.facts(), logSegment: log.segment, logOffset: log.offset });
      this.#engine.transactions.commit();
    });
  }

  rollback(): void {
    this.#engine.transactions.rollback();
  }

  checkpoint(): void {
    this.#engine.transactions.checkpoint();
  }

  nodes(nodes: readonly number[]): (NodeState | undefined)[] {
    return nodes.map((node) => this.#engine.read.node(node));
  }

  lookup(folder: number, name: string): NodeState | undefined {
    const node = this.#engine.read.binding(folder, name);
    return node === undefined ? undefined : this.#engine.read.node(node);
  }

  changesAfter(seq: number, limit: number): Change[] {
    const { forgottenSeq } = this.#engine.read.facts();
    if (seq < forgottenSeq) {
      throw new RunnelError("Gone", "read changes", `Changes up to seq ${forgottenSeq} are no longer kept.`);
    }
    return this.#engine.read.changesAfter(seq, limit);
  }

  forgetChanges(upToSeq: number): void {
    this.#transact(false, () => {
      const facts = this.#engine.write.facts();
      const forgottenSeq = Math.min(upToSeq, facts.seq);
      if (forgottenSeq <= facts.forgottenSeq) return;
      this.#engine.write.removeChangesUpTo(forgottenSeq);
      this.#engine.write.putFacts({ ...facts, forgottenSeq });
    });
  }

  forgetNameless(after: number, limit: number): number | undefined {
    return this.#transact(false, () => {
      const { write } = this.#engine;
      const { forgottenSeq, appliedSeq } = write.facts();
      const found = write.nameless(after, Math.min(forgottenSeq, appliedSeq), limit);
      for (const { node } of found) if (hasNothingLeft(write, node)) write.removeNode(node);
      return found.length < limit ? undefined : found.at(-1)?.seq;
    });
  }

  #move(version: VersionId, place: store.VersionPlace): void {
    const row = this.#engine.write.version(version);
    if (row === undefined) return;
    this.#engine.write.putVersion({ ...row, place });
    if (place.at === "lost") forgetSpent(this.#engine.write, version.node);
  }

  setPlace(version: VersionId, place: store.VersionPlace): void {
    this.#transact(false, () => this.#move(version, place));
  }

  forgetVersion(version: VersionId): void {
    this.#transact(false, () => {
      const state = this.#engine.write.node(version.node);
      if (state !== undefined && state.nlink > 0 && state.version === version.seq) {
        throw new RunnelError("Invalid", "forget version", `Version ${version.node}.${version.seq} is current.`);
      }
      this.#engine.write.removeVersion(version);
    });
  }

  allocateNodes(count: number, owner?: store.NodeOwner): { first: number; count: number } {
    return this.#transact(true, () => {
      const facts = this.#engine.write.facts();
      const first = facts.nextNode;
      const isPossible = Number.isInteger(count) && count > 0 && count <= ALLOCATE_MAX && first + count <= NODE_LIMIT;
      if (!isPossible)
        throw new RunnelError("Invalid", "allocate nodes", `${count} ids cannot be given out after ${first}.`);
      this.#engine.write.putFacts({ ...facts, nextNode: first + count });
      if (owner !== undefined) giveNodes(this.#engine.write, { first, count, owner });
      return { first, count };
    });
  }

  forgetNodeOwner(device: string): void {
    this.#transact(false, () => {
      for (const { first } of this.#engine.write.rangesOf(device)) this.#engine.write.removeRange(first);
    });
  }

  forgetResults(instance: string, upToN: number, but: readonly NumberSpan[]): void {
    this.#transact(false, () => this.#engine.write.removeResultsUpTo(instance, upToN, but));
  }

  forgetOldResults(kept: number): void {
    this.#transact(false, () => this.#engine.write.removeOldResults(kept));
  }

  setAttached(instance: string, termMs: number): void {
    this.#transact(true, () =>
      termMs > 0 ? this.#engine.write.putAttached({ instance, termMs }) : this.#engine.write.removeAttached(instance),
    );
  }

  setWriteLease(instance: string): void {
    this.#transact(true, () => this.#engine.write.putWriteLease(instance));
  }

  recordApplied(change: Parameters<Methods["recordApplied"]>[0]): void {
    this.#transact(false, () => {
      for (const { folder, name } of change.removed) this.#engine.write.removeDiskRow(folder, name);
      for (const row of change.put) this.#engine.write.putDiskRow(row);
      for (const { version, place } of change.places) this.#move(version, place);
      const facts = this.#engine.write.facts();
      this.#engine.write.putFacts({ ...facts, appliedSeq: Math.max(facts.appliedSeq, change.appliedSeq) });
      if (change.passed !== undefined) this.#engine.write.putPassed(change.passed);
    });
  }

  note(notices: readonly Notice[]): void {
    this.#transact(true, () => {
      const kept = new Map(this.#engine.write.notices().map((notice) => [fullKey(notice), notice]));
      for (const notice of notices) {
        const key = fullKey(notice);
        const same = kept.get(key);
        const now = same === undefined ? notice : joinNotices(same, notice);
        kept.delete(key);
        kept.set(key, now);
        this.#engine.write.putNotice(now);
        if (same === undefined) this.#forgetOldest(notice.kind, kept);
      }
    });
  }

  #forgetOldest(kind: Notice["kind"], kept: Map<string, Notice>): void {
    const ofKind = [...kept].filter(([, notice]) => notice.kind === kind);
    const [oldest] = ofKind;
    if (oldest === undefined || ofKind.length <= LIMITS.notices) return;
    kept.delete(oldest[0]);
    this.#engine.write.removeNotice(oldest[1]);
  }

  forgetNotices(notices: readonly Notice[]): void {
    this.#transact(true, () => {
      for (const notice of notices) this.#engine.write.removeNotice(notice);
    });
  }

  putChunks(version: VersionId, recipe: Recipe): void {
    this.#engine.chunks.put(version, recipe);
  }

  findChunks(digests: Uint8Array): ({ version: VersionId; offset: number; length: number } | undefined)[] {
    if (digests.length % DIGEST_BYTES !== 0)
      throw new RunnelError("Invalid", "find chunks", "Digests have a ragged size.");
    return this.#engine.chunks.find(digests);
  }

  clearChunks(): void {
    this.#engine.chunks.clear();
  }

  close(): void {
    this.#engine.transactions.close();
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
