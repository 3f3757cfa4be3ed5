// The tree as programs see it: the replica, with what this client has made and the server has not yet answered laid
// over it. Says how a name or node stands, listing what is unknown; whoever asks has made sure that the replica is
// current.
import type { Entry, NodeState } from "@runnel/shared";
import { ROOT_NODE, RecentMap, RunnelError, isRunnelError } from "@runnel/shared";
import type { TreeOperation } from "@runnel/shared/tree";
import type { DriveEntry } from "@runnel/native/drive";
import type { Make } from "../changes/own-change.ts";
import type { OwnChanges } from "../changes/own-changes.ts";
import { PendingTree } from "../changes/pending-tree.ts";
import type { Replica } from "../replica/replica.ts";

export interface Owner {
  uid: number;
  gid: number;
}

/** A content of a file that the server does not have, as programs here see it. */
export type UnsentState = Pick<NodeState, "version" | "sizeBytes" | "mtimeNs" | "ctimeNs">;

/** Paths remembered, one a file. */
const LAST_PATHS_MAX = 10_000;
/** Refusals remembered: programs may still have such files open. */
const REFUSED_MAX = 1000;

export class Tree {
  readonly #replica: Replica;
  /** Changes that programs were told of before the server. */
  readonly pending: PendingTree;
  readonly #list: (folder: number) => Promise<void>;
  readonly #statNodes: (nodes: number[]) => Promise<(NodeState | null)[]>;
  readonly #changes: OwnChanges;
  /** Nodes that an id of this client stands for: a create without O_EXCL met a file under its name. */
  readonly #bound = new Map<number, number>();
  readonly #refused = new RecentMap<number, RunnelError>(REFUSED_MAX);
  /**
   * Paths of files that could not be made, or have lost their name: what programs that have them open write is kept, or
   * named, under these.
   */
  readonly #lastPaths = new RecentMap<number, string>(LAST_PATHS_MAX);
  readonly #listing = new Map<number, Promise<void>>();
  readonly #owner: Owner | undefined;
  readonly #knowsCallers: boolean;
  /** Returns what of a file could not be sent, and is shown. */
  unsentOf: (state: NodeState) => UnsentState | undefined = () => undefined;

  /**
   * `owner`: whom everything is shown to belong to, whatever is stored. `knowsCallers`: the numbers under which
   * programs run mean something to the server.
   */
  constructor(
    replica: Replica,
    changes: OwnChanges,
    ask: { list(folder: number): Promise<void>; stat(nodes: number[]): Promise<(NodeState | null)[]> },
    owner?: Owner,
    knowsCallers = true,
  ) {
    this.#replica = replica;
    this.pending = new PendingTree(replica, (node) => this.real(node));
    this.#changes = changes;
    this.#owner = owner;
    this.#knowsCallers = knowsCallers;
    this.#list = ask.list;
    this.#statNodes = ask.stat;
  }

  /** The server's id for a node this client may know under an id of its own. */
  real(node: number): number {
    return this.#bound.get(node) ?? node;
  }

  /** A folder just made is empty as of that seq: nothing to list. Only while the whole volume is followed. */
  madeFolder(node: number, seq: number): void {
    if (this.#replica.facts()?.isWhole === true) this.#replica.putListing(node, seq, [], true);
  }

  /**
   * The server has made the file (the replica knows the node), or nothing has come of it: there was one of that name,
   * which the node stands for from here on; the server refuses it; or, where it could not be reached, nobody knows.
   */
  endMade(node: number, error?: unknown): void {
    const make = this.makingOf(node);
    if (make === undefined) throw new TypeError("A file that is not being made cannot be answered.");
    if (this.#replica.node(node) === undefined) this.#lastPaths.set(node, this.pathOf(node));
    this.#changes.step(make, "settle");
    if (!isRunnelError(error) || error.kind === "Unreachable") return;
    if (error.kind === "Exists" && error.detail.node !== undefined) this.#bound.set(node, error.detail.node);
    else this.#refused.set(node, error);
  }

  refusalOf(node: number): RunnelError | undefined {
    return this.#refused.get(node);
  }

  /** Returns the state of a node without asking anybody. */
  known(node: number): NodeState | undefined {
    return this.#unheard(node)?.made.state ?? this.pending.node(this.real(node));
  }

  /** A name has been taken from a node: whoever has that open goes on under the path that it had. */
  lostName(folder: number, name: string, node: number): void {
    const parent = this.pathOf(folder);
    this.#lastPaths.set(node, parent === "" ? name : `${parent}/${name}`);
  }

  /** Returns the change that makes a node, while it is not answered. */
  makingOf(node: number): Make | undefined {
    return this.#changes.makesAt(node).find(({ made }) => made.state.node === node);
  }

  /**
   * Lists the folder when the name is unknown. @returns undefined when it is absent. @throws Unreachable when it is
   * unknown and cannot be asked.
   */
  async lookup(folder: number, name: string): Promise<NodeState | undefined> {
    const make = this.#unheardName(folder, name);
    if (make !== undefined) return make.made.state;
    let known = this.pending.lookup(folder, name);
    if (known.is === "unknown") {
      await this.#fill(folder);
      known = this.pending.lookup(folder, name);
    }
    if (known.is === "unknown") throw new RunnelError("Unknown", "lookup", "What this folder holds is not known now.");
    return known.is === "bound" ? known.state : undefined;
  }

  /**
   * Follows a path in the drive, but no symlinks. @returns undefined when nothing is there, or it is the drive itself.
   * @throws as lookup.
   */
  async find(path: string): Promise<(Entry & { folder: number }) | undefined> {
    let found: (Entry & { folder: number }) | undefined;
    let folder: number | undefined = ROOT_NODE;
    for (const name of path.split("/").filter((word) => word !== "")) {
      const state: NodeState | undefined = folder === undefined ? undefined : await this.lookup(folder, name);
      if (folder === undefined || state === undefined) return undefined;
      found = { folder, name, state };
      folder = state.type === "folder" ? state.node : undefined;
    }
    return found;
  }

  /**
   * Returns what was made here, until the feed has brought it: from then on the replica knows better, though the answer
   * may still be under way.
   */
  #unheard(node: number): Make | undefined {
    return this.#replica.node(node) === undefined ? this.makingOf(node) : undefined;
  }

  #unheardName(folder: number, name: string): Make | undefined {
    const make = this.#changes.makesAt(folder).findLast(({ made }) => made.folder === folder && made.name === name);
    return make && this.#unheard(make.made.state.node);
  }

  /** Returns what a name is bound to, without asking anybody; `otherwise` where that is not known. */
  boundTo(folder: number, name: string, otherwise: NodeState | undefined): NodeState | undefined {
    const make = this.#unheardName(folder, name);
    if (make !== undefined) return make.made.state;
    const known = this.pending.lookup(folder, name);
    return known.is === "unknown" ? otherwise : known.is === "bound" ? known.state : undefined;
  }

  /** Returns whether a node has a name, as far as is known here. */
  isNamed(node: number): boolean {
    const state = this.known(node);
    return state !== undefined && state.nlink > 0;
  }

  /** @throws NotFound for a node that is not there; Unreachable when it is unknown and cannot be asked. */
  async node(node: number): Promise<NodeState> {
    const make = this.#unheard(node);
    if (make !== undefined) return make.made.state;
    const real = this.real(node);
    const known = this.pending.node(real);
    if (known !== undefined) return known;
    await this.#statNodes([real]);
    const asked = this.pending.node(real);
    if (asked === undefined) throw new RunnelError("NotFound", "look up node", "This file or folder is gone.");
    return asked;
  }

  /**
   * Asks the server how a node is now, whatever is known here. @returns undefined when there is no such node. @throws
   * Unreachable; Unavailable
   */
  async asked(node: number): Promise<NodeState | undefined> {
    const [state] = await this.#statNodes([this.real(node)]);
    return state ?? undefined;
  }

  /** All entries of a folder, without asking anybody; undefined where they are not known, or may be more. */
  knownEntries(folder: number, most: number): Entry[] | undefined {
    if (this.#changes.makesAt(folder).length > 0 || this.pending.mayHaveMore(folder, most)) return undefined;
    return this.pending.listing(folder);
  }

  /** Whole, in name order. */
  async entries(folder: number): Promise<Entry[]> {
    let listing = this.pending.listing(folder);
    if (listing === undefined) {
      await this.#fill(folder);
      listing = this.pending.listing(folder);
    }
    if (listing === undefined) throw new RunnelError("Unknown", "list", "What this folder holds is not known now.");
    const entries = [...listing];
    for (const make of this.#changes.makesAt(folder)) {
      const { name, state } = make.made;
      // A later one may have the name.
      if (this.#unheardName(folder, name) !== make || entries.some((entry) => entry.name === name)) continue;
      entries.push({ name, state });
    }
    return entries;
  }

  /** A state as programs are to see it, under the id that the kernel knows. */
  entry(state: NodeState, node: number = state.node): DriveEntry {
    const { type, mode, nlink, rdev, target, xattrSeq } = state;
    const unsent = type === "file" ? this.unsentOf(state) : undefined;
    const { version, sizeBytes } = unsent ?? state;
    const { uid, gid } = this.#owner ?? state;
    const timeNs = type === "folder" ? this.#changes.makesAt(state.node).at(-1)?.made.state.mtimeNs : undefined;
    const isTouched = timeNs !== undefined && timeNs > state.ctimeNs;
    const mtimeNs = isTouched ? timeNs : (unsent ?? state).mtimeNs;
    const ctimeNs = isTouched ? timeNs : (unsent ?? state).ctimeNs;
    const xattrs = xattrSeq ?? 0;
    return { node, type, mode, uid, gid, sizeBytes, mtimeNs, ctimeNs, nlink, rdev, version, target, xattrs };
  }

  /**
   * Returns whose a thing is that a program makes in a folder: the program's; where its numbers are made up, the
   * folder's, so that the server's side chooses.
   */
  ownerOfNew(parent: NodeState, caller: Owner): Owner {
    return this.#knowsCallers ? caller : { uid: parent.uid, gid: parent.gid };
  }

  /** Says whether what a program makes belongs to it, and is shown so. */
  get isOwnerShown(): boolean {
    return this.#knowsCallers && this.#owner === undefined;
  }

  /** Returns the place of a node, as far as is known here: by its first name. */
  placeOf(node: number): { folder: number; name: string } | undefined {
    return this.namesOf(node)[0];
  }

  /** Lists the folders that a node has names in, as far as is known here. */
  namesOf(node: number): readonly { folder: number; name: string }[] {
    const make = this.#unheard(node);
    return make === undefined ? this.pending.namesOf(this.real(node)) : [make.made];
  }

  /** Path of what an operation changes, for a person. */
  pathOfOperation(operation: TreeOperation): string {
    if (operation.op === "setAttr") return this.pathOf(operation.node);
    const parent = this.pathOf(operation.folder);
    return parent === "" ? operation.name : `${parent}/${operation.name}`;
  }

  pathOf(node: number): string {
    const made = this.makingOf(node)?.made;
    if (made !== undefined) {
      const parent = this.pending.pathOf(made.folder);
      return parent === undefined || parent === "" ? made.name : `${parent}/${made.name}`;
    }
    const real = this.real(node);
    return this.pending.pathOf(real) ?? this.#lastPaths.get(node) ?? this.#lastPaths.get(real) ?? "";
  }

  /** All ids are of another epoch. */
  clear(): void {
    this.#bound.clear();
    this.pending.clear();
  }

  /** Lists a folder unless what it holds is known. @throws as lookup. */
  async listed(folder: number): Promise<void> {
    await this.lookup(folder, "");
  }

  /** A name that this client made stands for a node that was there before: what is done to it is done to that one. */
  bind(node: number, other: number): void {
    this.#bound.set(node, other);
    this.pending.rebind(node, other);
  }

  /** Lists a folder; whoever wants the same one shares the listing. */
  async #fill(folder: number): Promise<void> {
    let listing = this.#listing.get(folder);
    if (listing === undefined) {
      listing = this.#list(folder).finally(() => this.#listing.delete(folder));
      this.#listing.set(folder, listing);
    }
    await listing;
  }
}
