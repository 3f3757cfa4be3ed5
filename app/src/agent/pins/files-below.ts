// Goes through the files at and below a node, some at a time, so that nobody waits for a large tree.
import type { NodeState } from "@runnel/shared";
import type { Replica } from "../replica/replica.ts";

/** A folder, and the name that has been come to in it. */
interface Cursor {
  folder: number;
  after: string;
}

export class FilesBelow {
  readonly #replica: Pick<Replica, "node" | "entriesAfter">;
  #first: NodeState | undefined;
  /** Folders on the way, the deepest last. */
  readonly #cursors: Cursor[] = [];
  /** Folders that have been come to: while names are learned one may seem to be below itself. */
  readonly #folders = new Set<number>();

  constructor(replica: Pick<Replica, "node" | "entriesAfter">, node: number) {
    this.#replica = replica;
    this.#first = replica.node(node);
  }

  /** Nothing is left to look at. */
  get isAtEnd(): boolean {
    return this.#first === undefined && this.#cursors.length === 0;
  }

  /** Looks at some entries; returns the files among them. @returns undefined when there are no more. */
  next(entriesMax: number): NodeState[] | undefined {
    const files: NodeState[] = [];
    if (this.#first !== undefined) this.#take(this.#first, files);
    else if (this.#cursors.length === 0) return undefined;
    this.#first = undefined;
    for (let left = entriesMax; left > 0;) {
      const cursor = this.#cursors.at(-1);
      if (cursor === undefined) break;
      const entries = this.#replica.entriesAfter(cursor.folder, cursor.after, left);
      if (entries.length < left) this.#cursors.pop();
      cursor.after = entries.at(-1)?.name ?? cursor.after;
      for (const { state } of entries) this.#take(state, files);
      left -= Math.max(1, entries.length);
    }
    return files;
  }

  #take(state: NodeState, files: NodeState[]): void {
    if (state.type === "file") files.push(state);
    if (state.type !== "folder" || this.#folders.has(state.node)) return;
    this.#folders.add(state.node);
    this.#cursors.push({ folder: state.node, after: "" });
  }
}
