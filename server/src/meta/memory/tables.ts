// MetaTables in memory: keyed rows with secondary indexes, and one list of what was changed, by which a transaction is
// undone, redone and, in a simulated power cut, lost back to the last durable point.
import { DIGEST_BYTES, RunnelError, digestAt, digestKey, isInSpan, noticeKey } from "@runnel/shared/model";
import type { Change, Entry, NodeState, Notice, NumberSpan, Recipe, VersionId, Xattr } from "@runnel/shared";
import type { AttachedInstance, DiskRow, Passed, VersionRow } from "../meta-store.ts";
import type {
  ChunkTable,
  Facts,
  LastName,
  MetaTables,
  OwnedNodes,
  StoredResult,
  Transactions,
} from "../meta-tables.ts";

type Key = string | number;

interface Step {
  redo(): void;
  undo(): void;
}

/** Rows by key, found also by the keys of its indexes. */
class Table<Row> {
  readonly #rows = new Map<Key, Row>();
  readonly #indexes: { of: (row: Row) => Key; found: Map<Key, Set<Key>> }[];
  readonly #steps: Step[];

  constructor(steps: Step[], ...indexes: ((row: Row) => Key)[]) {
    this.#steps = steps;
    this.#indexes = indexes.map((of) => ({ of, found: new Map() }));
  }

  #set(key: Key, row: Row | undefined): void {
    const before = this.#rows.get(key);
    for (const { of, found } of this.#indexes) {
      if (before !== undefined) found.get(of(before))?.delete(key);
      if (row === undefined) continue;
      const keys = found.get(of(row)) ?? new Set();
      found.set(of(row), keys.add(key));
    }
    if (row === undefined) this.#rows.delete(key);
    else this.#rows.set(key, row);
  }

  get(key: Key): Row | undefined {
    return this.#rows.get(key);
  }

  put(key: Key, row: Row | undefined): void {
    const before = this.#rows.get(key);
    if (before === undefined && row === undefined) return;
    const step = { redo: () => this.#set(key, row), undo: () => this.#set(key, before) };
    step.redo();
    this.#steps.push(step);
  }

  all(): Row[] {
    return [...this.#rows.values()];
  }

  count(index: number, key: Key): number {
    return this.#indexes[index]?.found.get(key)?.size ?? 0;
  }

  find(index: number, key: Key): Row[] {
    const keys = this.#indexes[index]?.found.get(key) ?? [];
    return [...keys].map((each) => this.#rows.get(each)).filter((row) => row !== undefined);
  }
}

interface Named {
  folder: number;
  name: string;
}

function byName(a: Named, b: Named): number {
  return a.folder - b.folder || Buffer.compare(Buffer.from(a.name), Buffer.from(b.name));
}

const nameKey = (folder: number, name: string): string => `${folder}/${name}`;
const versionKey = ({ node, seq }: VersionId): string => `${node}.${seq}`;
const handleKey = (handle: Uint8Array): string => Buffer.from(handle).toString("hex");

export class MemoryTables implements MetaTables, Transactions {
  /** Since the last durable point. */
  readonly #steps: Step[] = [];
  #facts: Facts | undefined;
  #batchStart = 0;
  #isDurable = false;
  #parked: Step[] = [];

  readonly #nodes = new Table<NodeState>(this.#steps);
  readonly #xattrs = new Table<Xattr[]>(this.#steps);
  readonly #lastNames = new Table<LastName>(this.#steps);
  readonly #bindings = new Table<Named & { node: number }>(
    this.#steps,
    (row) => row.folder,
    (row) => row.node,
  );
  readonly #versions = new Table<VersionRow>(
    this.#steps,
    (row) => row.version.node,
    (row) => String(row.hasRecipe),
  );
  readonly #recipes = new Table<Recipe>(this.#steps);
  readonly #changes = new Table<Change>(this.#steps);
  readonly #results = new Table<StoredResult & { instance: string; n: number }>(this.#steps, (row) => row.instance);
  readonly #attached = new Table<AttachedInstance>(this.#steps);
  readonly #ranges = new Table<OwnedNodes>(this.#steps, ({ owner }) => owner.device);
  readonly #writeLease = new Table<string>(this.#steps);
  readonly #disk = new Table<DiskRow>(
    this.#steps,
    (row) => row.folder,
    (row) => row.node,
    (row) => handleKey(row.handle),
  );
  readonly #passed = new Table<Passed>(this.#steps);
  readonly #notices = new Table<Notice & { place: number }>(this.#steps);

  begin(isDurable: boolean): void {
    this.#batchStart = this.#steps.length;
    this.#isDurable = isDurable;
    this.#parked = [];
  }

  #undoTo(length: number): Step[] {
    const undone = this.#steps.splice(length);
    for (const step of undone.toReversed()) step.undo();
    return undone;
  }

  park(): void {
    this.#parked = this.#undoTo(this.#batchStart);
  }

  resume(): void {
    for (const step of this.#parked) step.redo();
    this.#steps.push(...this.#parked);
    this.#parked = [];
  }

  commit(): void {
    if (this.#isDurable) this.checkpoint();
  }

  rollback(): void {
    this.#undoTo(this.#batchStart);
    this.#parked = [];
  }

  checkpoint(): void {
    this.#steps.length = 0;
  }

  /** Does what a power cut does: what was committed since the last durable point is lost. */
  loseUnsynced(): void {
    this.#undoTo(0);
  }

  close(): void {}

  /** Tells whether a store was made here. */
  get isCreated(): boolean {
    return this.#facts !== undefined;
  }

  facts(): Facts {
    if (this.#facts === undefined) throw new RunnelError("Corrupt", "read facts", "There are no facts.");
    return this.#facts;
  }

  putFacts(facts: Facts): void {
    const before = this.#facts;
    const step = { redo: () => void (this.#facts = facts), undo: () => void (this.#facts = before) };
    step.redo();
    this.#steps.push(step);
  }

  node(node: number): NodeState | undefined {
    return this.#nodes.get(node);
  }

  putNode(state: NodeState): void {
    this.#nodes.put(state.node, state);
  }

  xattrs(node: number): Xattr[] {
    return this.#xattrs.get(node) ?? [];
  }

  putXattrs(node: number, xattrs: readonly Xattr[]): void {
    this.#xattrs.put(node, xattrs.length === 0 ? undefined : [...xattrs]);
  }

  lastName(node: number): LastName | undefined {
    return this.#lastNames.get(node);
  }

  putLastName(node: number, last: LastName): void {
    this.#lastNames.put(node, last);
  }

  binding(folder: number, name: string): number | undefined {
    return this.#bindings.get(nameKey(folder, name))?.node;
  }

  putBinding(folder: number, name: string, node: number): void {
    this.#bindings.put(nameKey(folder, name), { folder, name, node });
  }

  removeBinding(folder: number, name: string): void {
    this.#bindings.put(nameKey(folder, name), undefined);
  }

  hasNames(folder: number): boolean {
    return this.#bindings.count(0, folder) > 0;
  }

  namesOf(node: number): Named[] {
    const rows = this.#bindings.find(1, node).map(({ folder, name }) => ({ folder, name }));
    return rows.sort(byName);
  }

  list(folder: number, after: string, limit: number): Entry[] {
    const start = { folder, name: after };
    const rows = this.#bindings.find(0, folder).filter((row) => byName(row, start) > 0);
    const entries: Entry[] = [];
    for (const { name, node } of rows.sort(byName).slice(0, limit)) {
      const state = this.#nodes.get(node);
      if (state === undefined)
        throw new RunnelError("Corrupt", "list", `A name is bound to ${node}, which has no row.`);
      entries.push({ name, state });
    }
    return entries;
  }

  nameless(after: number, upTo: number, limit: number): { node: number; seq: number }[] {
    const found = this.#nodes.all().filter(({ nlink, seq }) => nlink === 0 && seq > after && seq <= upTo);
    found.sort((a, b) => a.seq - b.seq || a.node - b.node);
    return found.slice(0, limit).map(({ node, seq }) => ({ node, seq }));
  }

  removeNode(node: number): void {
    for (const { version } of this.versionsOf(node)) this.removeVersion(version);
    for (const table of [this.#nodes, this.#xattrs, this.#lastNames]) table.put(node, undefined);
  }

  version(version: VersionId): VersionRow | undefined {
    return this.#versions.get(versionKey(version));
  }

  versionsOf(node: number): VersionRow[] {
    return this.#versions.find(0, node).sort((a, b) => a.version.seq - b.version.seq);
  }

  withoutBytes(node: number): VersionId[] {
    const rows = this.versionsOf(node).filter(({ place }) => place.at === "lost" || place.at === "empty");
    return rows.map(({ version }) => version);
  }

  putVersion(row: VersionRow): void {
    this.#versions.put(versionKey(row.version), row);
  }

  removeVersion(version: VersionId): void {
    this.#versions.put(versionKey(version), undefined);
    this.#recipes.put(versionKey(version), undefined);
  }

  withoutRecipe(limit: number, after: number): VersionId[] {
    const wanted = this.#versions.find(1, "false").filter(({ version, place }) => {
      const state = this.#nodes.get(version.node);
      return (
        version.node > after &&
        place.at !== "lost" &&
        state !== undefined &&
        state.nlink > 0 &&
        state.version === version.seq
      );
    });
    const ids = wanted.map(({ version }) => version);
    return ids.sort((a, b) => a.node - b.node).slice(0, limit);
  }

  recipe(version: VersionId): Recipe | undefined {
    return this.#recipes.get(versionKey(version));
  }

  putRecipe(version: VersionId, recipe: Recipe): void {
    this.#recipes.put(versionKey(version), recipe);
  }

  changesAfter(seq: number, limit: number): Change[] {
    const found: Change[] = [];
    for (let at = seq + 1; found.length < limit; at++) {
      const change = this.#changes.get(at);
      if (change === undefined) break;
      found.push(change);
    }
    return found;
  }

  putChange(change: Change): void {
    this.#changes.put(change.seq, change);
  }

  removeChangesUpTo(seq: number): void {
    for (const change of this.#changes.all()) if (change.seq <= seq) this.#changes.put(change.seq, undefined);
  }

  result(instance: string, n: number): StoredResult | undefined {
    const row = this.#results.get(nameKey(n, instance));
    return row === undefined ? undefined : { digest: row.digest, result: row.result };
  }

  putResult(instance: string, n: number, stored: StoredResult): void {
    this.#results.put(nameKey(n, instance), { ...stored, instance, n });
  }

  removeResultsUpTo(instance: string, n: number, but: readonly NumberSpan[]): void {
    for (const row of this.#results.find(0, instance)) {
      if (row.n <= n && !isInSpan(row.n, but)) this.#results.put(nameKey(row.n, instance), undefined);
    }
  }

  removeOldResults(kept: number): void {
    const newest = this.#results.all().sort((a, b) => b.result.seq - a.result.seq);
    const oldestKept = newest[kept - 1]?.result.seq ?? 0;
    for (const { instance, n, result } of newest) {
      const isOld = result.seq < oldestKept && this.#attached.get(instance) === undefined;
      if (isOld) this.#results.put(nameKey(n, instance), undefined);
    }
  }

  countResults(instance: string): number {
    return this.#results.count(0, instance);
  }

  rangeWith(node: number): OwnedNodes | undefined {
    return this.#ranges.all().find(({ first, count }) => first <= node && node < first + count);
  }

  rangesOf(device: string): OwnedNodes[] {
    return this.#ranges.find(0, device).sort((a, b) => a.count - b.count || a.first - b.first);
  }

  countRanges(device: string): number {
    return this.#ranges.count(0, device);
  }

  putRange(range: OwnedNodes): void {
    this.#ranges.put(range.first, range);
  }

  removeRange(first: number): void {
    this.#ranges.put(first, undefined);
  }

  attached(): AttachedInstance[] {
    return this.#attached.all().sort((one, other) => (one.instance < other.instance ? -1 : 1));
  }

  putAttached(attached: AttachedInstance): void {
    this.#attached.put(attached.instance, attached);
  }

  removeAttached(instance: string): void {
    this.#attached.put(instance, undefined);
  }

  writeLease(): string {
    return this.#writeLease.get(0) ?? "";
  }

  putWriteLease(instance: string): void {
    this.#writeLease.put(0, instance);
  }

  diskRow(folder: number, name: string): DiskRow | undefined {
    return this.#disk.get(nameKey(folder, name));
  }

  diskRows(folder: number): DiskRow[] {
    return this.#disk.find(0, folder).sort(byName);
  }

  hasDiskRows(folder: number): boolean {
    return this.#disk.count(0, folder) > 0;
  }

  diskRowsOfNode(node: number): DiskRow[] {
    return this.#disk.find(1, node).sort(byName);
  }

  diskRowByHandle(handle: Uint8Array): DiskRow | undefined {
    return this.#disk.find(2, handleKey(handle)).sort(byName)[0];
  }

  putDiskRow(row: DiskRow): void {
    this.#disk.put(nameKey(row.folder, row.name), row);
  }

  removeDiskRow(folder: number, name: string): void {
    this.#disk.put(nameKey(folder, name), undefined);
  }

  countDiskRows(): number {
    return this.#disk.all().length;
  }

  passed(): Passed {
    return this.#passed.get(0) ?? { seq: 0, waiting: [] };
  }

  putPassed(passed: Passed): void {
    this.#passed.put(0, passed);
  }

  notices(): Notice[] {
    const rows = this.#notices.all();
    return rows.sort((a, b) => a.place - b.place).map(({ place: _place, ...notice }) => notice);
  }

  putNotice(notice: Notice): void {
    const place = Math.max(0, ...this.#notices.all().map((row) => row.place)) + 1;
    this.#notices.put(nameKey(0, `${notice.kind} ${noticeKey(notice)}`), { ...notice, place });
  }

  removeNotice(notice: Notice): void {
    this.#notices.put(nameKey(0, `${notice.kind} ${noticeKey(notice)}`), undefined);
  }
}

export class MemoryChunks implements ChunkTable {
  readonly #places = new Map<bigint, { version: VersionId; offset: number; length: number }>();

  put(version: VersionId, recipe: Recipe): void {
    let offset = 0;
    for (const [index, length] of recipe.lengths.entries()) {
      this.#places.set(digestKey(digestAt(recipe, index)), { version, offset, length });
      offset += length;
    }
  }

  find(digests: Uint8Array): ({ version: VersionId; offset: number; length: number } | undefined)[] {
    const recipe = { digests, lengths: new Uint32Array(0) };
    const count = digests.length / DIGEST_BYTES;
    return Array.from({ length: count }, (_, index) => this.#places.get(digestKey(digestAt(recipe, index))));
  }

  clear(): void {
    this.#places.clear();
  }
}
