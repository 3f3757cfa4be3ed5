// A model of a volume's history for tests: every change, and the whole tree as of every seq.
import type { Change, Entry, NodeState } from "@runnel/shared";
import { ROOT_NODE } from "@runnel/shared";

export interface Tree {
  /** folder → name → node. */
  names: Map<number, Map<string, number>>;
  states: Map<number, NodeState>;
}

/** A step: `pick` chooses among what is possible now. */
export interface Step {
  what: "file" | "folder" | "link" | "remove" | "rename" | "chmod";
  pick: [number, number, number];
}

export const WORDS = ["a", "b", "c", "ä"];

export class ModelHistory {
  /** trees[seq] is the tree after the change of that seq. */
  readonly trees: Tree[] = [];
  /** changes[seq - 1] made trees[seq]. */
  readonly changes: Change[] = [];
  #nextNode = ROOT_NODE + 1;

  constructor(steps: readonly Step[]) {
    const root = makeState(ROOT_NODE, "folder", 0);
    this.trees.push({ names: new Map([[ROOT_NODE, new Map()]]), states: new Map([[ROOT_NODE, root]]) });
    for (const step of steps) this.#take(step);
  }

  get seq(): number {
    return this.changes.length;
  }

  tree(seq: number): Tree {
    const tree = this.trees[seq];
    if (tree === undefined) throw new Error(`no tree ${seq}`);
    return tree;
  }

  bound(seq: number, folder: number, name: string): number {
    return this.tree(seq).names.get(folder)?.get(name) ?? 0;
  }

  state(seq: number, node: number): NodeState | undefined {
    return this.tree(seq).states.get(node);
  }

  /** Lists a folder as a server does. */
  listing(seq: number, folder: number): Entry[] | undefined {
    const tree = this.tree(seq);
    const names = tree.names.get(folder);
    if (names === undefined) return undefined;
    return [...names].map(([name, node]) => ({ name, state: tree.states.get(node) as NodeState }));
  }

  folders(seq: number): number[] {
    return [...this.tree(seq).names.keys()];
  }

  #take({ what, pick }: Step): void {
    const old = this.tree(this.seq);
    const seq = this.seq + 1;
    const folders = this.folders(this.seq);
    const folder = at(folders, pick[0]);
    const name = at(WORDS, pick[1]);
    const node = this.bound(this.seq, folder, name);
    const draft = new Draft(old, seq);
    if (what === "file" || what === "folder") {
      if (node !== 0) return;
      draft.state(makeState(this.#nextNode, what, seq));
      draft.bind(folder, name, this.#nextNode++);
    } else if (what === "link") {
      const files = [...old.states.values()].filter((state) => state.type === "file");
      if (node !== 0 || files.length === 0) return;
      const file = at(files, pick[2]);
      draft.state({ ...file, nlink: file.nlink + 1, seq });
      draft.bind(folder, name, file.node);
    } else if (what === "remove") {
      if (node === 0 || (old.names.get(node)?.size ?? 0) > 0) return;
      draft.unlink(folder, name, node);
    } else if (what === "rename") {
      const [to, word] = [at(folders, pick[2]), at(WORDS, pick[1] + pick[2])];
      const over = this.bound(this.seq, to, word);
      if (node === 0 || over === node || isInside(old, to, node)) return;
      if (over !== 0 && (old.names.get(over)?.size ?? 0) > 0) return;
      if (over !== 0 && old.states.get(over)?.type !== old.states.get(node)?.type) return;
      if (over !== 0) draft.lose(over);
      draft.bind(folder, name, 0);
      draft.bind(to, word, node);
      draft.state({ ...(old.states.get(node) as NodeState), seq });
    } else {
      const states = [...old.states.values()];
      const state = at(states, pick[2]);
      draft.state({ ...state, mode: (pick[0] * 64 + pick[1]) % 0o7777, seq });
    }
    this.trees.push(draft.tree);
    this.changes.push(draft.change);
  }
}

class Draft {
  readonly tree: Tree;
  readonly change: Change;

  constructor(old: Tree, seq: number) {
    this.tree = {
      names: new Map([...old.names].map(([folder, names]) => [folder, new Map(names)])),
      states: new Map(old.states),
    };
    this.change = { seq, bindings: [], nodes: [], replaces: undefined };
  }

  state(state: NodeState): void {
    this.change.nodes.push(state);
    if (state.nlink === 0) {
      this.tree.states.delete(state.node);
      this.tree.names.delete(state.node);
      return;
    }
    this.tree.states.set(state.node, state);
    if (state.type === "folder" && !this.tree.names.has(state.node)) this.tree.names.set(state.node, new Map());
  }

  bind(folder: number, name: string, node: number): void {
    this.change.bindings.push({ folder, name, node });
    if (node === 0) this.tree.names.get(folder)?.delete(name);
    else this.tree.names.get(folder)?.set(name, node);
  }

  lose(node: number): void {
    const state = this.tree.states.get(node) as NodeState;
    this.state({ ...state, nlink: state.nlink - 1, seq: this.change.seq });
  }

  unlink(folder: number, name: string, node: number): void {
    this.bind(folder, name, 0);
    this.lose(node);
  }
}

export function makeState(node: number, type: NodeState["type"], seq: number): NodeState {
  const mtimeNs = 1_700_000_000_123_456_789n + BigInt(seq);
  return {
    node,
    type,
    mode: 0o644,
    uid: 1000,
    gid: 1000,
    sizeBytes: 0,
    mtimeNs,
    ctimeNs: -mtimeNs,
    nlink: 1,
    rdev: 0,
    target: "",
    version: 0,
    seq,
  };
}

function isInside(tree: Tree, folder: number, above: number): boolean {
  if (folder === above) return true;
  const names = tree.names.get(above);
  return names !== undefined && [...names.values()].some((node) => isInside(tree, folder, node));
}

function at<T>(list: readonly T[], index: number): T {
  return list[index % list.length] as T;
}
