// Folders on which others have write leases, as the server says: what is below may be newer with them than here. The
// lease on what is followed says nothing of it ([W192]), and whoever looks there asks the server, which has it
// recalled.
import type { Channel } from "@runnel/shared";
import { isAnyBelow } from "../changes/below.ts";

export interface HeldElsewhereDeps {
  /** Lists the folders that a node has names in, as far as is known here. */
  namesOf(node: number): readonly { folder: number }[];
  /** Asks the server how nodes are now. @throws Unreachable */
  ask(nodes: readonly number[]): Promise<unknown>;
  /** Called when there are some now, or none any more. */
  changed(): void;
}

export class HeldElsewhere {
  readonly #deps: HeldElsewhereDeps;
  #folders: ReadonlySet<number> = new Set();
  /** They are those of an attachment before: this one has not said anything of the kind yet. */
  #areOld = false;

  constructor(deps: HeldElsewhereDeps) {
    this.#deps = deps;
  }

  get isEmpty(): boolean {
    return this.#folders.size === 0;
  }

  /** Takes what the server says, which counts from now on. */
  told(feed: Pick<Channel, "send">, number: number, folders: readonly number[]): void {
    this.#areOld = false;
    this.#set(folders);
    feed.send(["heard", number]);
  }

  /** Attached again: it says which there are before it says anything of the lease, or there are none. */
  attached(): void {
    this.#areOld = true;
  }

  /** The server has said how the lease stands. */
  leaseAnswered(): void {
    if (!this.#areOld) return;
    this.#areOld = false;
    this.#set([]);
  }

  /** Resolves when what is known of these nodes is current, others having been asked: `isDeep`: with all below them. */
  async current(nodes: readonly number[], isDeep = false): Promise<void> {
    const asked = this.touched(nodes, isDeep);
    if (asked.length > 0) await this.#deps.ask(asked);
  }

  /** Lists nodes of which others may know more. */
  touched(nodes: readonly number[], isDeep = false): number[] {
    if (this.isEmpty) return [];
    const found = nodes.filter((node) => isAnyBelow(node, this.#folders, this.#deps.namesOf));
    if (!isDeep) return found;
    const roots = new Set(nodes);
    return [...found, ...[...this.#folders].filter((folder) => isAnyBelow(folder, roots, this.#deps.namesOf))];
  }

  #set(folders: readonly number[]): void {
    const wasEmpty = this.isEmpty;
    this.#folders = new Set(folders);
    if (this.isEmpty !== wasEmpty) this.#deps.changed();
  }
}
