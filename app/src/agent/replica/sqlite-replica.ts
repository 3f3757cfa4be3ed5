// Keeps the replica in SQLite. Synchronous on the main thread; what is not certain is "unknown". How listings and the
// feed meet: every name carries the seq of what is known of it, and only a greater seq changes it. For a name without a
// row of a complete folder that seq is the folder's listing or, while the feed runs on, the last item applied,
// whichever is greater; this is the folder's floor.
import type { Change, Entry, NodeState } from "@runnel/shared";
import { LIMITS } from "@runnel/shared";
import type { IndexDatabase } from "./database.ts";
import { openDatabase } from "./database.ts";
import type { BindingChange, Known, Replica, ReplicaFacts } from "./replica.ts";
import { FILE, FOLDER, REPLICA_FORMAT, nodeValues, stateOf } from "./schema.ts";
import type { Statements } from "./statements.ts";
import { prepareStatements } from "./statements.ts";

/**
 * States kept of nodes without a name (open and removed, or reported before their listing came); the oldest go first.
 */
const ORPHANS_MAX = 4 * LIMITS.feedBacklogItems;
/** Absent names remembered of folders that are not complete; past it such a name is asked again. */
const TOMBSTONES_MAX = 65_536;
/** A few milliseconds' worth, however large the folder. */
const SCANNED_MAX = 1000;
const OF_SIZE_MAX = 12;
/** Nothing is known: below every seq. */
const NOTHING = -1;

/**
 * Opens or makes a replica; ":memory:" for one without a file. A damaged file is begun anew; after a power cut folders
 * are unknown until listed again. @throws RunnelError Version when a newer program made the file, Io, NoSpace, Denied.
 */
export function openReplica(path: string, boot?: string): Replica {
  return new SqliteReplica(openDatabase(path, REPLICA_FORMAT, boot));
}

class SqliteReplica implements Replica {
  readonly #db: IndexDatabase;
  readonly #rows: Statements;
  #facts: (ReplicaFacts & { root: number }) | undefined;
  /** Insertion order is age. A node here may have got a name since: looked at before it is dropped. */
  readonly #orphans = new Set<number>();
  #tombstones = 0;
  /** Greatest seq of a tombstone that may be ahead of the feed in a complete folder; 0 = none. */
  #aheadSeq = 0;

  constructor(db: IndexDatabase) {
    this.#db = db;
    this.#rows = prepareStatements(db);
    const facts = this.#rows.facts.get();
    if (facts === undefined) return;
    this.#facts = { ...facts, isWhole: facts.isWhole === 1 };
    if (db.lastEnd !== "closed") for (const { node } of this.#rows.unnamed.all()) this.#orphans.add(node);
    if (db.lastEnd === "powerCut") this.#doubtAll();
    const tombstones = this.#rows.tombstones.get();
    this.#tombstones = tombstones?.n ?? 0;
    this.#aheadSeq = tombstones?.seq ?? 0;
  }

  facts(): ReplicaFacts | undefined {
    const facts = this.#facts;
    return facts && { epoch: facts.epoch, seq: facts.seq, isWhole: facts.isWhole };
  }

  reset(epoch: string, root: NodeState): void {
    this.#db.atomic(() => {
      for (const clear of this.#rows.clear) clear.run();
      this.#rows.putNode.run(...nodeValues(root));
      this.#putFacts({ epoch, root: root.node, seq: 0, isWhole: false });
    });
    this.#orphans.clear();
    this.#tombstones = 0;
    this.#aheadSeq = 0;
  }

  setWhole(isWhole: boolean): void {
    const facts = this.#begun();
    if (facts.isWhole !== isWhole) this.#putFacts({ ...facts, isWhole });
  }

  advance(seq: number): void {
    const facts = this.#begun();
    if (seq <= facts.seq) return;
    this.#putFacts({ ...facts, seq });
    this.#dropPassedTombstones(seq);
  }

  node(node: number): NodeState | undefined {
    const row = this.#rows.node.get(node);
    return row && stateOf(row);
  }

  lookup(folder: number, name: string): Known {
    const row = this.#rows.name.get(folder, name);
    const floor = this.#floor(folder);
    if (row === undefined) return floor === undefined ? { is: "unknown" } : { is: "absent", asOf: floor };
    if (row.node === 0) return { is: "absent", asOf: Math.max(row.seq, floor ?? NOTHING) };
    const state = this.node(row.node);
    return state === undefined ? { is: "unknown" } : { is: "bound", state };
  }

  listing(folder: number): { asOf: number; entries: Entry[] } | undefined {
    const asOf = this.#floor(folder);
    if (asOf === undefined) return undefined;
    const entries = this.#rows.entriesIn.all(folder).map((row) => ({ name: row.name, state: stateOf(row) }));
    return { asOf, entries };
  }

  entriesAfter(folder: number, name: string, count: number): Entry[] {
    return this.#rows.entriesAfter.all(folder, name, count).map((row) => ({ name: row.name, state: stateOf(row) }));
  }

  hasMoreNames(folder: number, most: number): boolean {
    return this.#rows.nameAt.get(folder, most) !== undefined;
  }

  sortedNames(folder: number, order: "name" | "size" | "modified"): string[] {
    return this.#rows.sortedNames[order].all(folder, FOLDER).map(({ name }) => name);
  }

  filesOfSize(folder: number, { least, most, like }: { least: number; most: number; like: number }): number[] {
    const rows = this.#rows.nodesOfSize.all(folder, SCANNED_MAX, FILE, least, most, like, OF_SIZE_MAX);
    return rows.map(({ node }) => node);
  }

  namesOf(node: number): { folder: number; name: string }[] {
    return this.#rows.namesOf(node).map(({ folder, name }) => ({ folder, name }));
  }

  pathOf(node: number): string | undefined {
    const root = this.#begun().root;
    const words: string[] = [];
    let at = node;
    while (at !== root) {
      const binding = words.length < LIMITS.depth ? this.#rows.firstNameOf.get(at) : undefined;
      if (binding === undefined) return undefined;
      words.push(binding.name);
      at = binding.folder;
    }
    return words.toReversed().join("/");
  }

  countBelow(folder: number): number {
    return this.#rows.countBelow.get(folder)?.n ?? 0;
  }

  filesAt(node: number): { files: number; bytes: number } {
    return this.#rows.filesAt.get(node, FILE) ?? { files: 0, bytes: 0 };
  }

  counts(): { nodes: number; names: number; completeFolders: number } {
    return this.#rows.counts.get() ?? { nodes: 0, names: 0, completeFolders: 0 };
  }

  putListing(folder: number, asOf: number, entries: readonly Entry[], isLast: boolean): void {
    const seq = this.#begun().seq;
    this.#db.atomic(() => {
      const floor = this.#floor(folder) ?? NOTHING;
      if (asOf <= floor || this.node(folder)?.nlink === 0) return;
      for (const { name, state } of entries) {
        const known = this.#rows.name.get(folder, name);
        if (known !== undefined && known.seq >= asOf) continue;
        this.#rows.putNode.run(...nodeValues(state));
        this.#bind(folder, name, state.node, asOf, known?.node);
      }
      if (!isLast) return;
      const gone = this.#rows.olderNamesIn.all(folder, asOf);
      if (gone.length > 0) this.#rows.dropOlderNamesIn.run(folder, asOf);
      for (const { node } of gone) this.#wasDropped(node);
      this.#tombstones -= this.#rows.dropTombstonesIn.run(folder, Math.max(asOf, seq));
      this.#rows.putFolder.run(folder, asOf);
    });
  }

  putState(asOf: number, state: NodeState | undefined, at?: { folder: number; name: string }): void {
    this.#begun();
    this.#db.atomic(() => {
      const isBound = state !== undefined && state.nlink > 0;
      if (state !== undefined) this.#learn(state);
      if (state !== undefined && !isBound) this.#dropNamesOf(state.node, state.seq, []);
      if (at !== undefined) this.#putAnswer(asOf, isBound ? state.node : 0, at);
    });
  }

  apply(changes: readonly Change[]): BindingChange[] {
    const before = this.#begun();
    const changed: BindingChange[] = [];
    try {
      this.#db.atomic(() => {
        // It may be the second time, on a disk that became full.
        this.#facts = before;
        changed.length = 0;
        for (const change of changes) this.#applyOne(change, changed);
        this.#putFacts(this.#begun());
        this.#dropPassedTombstones(this.#begun().seq);
      });
    } catch (error) {
      this.#facts = before;
      throw error;
    }
    return changed;
  }

  forgetCompleteness(): void {
    const facts = this.#begun();
    this.#db.atomic(() => {
      this.#rows.dropFolders.run();
      this.#putFacts({ ...facts, isWhole: false });
    });
  }

  onDamage(tell: (sentence: string) => void): void {
    this.#db.onDamage(tell);
  }

  close(): void {
    if (this.#orphans.size > 0) {
      this.#db.atomic(() => {
        for (const node of this.#orphans) this.#dropOrphan(node);
      });
    }
    this.#db.close();
  }

  #applyOne(change: Change, changed: BindingChange[]): void {
    for (const state of change.nodes) this.#learn(state);
    for (const { folder, name, node } of change.bindings) {
      const known = this.#rows.name.get(folder, name);
      const floor = this.#floor(folder);
      if (change.seq <= Math.max(known?.seq ?? NOTHING, floor ?? NOTHING)) continue;
      const before = known?.node ?? 0;
      if (before !== node) changed.push({ folder, name, before, after: node });
      if (node !== 0 || floor === undefined) this.#bind(folder, name, node, change.seq, known?.node);
      else if (known !== undefined) this.#unbind(folder, name, before);
      // A binding to a node that nobody described: the folder has to be listed again.
      if (node !== 0 && this.#rows.node.get(node) === undefined) this.#rows.dropFolder.run(folder);
    }
    for (const state of change.nodes) {
      if (state.nlink > 0) continue;
      this.#dropNamesOf(state.node, change.seq, changed);
      if (state.type === "folder") this.#dropInside(state.node);
    }
    const facts = this.#begun();
    if (change.seq > facts.seq) this.#facts = { ...facts, seq: change.seq };
  }

  /** Seq up to which a complete folder is known. */
  #floor(folder: number): number | undefined {
    const row = this.#rows.folder.get(folder);
    return row && Math.max(row.asOf, this.#facts?.seq ?? 0);
  }

  /** Takes in a state, also of a node without a name; not of a removed one that nobody here knows. */
  #learn(state: NodeState): void {
    if (state.nlink === 0 && this.#rows.node.get(state.node) === undefined) return;
    // A known one has a name, or is among the orphans.
    if (this.#rows.learnNode(state)) this.#lostName(state.node);
  }

  #putAnswer(asOf: number, node: number, at: { folder: number; name: string }): void {
    const known = this.#rows.name.get(at.folder, at.name);
    if (asOf <= Math.max(known?.seq ?? NOTHING, this.#floor(at.folder) ?? NOTHING)) return;
    // Late news of a folder that is gone.
    if (this.node(at.folder)?.nlink === 0) return;
    if (node === 0) {
      if (known === undefined && this.#tombstones >= TOMBSTONES_MAX) return;
      this.#aheadSeq = Math.max(this.#aheadSeq, asOf);
    }
    this.#bind(at.folder, at.name, node, asOf, known?.node);
  }

  /** `before`: what the name's row said, undefined without a row. */
  #bind(folder: number, name: string, node: number, seq: number, before: number | undefined): void {
    this.#rows.putName(folder, name, node, seq);
    if (node === 0) this.#tombstones++;
    else this.#orphans.delete(node);
    if (before !== undefined && (before !== node || node === 0)) this.#wasDropped(before);
  }

  #unbind(folder: number, name: string, before: number): void {
    this.#rows.dropName(folder, name);
    this.#wasDropped(before);
  }

  /** A name's row that was bound to this node has gone. */
  #wasDropped(node: number): void {
    if (node === 0) this.#tombstones--;
    else this.#lostName(node);
  }

  /** All names that are still said to be bound to a removed node are gone as of `seq`. */
  #dropNamesOf(node: number, seq: number, changed: BindingChange[]): void {
    for (const { folder, name } of this.#rows.namesOf(node)) {
      changed.push({ folder, name, before: node, after: 0 });
      if (this.#floor(folder) === undefined) this.#bind(folder, name, 0, seq, node);
      else this.#unbind(folder, name, node);
    }
  }

  /**
   * A node that may have no name any more: its state stays for a while. A moved folder gets its new name in the same
   * change.
   */
  #lostName(node: number): void {
    if (node === this.#facts?.root || this.#rows.firstNameOf.get(node) !== undefined) return;
    this.#orphans.add(node);
    if (this.#orphans.size <= ORPHANS_MAX) return;
    const [oldest] = this.#orphans;
    if (oldest !== undefined) this.#dropOrphan(oldest);
  }

  #dropOrphan(node: number): void {
    this.#orphans.delete(node);
    if (node === this.#facts?.root || this.#rows.firstNameOf.get(node) !== undefined) return;
    this.#rows.dropNode.run(node);
    this.#dropInside(node);
  }

  /** Forgets what is known inside a folder that is gone, at any depth. */
  #dropInside(folder: number): void {
    const folders = [folder];
    for (let inside = folders.pop(); inside !== undefined; inside = folders.pop()) {
      const names = this.#rows.namesIn.all(inside);
      this.#rows.dropFolder.run(inside);
      this.#rows.dropNamesIn.run(inside);
      for (const { node } of names) {
        if (node === 0) this.#tombstones--;
        if (node === 0 || this.#rows.firstNameOf.get(node) !== undefined) continue;
        this.#orphans.delete(node);
        this.#rows.dropNode.run(node);
        folders.push(node);
      }
    }
  }

  /** Tombstones that ran ahead of the feed in complete folders say nothing more once the feed is there. */
  #dropPassedTombstones(seq: number): void {
    if (this.#aheadSeq === 0 || seq < this.#aheadSeq) return;
    this.#rows.dropPassedTombstones.run(seq);
    this.#aheadSeq = 0;
    this.#tombstones = this.#rows.tombstones.get()?.n ?? 0;
  }

  /**
   * After a power cut rows may be of different ages: each still says what was true as of its seq, but nothing is
   * complete.
   */
  #doubtAll(): void {
    if (this.#facts === undefined) return;
    this.#rows.dropFolders.run();
    this.#putFacts({ ...this.#facts, seq: 0, isWhole: false });
  }

  #begun(): ReplicaFacts & { root: number } {
    if (this.#facts === undefined) throw new TypeError("The replica has no epoch: call reset first.");
    return this.#facts;
  }

  #putFacts(facts: ReplicaFacts & { root: number }): void {
    this.#rows.putFacts.run(facts.epoch, facts.root, facts.seq, facts.isWhole ? 1 : 0);
    this.#facts = facts;
  }
}
