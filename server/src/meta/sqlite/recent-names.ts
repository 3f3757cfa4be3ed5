// Names of nodes that were asked for lately: those of the folders in which changes are made, whose paths are walked for
// each of them. Right only while every change of a name is told.

export interface PlacedName {
  readonly folder: number;
  readonly name: string;
}

/** With one more all are forgotten. */
const NODES_MAX = 1024;
/** A node with more is looked up each time. */
const NAMES_MAX = 4;

export class RecentNames {
  readonly #byNode = new Map<number, readonly PlacedName[]>();
  /** Nodes by the names that are remembered of them. */
  readonly #nodes = new Map<string, number>();

  get(node: number): readonly PlacedName[] | undefined {
    return this.#byNode.get(node);
  }

  put(node: number, names: readonly PlacedName[]): void {
    if (names.length > NAMES_MAX) return;
    if (this.#byNode.size >= NODES_MAX) this.clear();
    this.#byNode.set(node, names);
    for (const name of names) this.#nodes.set(keyOf(name), node);
  }

  /** Called when a name is put on a node, or on none. */
  changed(place: PlacedName, node?: number): void {
    this.#forget(this.#nodes.get(keyOf(place)));
    this.#forget(node);
  }

  clear(): void {
    this.#byNode.clear();
    this.#nodes.clear();
  }

  #forget(node: number | undefined): void {
    if (node === undefined) return;
    for (const name of this.#byNode.get(node) ?? []) this.#nodes.delete(keyOf(name));
    this.#byNode.delete(node);
  }
}

function keyOf({ folder, name }: PlacedName): string {
  return `${folder}/${name}`;
}
