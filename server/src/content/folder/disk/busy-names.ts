// BusyNames: names that are not compared with the rows for now [F30]. Those that a commit not yet applied binds or
// unbinds, since the tree may have moved on further than one program's change can tell; and all names of the nodes of
// commits whose applying has begun and is not stored, because it was interrupted or failed: what lies there may be half
// of a commit.
import type { AcceptedCommit } from "../../content-store.ts";

export class BusyNames {
  readonly #names = new Map<string, number>();
  readonly #nodes = new Map<number, number>();

  /** The commit waits to be applied. */
  add({ change }: AcceptedCommit): void {
    for (const { folder, name } of change.bindings) countBy(this.#names, `${folder}/${name}`, 1);
  }

  begin(commit: AcceptedCommit): void {
    for (const node of nodesOf(commit)) countBy(this.#nodes, node, 1);
  }

  /** It is applied. */
  delete(commit: AcceptedCommit, wasBegun: boolean): void {
    for (const { folder, name } of commit.change.bindings) countBy(this.#names, `${folder}/${name}`, -1);
    if (wasBegun) for (const node of nodesOf(commit)) countBy(this.#nodes, node, -1);
  }

  /** A commit to come binds or unbinds the name. */
  isPending(folder: number, name: string): boolean {
    return this.#names.has(`${folder}/${name}`);
  }

  /** `node`: what was recorded for the name. */
  has(folder: number, name: string, node: number | undefined): boolean {
    return this.isPending(folder, name) || (node !== undefined && this.#nodes.has(node));
  }
}

function nodesOf({ result, change }: AcceptedCommit): Set<number> {
  const nodes = new Set([result.node]);
  for (const { node } of change.bindings) if (node !== 0) nodes.add(node);
  if (change.replaces !== undefined) nodes.add(change.replaces.node);
  return nodes;
}

function countBy<Key>(counts: Map<Key, number>, key: Key, step: number): void {
  const count = (counts.get(key) ?? 0) + step;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}
