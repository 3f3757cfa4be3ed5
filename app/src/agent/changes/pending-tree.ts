// The tree with this client's own changes laid over it that the server has not told yet: what programs here see, and
// what their next change is planned over. An own change goes when the feed brings it, or nothing comes of it.
import {
  type Change,
  type Entry,
  LIMITS,
  type NodeState,
  ROOT_NODE,
  RecentMap,
  RunnelError,
  type Xattr,
  type XattrChange,
  changeXattrs,
} from "@runnel/shared";
import type { TreeRows } from "@runnel/shared/tree";
import { NodeOverlay, type Patch } from "./node-overlay.ts";
import type { Known, Replica } from "../replica/replica.ts";

const PAGE_ENTRIES = 1_000;
/** Nodes whose extended attributes are remembered. */
const TOLD_MAX = 256;
/** Beginning of the numbers of extended attributes that are only here, above all changes of servers. */
const XATTRS_FROM = 2 ** 52;
/** Stands for those that the server has. */
const UNKNOWN_XATTRS: readonly Xattr[] = [["user.", new Uint8Array(0)]];

export class PendingTree {
  readonly #replica: Replica;
  /** Returns the server's id for a node that this client may have made in vain. */
  readonly #real: (node: number) => number;
  /** Changes by number, in their order. */
  readonly #pending = new Map<number, Change>();
  /** Numbers of the changes that may be told alike. */
  readonly #alike = new Map<string, Set<number>>();
  /** Numbers of the changes that bind names of a folder, by the server's id of that, and that bind names to a node. */
  readonly #inFolder = new Map<number, Map<string, number[]>>();
  readonly #binding = new Map<number, Set<number>>();
  readonly #overlays = new Map<number, NodeOverlay>();
  /** Extended attributes that the server has told, by node, and the change that left them. */
  readonly toldXattrs = new RecentMap<number, { seq: number; xattrs: readonly Xattr[] }>(TOLD_MAX);
  /** Nodes that were made here, as they were then. */
  readonly #made = new Map<number, NodeState>();

  constructor(replica: Replica, real: (node: number) => number) {
    this.#replica = replica;
    this.#real = real;
  }

  get isEmpty(): boolean {
    return this.#pending.size === 0;
  }

  /** Lays a change over the tree; `xattr`: what it changes of the extended attributes of its node. */
  add(n: number, change: Change, xattr?: XattrChange): void {
    const patches = change.nodes.map((state) => [state.node, this.#patchTo(state)] as const);
    this.#pending.set(n, change);
    const key = likenessOf(change);
    this.#alike.set(key, (this.#alike.get(key) ?? new Set()).add(n));
    for (const [node, { fields, links }] of patches) {
      const overlay = this.#overlays.get(node) ?? new NodeOverlay();
      this.#overlays.set(node, overlay);
      if (xattr !== undefined) fields.xattrSeq = isWithXattrs(change, node) ? XATTRS_FROM + n : 0;
      overlay.add(n, fields, links, xattr);
    }
    for (const { folder, name, node } of change.bindings) {
      if (node !== 0) this.#binding.set(node, (this.#binding.get(node) ?? new Set()).add(n));
      const at = this.#real(folder);
      const names = this.#inFolder.get(at) ?? new Map<string, number[]>();
      this.#inFolder.set(at, names);
      names.set(name, [...(names.get(name) ?? []), n]);
    }
  }

  /** Takes those away that the feed has brought: they come in their order. */
  heard(changes: readonly Change[]): void {
    for (const change of changes) {
      if (this.#pending.size === 0) return;
      const n = this.#toldAs(change);
      if (n !== undefined) this.end(n);
    }
  }

  /** Says whether a change that the server tells is one of these. */
  has(change: Change): boolean {
    return this.#toldAs(change) !== undefined;
  }

  /** Returns the number of the first change here that the server tells as this. */
  #toldAs(change: Change): number | undefined {
    if (isContent(change)) return undefined;
    for (const n of this.#alike.get(likenessOf(change)) ?? []) {
      const own = this.#pending.get(n);
      if (own !== undefined && this.#isSame(own, change)) return n;
    }
    return undefined;
  }

  /** Nothing is pending of it any more. @returns the change, unless it was heard. */
  end(n: number): Change | undefined {
    const change = this.#pending.get(n);
    if (change === undefined) return undefined;
    this.#pending.delete(n);
    const key = likenessOf(change);
    const alike = this.#alike.get(key);
    alike?.delete(n);
    if (alike?.size === 0) this.#alike.delete(key);
    for (const { folder, name, node } of change.bindings) {
      const numbers = this.#binding.get(node);
      numbers?.delete(n);
      if (numbers?.size === 0) this.#binding.delete(node);
      const at = this.#real(folder);
      const names = this.#inFolder.get(at);
      const left = names?.get(name)?.filter((each) => each !== n) ?? [];
      if (left.length > 0) names?.set(name, left);
      else names?.delete(name);
      if (names?.size === 0) this.#inFolder.delete(at);
    }
    for (const { node } of change.nodes) {
      const overlay = this.#overlays.get(node);
      overlay?.end(n);
      if (overlay?.isEmpty !== true) continue;
      this.#overlays.delete(node);
      this.#made.delete(node);
    }
    return change;
  }

  /** A folder that was made here stands for one that was there: names that are to be in it are in that. */
  rebind(folder: number, other: number): void {
    const moved = this.#inFolder.get(folder);
    if (moved === undefined) return;
    this.#inFolder.delete(folder);
    const names = this.#inFolder.get(other) ?? new Map<string, number[]>();
    this.#inFolder.set(other, names);
    for (const [name, numbers] of moved)
      names.set(
        name,
        [...numbers, ...(names.get(name) ?? [])].toSorted((a, b) => a - b),
      );
  }

  /** Everything is of another epoch. */
  clear(): void {
    for (const n of this.#pending.keys()) this.end(n);
    this.toldXattrs.clear();
  }

  /** Returns the node that a name is bound to by a change that is pending, 0: none; undefined: none binds it. */
  bound(folder: number, name: string): number | undefined {
    const at = this.#real(folder);
    const n = this.#inFolder.get(at)?.get(name)?.at(-1);
    const bindings = n === undefined ? undefined : this.#pending.get(n)?.bindings;
    const node = bindings?.findLast((binding) => this.#real(binding.folder) === at && binding.name === name)?.node;
    return node && this.#real(node);
  }

  node(node: number): NodeState | undefined {
    const known = this.#replica.node(node) ?? this.#made.get(node);
    return known && (this.#overlays.get(node)?.over(known) ?? known);
  }

  /** Returns a node's extended attributes; undefined while nobody here knows what the server has of them. */
  xattrs(node: number): readonly Xattr[] | undefined {
    const told = this.#told(node);
    return told && this.withOwn(node, told);
  }

  /** Returns what pending changes make of extended attributes that the server told. */
  withOwn(node: number, told: readonly Xattr[]): readonly Xattr[] {
    return (this.#overlays.get(node)?.xattrs() ?? []).reduce(changeXattrs, told);
  }

  /** Returns the change that left the extended attributes which a node has at the server; 0: it has none. */
  toldSeq(node: number): number {
    return (this.#replica.node(node) ?? this.#made.get(node))?.xattrSeq ?? 0;
  }

  #told(node: number): readonly Xattr[] | undefined {
    const seq = this.toldSeq(node);
    if (seq === 0) return [];
    const told = this.toldXattrs.get(node);
    return told?.seq === seq ? told.xattrs : undefined;
  }

  /** Returns the times of a node that pending changes with greater numbers than `n` have set. */
  timesAfter(n: number, node: number): Pick<Patch, "mtimeNs" | "ctimeNs"> {
    return this.#overlays.get(node)?.timesAfter(n) ?? {};
  }

  lookup(folder: number, name: string): Known {
    const bound = this.bound(folder, name);
    if (bound === undefined) {
      const known = this.#replica.lookup(folder, name);
      if (known.is === "bound") return { is: "bound", state: this.node(known.state.node) ?? known.state };
      // A folder that was made here has what was put into it here.
      return known.is === "unknown" && this.#made.has(folder) ? { is: "absent", asOf: 0 } : known;
    }
    const state = bound === 0 ? undefined : this.node(bound);
    return state === undefined ? { is: "absent", asOf: this.#replica.facts()?.seq ?? 0 } : { is: "bound", state };
  }

  /** All entries of a folder in name order; undefined where they are not known. */
  listing(folder: number): Entry[] | undefined {
    const listed = this.#replica.listing(folder)?.entries ?? (this.#made.has(folder) ? [] : undefined);
    if (listed === undefined || this.#pending.size === 0) return listed;
    const own = this.#inFolder.get(folder);
    const entries = listed.filter(({ name }) => own?.has(name) !== true);
    for (const name of own?.keys() ?? []) {
      const node = this.bound(folder, name) ?? 0;
      const state = node === 0 ? undefined : this.node(node);
      if (state !== undefined) entries.push({ name, state });
    }
    const sorted = own === undefined ? entries : entries.toSorted(byName);
    return sorted.map(({ name, state }) => ({ name, state: this.node(state.node) ?? state }));
  }

  /** Says whether a folder may have more entries than so many. Looks at no more of them. */
  mayHaveMore(folder: number, most: number): boolean {
    const own = this.#inFolder.get(folder)?.size ?? 0;
    return own > most || this.#replica.hasMoreNames(folder, most - own);
  }

  namesOf(node: number): { folder: number; name: string }[] {
    const known = this.#replica.namesOf(node);
    const numbers = this.#binding.get(node);
    if (this.#pending.size === 0) return known;
    const names = known.filter(({ folder, name }) => (this.bound(folder, name) ?? node) === node);
    for (const n of numbers ?? [])
      for (const binding of this.#pending.get(n)?.bindings ?? []) {
        const [folder, { name }] = [this.#real(binding.folder), binding];
        if (binding.node !== node || this.bound(folder, name) !== node) continue;
        if (!names.some((each) => each.folder === folder && each.name === name)) names.push({ folder, name });
      }
    return names;
  }

  /** "" for the root, "a/b"; undefined when the node has no known name. */
  pathOf(node: number): string | undefined {
    if (this.#pending.size === 0) return this.#replica.pathOf(node);
    const words: string[] = [];
    for (let at = node; at !== ROOT_NODE;) {
      const [place] = words.length > LIMITS.depth ? [] : this.namesOf(at);
      if (place === undefined) return undefined;
      words.push(place.name);
      at = place.folder;
    }
    return words.toReversed().join("/");
  }

  /** Rows that a change is planned over. `instance`: whose names are gone that are. */
  rows(instance: string): TreeRows {
    return {
      facts: () => ({ seq: this.#replica.facts()?.seq ?? 0, nextNode: Infinity }),
      node: (node) => this.node(node),
      xattrs: (node) => [...(this.xattrs(node) ?? UNKNOWN_XATTRS)],
      lastName: () => ({ folder: ROOT_NODE, name: "", instance }),
      binding: (folder, name) => {
        const known = this.lookup(folder, name);
        if (known.is === "unknown") throw unknown();
        return known.is === "bound" ? known.state.node : undefined;
      },
      hasNames: (folder) => this.#hasNames(folder),
      namesOf: (node) => this.namesOf(node),
      list: (folder, after, limit) => {
        const entries = this.listing(folder);
        if (entries === undefined) throw unknown();
        const from = after === "" ? 0 : entries.findIndex(({ name }) => compareNames(name, after) > 0);
        return from < 0 ? [] : entries.slice(from, from + limit);
      },
    };
  }

  /** A change is told as it was planned, but for its seq. */
  #isSame(own: Change, told: Change): boolean {
    if (own.bindings.length !== told.bindings.length || own.nodes.length !== told.nodes.length) return false;
    const areBindings = own.bindings.every((binding, index) => {
      const other = told.bindings[index];
      const isThere = other?.folder === this.#real(binding.folder) && other.name === binding.name;
      return isThere && other.node === this.#real(binding.node);
    });
    const areNodes = own.nodes.every(({ node }, index) => told.nodes[index]?.node === this.#real(node));
    return areBindings && areNodes;
  }

  #hasNames(folder: number): boolean {
    const own = this.#inFolder.get(folder);
    for (const name of own?.keys() ?? []) if ((this.bound(folder, name) ?? 0) !== 0) return true;
    if (this.#replica.lookup(folder, "").is === "unknown" && !this.#made.has(folder)) throw unknown();
    for (let after = ""; ;) {
      const page = this.#replica.entriesAfter(folder, after, own === undefined ? 1 : PAGE_ENTRIES);
      if (page.some(({ name }) => this.bound(folder, name) === undefined)) return true;
      const last = page.at(-1)?.name;
      if (last === undefined) return false;
      after = last;
    }
  }

  /** Returns what leads from the state as it is now to another one. */
  #patchTo(state: NodeState): { fields: Patch; links: number } {
    const now = this.node(state.node);
    if (now === undefined) {
      this.#made.set(state.node, state);
      return { fields: {}, links: 0 };
    }
    const fields: Patch = { ctimeNs: state.ctimeNs };
    if (state.mode !== now.mode) fields.mode = state.mode;
    if (state.uid !== now.uid) fields.uid = state.uid;
    if (state.gid !== now.gid) fields.gid = state.gid;
    if (state.mtimeNs !== now.mtimeNs) fields.mtimeNs = state.mtimeNs;
    return { fields, links: state.nlink - now.nlink };
  }
}

/**
 * Returns what a change has in common with how it is told: its names, which no other id of a folder changes. Where
 * there are none, its node; one that stands for another node is then told as somebody else's, which is the safe side.
 */
function likenessOf({ bindings, nodes }: Change): string {
  return bindings.length > 0 ? bindings.map(({ name }) => name).join("/") : `/${nodes[0]?.node}`;
}

function isWithXattrs({ nodes }: Change, node: number): boolean {
  return nodes.find((state) => state.node === node)?.xattrSeq !== undefined;
}

/** A new content concerns a node, and is none of these. */
function isContent({ bindings, nodes, seq }: Change): boolean {
  return bindings.length === 0 && nodes[0]?.version === seq;
}

function unknown(): RunnelError {
  return new RunnelError("Unknown", "plan", "What this folder holds is not known now.");
}

function compareNames(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

function byName(one: Entry, other: Entry): number {
  return compareNames(one.name, other.name);
}
