// Lists a folder of a drive for a person, some rows at a time by their place in an order: what is here, what only at
// the server, what is pinned. The order is kept for as long as somebody scrolls.
import { type Clock, type NodeState, NS_PER_MS } from "@runnel/shared/base";
import type { Cache } from "../cache/cache.ts";
import type { FolderPage, FolderRow } from "../mount-status.ts";
import type { KeptTree } from "../pins/kept-tree.ts";
import type { Pins } from "../pins/pins.ts";
import type { Replica } from "../replica/replica.ts";

export const FOLDER_ORDERS = ["name", "size", "modified"] as const;
export type FolderOrder = (typeof FOLDER_ORDERS)[number];

/** An order is made anew at most so often while the drive changes. */
const SORTED_FOR_MS = 2_000;
/** Share that is shown at most of a pin which is still looked through. */
const PART_MAX = 0.99;
/** Entries below folders of a pin that are looked at for one answer, so that nobody waits for it. */
const LOOKED_AT_MAX = 5_000;

export interface FolderListDeps {
  replica: Replica;
  cache: Cache;
  pins: Pins;
  /** Says how a row shows the pause of a node. */
  pauses: { rowOf(node: number): FolderRow["pause"] };
  clock: Clock;
}

interface Sorted {
  folder: number;
  order: FolderOrder;
  seq: number;
  atMs: number;
  names: readonly string[];
}

export interface FolderRange {
  from: number;
  count: number;
  order: FolderOrder;
}

export class FolderList {
  readonly #deps: FolderListDeps;
  #sorted: Sorted | undefined;
  #revision = 0;

  constructor(deps: FolderListDeps) {
    this.#deps = deps;
  }

  /** Rows of a folder from a place on; of names that are gone by now none. */
  page(folder: number, { from, count, order }: FolderRange): FolderPage {
    const names = this.#namesIn(folder, order);
    const rows: FolderRow[] = [];
    const left = { entries: LOOKED_AT_MAX };
    for (const [index, name] of names.slice(from, from + count).entries()) {
      const known = this.#deps.replica.lookup(folder, name);
      if (known.is === "bound") rows.push({ index: from + index, ...this.#row(name, known.state, left) });
    }
    return { total: names.length, revision: this.#revision, pin: this.#pinOf(folder), rows };
  }

  #namesIn(folder: number, order: FolderOrder): readonly string[] {
    const { replica, clock } = this.#deps;
    const sorted = this.#sorted;
    const seq = replica.facts()?.seq ?? 0;
    const nowMs = clock.bootMs();
    const isSame = sorted?.folder === folder && sorted.order === order;
    if (isSame && (sorted.seq === seq || nowMs - sorted.atMs < SORTED_FOR_MS)) return sorted.names;
    const names = replica.sortedNames(folder, order);
    const isOther =
      !isSame || names.length !== sorted.names.length || names.some((name, at) => name !== sorted.names[at]);
    if (isOther) this.#revision++;
    this.#sorted = { folder, order, seq, atMs: nowMs, names };
    return names;
  }

  /** `left`: entries that may be looked at still. */
  #row(name: string, state: NodeState, left: { entries: number }): Omit<FolderRow, "index"> {
    const { node, type, sizeBytes, mtimeNs, version } = state;
    const content = type === "file" && version !== 0 ? this.#deps.cache.find({ node, seq: version }) : undefined;
    const absent = content === undefined ? [] : this.#deps.cache.absent(content, { offset: 0, length: sizeBytes });
    const absentBytes = absent.reduce((sum, { length }) => sum + length, 0);
    const isEmpty = type === "file" && sizeBytes === 0;
    return {
      name,
      type,
      sizeBytes,
      mtimeMs: Number(mtimeNs / NS_PER_MS),
      hereBytes: type !== "file" ? null : content === undefined || isEmpty ? 0 : sizeBytes - absentBytes,
      pin: this.#pinOf(node, type === "folder" ? left : undefined),
      pause: this.#deps.pauses.rowOf(node),
    };
  }

  /** `left`: the node is a folder, of which it is looked at what of it is here, if so many entries allow it. */
  #pinOf(node: number, left?: { entries: number }): FolderRow["pin"] {
    const { pins } = this.#deps;
    const kept = pins.keptBy(node);
    if (kept === undefined) return null;
    const { pin, isComplete } = kept;
    if (pin.node === node) return { path: pin.path, isOwn: true, isComplete, share: shareOf(kept) };
    const share = isComplete ? 1 : left === undefined ? undefined : pins.shareHere(node, left);
    return { path: pin.path, isOwn: false, isComplete: share === 1, share: share ?? null };
  }
}

function shareOf({ isComplete, all, here }: Pick<KeptTree, "isComplete" | "all" | "here">): number {
  if (isComplete) return 1;
  return all.bytes === 0 ? 0 : Math.min(here.bytes / all.bytes, PART_MAX);
}
