// Coverage of this client's write leases: programs are answered there before the server. A file with several names is
// covered only if all of them are; what has no name, or is not known here, is not.
import { type Change, ROOT_NODE } from "@runnel/shared";
import type { TreeOperation } from "@runnel/shared/tree";
import { nodesIn, placesIn } from "../journal/operation-nodes.ts";
import { isAllBelow, isAnyBelow } from "./below.ts";
import { type OwnChange, type Queued, type TreeChange, isSave, nodesOf } from "./own-change.ts";
import type { PendingTree } from "./pending-tree.ts";

/** Attempts at a change that is to be answered before the server, while leases come and go. */
export const EARLY_ATTEMPTS_MAX = 4;

export class Coverage {
  /** Folders on which this client has a write lease now. */
  readonly #held: () => ReadonlySet<number>;
  readonly #pending: Pick<PendingTree, "namesOf" | "node">;

  constructor(held: () => ReadonlySet<number>, pending: Pick<PendingTree, "namesOf" | "node">) {
    this.#held = held;
    this.#pending = pending;
  }

  /** Says whether all of these nodes are covered. */
  covers(nodes: readonly number[]): boolean {
    const held = this.#held();
    if (held.size === 0 || held.has(ROOT_NODE)) return held.size > 0;
    return nodes.length > 0 && nodes.every((node) => this.#isBelow(node, held));
  }

  #isBelow(node: number, folders: ReadonlySet<number>): boolean {
    const state = this.#pending.node(node);
    const links = state === undefined || state.type === "folder" ? 1 : state.nlink;
    return isAllBelow(node, links, folders, (each) => this.#pending.namesOf(each));
  }

  /**
   * Says whether a change that the server is asked for directly may be of something that is covered, or where nothing
   * is; not so of nodes that are not known here, over which nothing is planned.
   */
  concerns(change: OwnChange): boolean {
    const held = this.#held();
    const nodes = nodesOf(change);
    if (held.size === 0 || nodes.length === 0) return true;
    return nodes.some((node) => this.#pending.node(node) !== undefined && this.#mayBeBelow(node, held));
  }

  /** Says whether a change on its way is of something below a folder, or at a name there. */
  touches(queued: Queued, folder: number): boolean {
    const folders = new Set([folder]);
    const nodes = isSave(queued) ? [queued.node, queued.record.node] : [...queued.nodes, ...nodesOfNames(queued)];
    return nodes.some((node) => this.#mayBeBelow(node, folders));
  }

  #mayBeBelow(node: number, folders: ReadonlySet<number>): boolean {
    return folders.has(ROOT_NODE) || isAnyBelow(node, folders, (each) => this.#pending.namesOf(each));
  }

  /** Returns the folder to ask for a write lease on when a node is changed; undefined when none would help. */
  folderOf(node: number): number | undefined {
    const state = this.#pending.node(node);
    if (state === undefined) return undefined;
    if (state.type === "folder") return node;
    const names = this.#pending.namesOf(node);
    return names.length === state.nlink ? names[0]?.folder : undefined;
  }
}

/** Lists the nodes of a change that must be covered: what it makes is where it makes it. */
export function coveredBy(operation: TreeOperation): number[] {
  return operation.op === "make" ? placesIn(operation) : nodesIn(operation);
}

/** Lists the nodes that a change changes, but for one that it makes. */
export function changedBy(operation: TreeOperation, change: Change | undefined): number[] {
  const nodes = (change?.nodes ?? []).map(({ node }) => node);
  return operation.op === "make" ? nodes.filter((node) => node !== operation.node) : nodes;
}

function nodesOfNames({ names, record }: TreeChange): number[] {
  return [...names.map(([folder]) => folder), ...placesIn(record.operation)];
}
