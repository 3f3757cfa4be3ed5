// Decides which names of a simulated disk survive a power cut. A name operation is on disk once a folder it touches was
// synced; until then it survives or not, each for itself, but never in halves and never in a way that no order of the
// operations explains: what it takes away must be there, a folder that it removes must be empty, a folder that it moves
// into must exist.
import type { SeededRandom } from "../seeded-random.ts";
import type { Inode } from "./inode.ts";

export interface Slot {
  folder: Inode;
  name: string;
  from: Inode | undefined;
  to: Inode | undefined;
}

export interface NameChange {
  slots: Slot[];
  /** The inode whose number a new one got. */
  reuses?: Inode | undefined;
}

export class NameJournal {
  #pending: NameChange[] = [];

  add(change: NameChange): void {
    this.#pending.push(change);
  }

  /** Makes the names of a folder durable, and with them whatever they cannot be without. */
  sync(folder: Inode): void {
    const needs = new Needs(folder);
    const [kept, rest]: [NameChange[], NameChange[]] = [[], []];
    for (const change of this.#pending.toReversed()) {
      if (needs.has(change)) {
        needs.add(change);
        kept.push(change);
      } else rest.push(change);
    }
    for (const change of kept.toReversed()) apply(change);
    this.#pending = rest.toReversed();
  }

  /** Settles all pending changes by coin; the durable names are then what is left. */
  crash(root: Inode, random: SeededRandom): void {
    const probability = [0, 0.5, 0.9, 1][random.below(4)] ?? 0.5;
    for (const change of this.#pending) if (random.coin(probability) && isPossible(change, root)) apply(change);
    this.#pending = [];
  }
}

/** Requirements of a set of changes, going back in time. */
class Needs {
  readonly #folder: Inode;
  readonly #slots = new Map<Inode, Set<string>>();
  readonly #emptied = new Set<Inode>();
  readonly #unbound = new Set<Inode>();
  #needsFolders = false;

  constructor(folder: Inode) {
    this.#folder = folder;
  }

  has(change: NameChange): boolean {
    return change.slots.some(
      ({ folder, name, from, to }) =>
        folder === this.#folder ||
        this.#slots.get(folder)?.has(name) ||
        this.#emptied.has(folder) ||
        (from !== undefined && this.#unbound.has(from)) ||
        (this.#needsFolders && (from?.type === "folder" || to?.type === "folder")),
    );
  }

  add(change: NameChange): void {
    if (change.reuses !== undefined) this.#unbound.add(change.reuses);
    // A rename needs the folders on its way to be where they are.
    if (change.slots.length > 1) this.#needsFolders = true;
    for (const { folder, name, from } of change.slots) {
      const names = this.#slots.get(folder) ?? new Set();
      this.#slots.set(folder, names.add(name));
      if (from?.type === "folder") this.#emptied.add(from);
    }
  }
}

function apply(change: NameChange): void {
  for (const { from } of change.slots) {
    if (from === undefined) continue;
    from.durableLinks -= 1;
    from.durableParent = undefined;
  }
  for (const { folder, name, to } of change.slots) {
    if (to === undefined) folder.durableEntries?.delete(name);
    else {
      folder.durableEntries?.set(name, to);
      to.durableLinks += 1;
      if (to.type === "folder") to.durableParent = folder;
    }
  }
}

function isPossible(change: NameChange, root: Inode): boolean {
  if ((change.reuses?.durableLinks ?? 0) > 0) return false;
  const isRename = change.slots.length > 1;
  return change.slots.every(({ folder, name, from, to }) => {
    if (folder.durableEntries?.get(name) !== from) return false;
    const isGone = from?.type === "folder" && !change.slots.some((slot) => slot.to === from);
    if (isGone && from.durableEntries?.size !== 0) return false;
    if (!isRename || to === undefined) return true;
    return isBelow(folder, root) && !(to.type === "folder" && isBelow(folder, to));
  });
}

function isBelow(folder: Inode, above: Inode): boolean {
  for (let at: Inode | undefined = folder; at !== undefined; at = at.durableParent) if (at === above) return true;
  return false;
}
