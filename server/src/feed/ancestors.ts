// Folders above a node, by all its names: for whoever asks which write leases cover it. What the index says of folders
// is remembered until a change gives one another place.
import { LIMITS, ROOT_NODE, RecentMap } from "@runnel/shared";
import type { Change } from "@runnel/shared";

/** Folders whose place is remembered. */
const FOLDERS_MAX = 10_000;
/** More is a damaged tree. */
const DEPTH_MAX = 2 * LIMITS.depth + 2;

/** Lists the folders that a node has names in. */
export type PlacesOf = (node: number) => Promise<readonly number[]>;

export class Ancestors {
  readonly #placesOf: PlacesOf;
  readonly #folders = new RecentMap<number, number>(FOLDERS_MAX);
  #moves = 0;

  constructor(placesOf: PlacesOf) {
    this.#placesOf = placesOf;
  }

  /** Counts the moves of folders: what was asked before one may be wrong after it. */
  get moves(): number {
    return this.#moves;
  }

  /** Names have changed: what they are bound to may have another place. */
  changed(changes: readonly Change[]): void {
    for (const change of changes) {
      if (movesFolder(change)) this.#moves++;
      for (const { node } of change.bindings) this.#folders.delete(node);
    }
  }

  /** Every folder above these nodes, and they themselves. */
  async of(nodes: Iterable<number>): Promise<Set<number>> {
    const found = new Set<number>();
    const left = [...nodes].map((node) => ({ node, isFolder: false }));
    for (let at = left.pop(); at !== undefined; at = left.pop()) {
      if (found.has(at.node)) continue;
      found.add(at.node);
      for (const node of await this.#above(at.node, at.isFolder)) left.push({ node, isFolder: true });
    }
    return found;
  }

  /** Folders from the root down to one, both included; undefined when it has no place in the tree. */
  async path(folder: number): Promise<number[] | undefined> {
    const path = [folder];
    for (let [at] = path; at !== undefined && at !== ROOT_NODE; [at] = path) {
      const [above] = await this.#above(at, at !== folder);
      if (above === undefined || path.length > DEPTH_MAX) return undefined;
      path.unshift(above);
    }
    return path;
  }

  async #above(node: number, isFolder: boolean): Promise<readonly number[]> {
    if (node === ROOT_NODE) return [];
    const known = this.#folders.get(node);
    if (known !== undefined) return [known];
    const moves = this.#moves;
    const places = await this.#placesOf(node);
    const [place] = places;
    // A folder has one name.
    if (isFolder && place !== undefined && moves === this.#moves) this.#folders.set(node, place);
    return places;
  }
}

/** Says whether a change moves a folder: one that is made has nothing below it. */
export function movesFolder({ bindings, nodes }: Change): boolean {
  if (bindings.length < 2) return false;
  return nodes.some(({ node, type }) => type === "folder" && bindings.some((binding) => binding.node === node));
}
