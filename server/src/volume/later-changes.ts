// Nodes that were changed themselves after some commit: made, moved, or given other attributes or contents. A removal
// of a tree in parts asks again and again as of its begin, which may be longer ago than changes are kept: what was read
// of them for one part is known to the next.
import { isRunnelError } from "@runnel/shared";
import type { MetaStore } from "../meta/meta-store.ts";

const PAGE_CHANGES = 1000;
const NODES_MAX = 200_000;

export class LaterChanges {
  readonly #meta: Pick<MetaStore, "changesAfter">;
  #asOf = -1;
  #upTo = -1;
  #nodes = new Set<number>();

  constructor(meta: Pick<MetaStore, "changesAfter">) {
    this.#meta = meta;
  }

  /** Resolves to undefined where that is no longer known. */
  async since(asOf: number): Promise<ReadonlySet<number> | undefined> {
    if (asOf !== this.#asOf) [this.#asOf, this.#upTo, this.#nodes] = [asOf, asOf, new Set()];
    try {
      while (await this.#readPage());
    } catch (error) {
      this.#asOf = -1;
      if (isRunnelError(error, "Gone")) return undefined;
      throw error;
    }
    const nodes = this.#nodes;
    if (nodes.size <= NODES_MAX) return nodes;
    this.#asOf = -1;
    return undefined;
  }

  /** Resolves to whether there may be more. */
  async #readPage(): Promise<boolean> {
    const page = await this.#meta.changesAfter(this.#upTo, PAGE_CHANGES);
    for (const { seq, bindings, nodes } of page) {
      for (const { node } of bindings) this.#nodes.add(node);
      if (bindings.length === 0) for (const { node } of nodes) this.#nodes.add(node);
      this.#upTo = seq;
    }
    return page.length === PAGE_CHANGES;
  }
}
