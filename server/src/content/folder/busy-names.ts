// BusyNames: the names and nodes of commits whose bringing up has begun and is not stored, because it was interrupted or failed. What lies there
// may be half of a commit, so it is not compared with the rows until it is whole [F30].
import type { AcceptedCommit } from "../content-store.ts";

export class BusyNames {
  readonly #names = new Map<string, number>();
  readonly #nodes = new Map<number, number>();

  add(commit: AcceptedCommit): void {
    this.#count(commit, 1);
  }

  delete(commit: AcceptedCommit): void {
    this.#count(commit, -1);
  }

  #count({ result, change }: AcceptedCommit, step: number): void {
    for (const { folder, name, node } of change.bindings) {
      countBy(this.#names, `${folder}/${name}`, step);
      if (node !== 0) countBy(this.#nodes, node, step);
    }
    countBy(this.#nodes, result.node, step);
    if (change.replaces !== undefined) countBy(this.#nodes, change.replaces.node, step);
  }

  /** `node`: what was recorded for the name. */
  has(folder: number, name: string, node: number | undefined): boolean {
    if (this.#names.size === 0 && this.#nodes.size === 0) return false;
    return this.#names.has(`${folder}/${name}`) || (node !== undefined && this.#nodes.has(node));
  }
}

function countBy<Key>(counts: Map<Key, number>, key: Key, step: number): void {
  const count = (counts.get(key) ?? 0) + step;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}
