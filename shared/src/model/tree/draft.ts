// A change being drafted: new states over those of the tree, which stays as it is until the change is applied.
import type { AttributeChange, Change, NodeState, VersionId } from "../node.ts";
import { nodeAt } from "./checks.ts";
import type { Decision, TreeRows } from "./tree-rows.ts";

/** The attributes a change names, without its sizeBytes. */
export function pickAttributes(change: AttributeChange): Partial<NodeState> {
  const picked: Partial<NodeState> = {};
  if (change.mode !== undefined) picked.mode = change.mode;
  if (change.uid !== undefined) picked.uid = change.uid;
  if (change.gid !== undefined) picked.gid = change.gid;
  if (change.mtimeNs !== undefined) picked.mtimeNs = change.mtimeNs;
  return picked;
}

/** Nothing changes: `node` is as it was. */
export function unchanged(tree: TreeRows, node: number): Decision {
  const version = tree.node(node)?.version ?? 0;
  return { change: undefined, result: { node, seq: tree.facts().seq, version, conflict: false } };
}

export class Draft {
  readonly seq: number;
  replaces: VersionId | undefined = undefined;
  readonly #tree: TreeRows;
  readonly #wallNs: bigint;
  /** States in the order in which they were touched. */
  readonly #states = new Map<number, NodeState>();
  readonly #bindings: Change["bindings"] = [];

  constructor(tree: TreeRows, wallNs: bigint) {
    this.#tree = tree;
    this.#wallNs = wallNs;
    this.seq = tree.facts().seq + 1;
  }

  #stateOf(node: number): NodeState {
    return this.#states.get(node) ?? nodeAt(this.#tree, node);
  }

  /** The node with some fields new; its ctime is now. */
  edit(node: number, patch: Partial<NodeState>): void {
    this.#states.set(node, { ...this.#stateOf(node), ctimeNs: this.#wallNs, ...patch, seq: this.seq });
  }

  /** Records that the node's extended attributes are new. */
  editXattrs(node: number, isAny: boolean): void {
    const { xattrSeq: _before, ...state } = this.#stateOf(node);
    this.#states.set(node, isAny ? { ...state, xattrSeq: this.seq } : state);
  }

  /** A node that was not there. */
  add(state: Omit<NodeState, "seq" | "ctimeNs">): void {
    this.#states.set(state.node, { ...state, ctimeNs: this.#wallNs, seq: this.seq });
  }

  /** Binds a name; node 0 unbinds it. */
  bind(folder: number, name: string, node: number): void {
    this.#bindings.push({ folder, name, node });
  }

  /** Names changed in a folder; it has so many subfolders more. */
  editNames(folder: number, subfolders: number): void {
    this.edit(folder, { mtimeNs: this.#wallNs, nlink: this.#stateOf(folder).nlink + subfolders });
  }

  /** The node loses one name to the change: it is what the change replaces. */
  takeName(node: number): void {
    const state = this.#stateOf(node);
    this.replaces = { node, seq: state.version };
    this.edit(node, { nlink: state.type === "folder" ? 0 : state.nlink - 1 });
  }

  /** The decision, whose result tells of `node`. */
  decide(node: number, conflict = false): Decision {
    const change = {
      seq: this.seq,
      bindings: this.#bindings,
      nodes: [...this.#states.values()],
      replaces: this.replaces,
    };
    return { change, result: { node, seq: this.seq, version: this.#stateOf(node).version, conflict } };
  }
}
