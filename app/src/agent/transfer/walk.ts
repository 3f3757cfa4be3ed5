// Recognizes by the small files that programs open whether one of them walks a tree, and which it is likely to open
// next. Pure but for the tree that it reads.
//
// Two files opened one after another in a folder begin a walk, or three in folders that follow each other: the rest of
// the folder is wanted. Once it has gone on to another folder, what follows in the tree is wanted, too. Whenever most
// of what was wanted has been opened, four times as much is: what comes in vain is bounded by what was of use.
import { LIMITS } from "@runnel/shared";
import type { Entry, NodeState } from "@runnel/shared";

/** The tree as far as it is known here. */
export interface Names {
  namesOf(node: number): readonly { folder: number; name: string }[];
  /** Entries in the order of the names. @returns undefined when they are not known. */
  listing(folder: number): { entries: readonly Entry[] } | undefined;
}

const FIRST_FILES = 64;
const GROWTH = 4;
/** From folder to folder once is no walk yet. */
const STEPS_ACROSS = 2;
/** Folders looked into for one answer: a tree of large files is not searched through for small ones. */
const FOLDERS_MAX = 256;

/** A folder on the way, and its entries still to come, in the order in which the program goes. */
interface Level {
  folder: number;
  left: Entry[];
}

interface Place {
  folder: number;
  name: string;
  node: number;
}

export class Walk {
  readonly #names: Names;
  readonly #isHere: (state: NodeState) => boolean;
  readonly #aheadBytesMax: number;
  /** The last file that nothing had brought. */
  #last: Place | undefined;
  /** The folder it is in last, before it those above. */
  #levels: Level[] = [];
  /** The program goes by node ids, as programs that copy do; else by names. */
  #isByNode = false;
  #steps = 0;
  /** It has gone from one folder to another. */
  #isAcross = false;
  /** Wanted and not opened yet, with their sizes. */
  readonly #ahead = new Map<number, number>();
  #aheadBytes = 0;
  /** Number of files that were wanted at once; 0: there is no walk. */
  #window = 0;

  /** `isHere`: it need not be brought. `aheadBytesMax`: the most that is wanted and not opened. */
  constructor(names: Names, isHere: (state: NodeState) => boolean, aheadBytesMax: number) {
    this.#names = names;
    this.#isHere = isHere;
    this.#aheadBytesMax = aheadBytesMax;
  }

  get isWalking(): boolean {
    return this.#window > 0;
  }

  /** Says that the file is wanted, and was not opened yet. */
  expects(node: number): boolean {
    return this.#ahead.has(node);
  }

  /** From the folder of the last file to that of this one, if the walk may have gone on so: 0 in the same one. */
  stepsTo(node: number): number | undefined {
    const [name] = this.#names.namesOf(node);
    if (this.#last === undefined || name === undefined) return undefined;
    if (this.#last.folder === name.folder) return 0;
    if (this.#pathDown(this.#last.folder, name.folder) === undefined) return undefined;
    const up = this.#pathUp(this.#last.folder);
    const down = this.#pathUp(name.folder);
    const common = down.findIndex((folder) => up.includes(folder));
    return common + up.indexOf(down[common] ?? 0);
  }

  /** A small file is opened. Those wanted now, in order; mostly none. */
  opened(state: NodeState): NodeState[] {
    const bytes = this.#ahead.get(state.node);
    if (bytes !== undefined) {
      this.#ahead.delete(state.node);
      this.#aheadBytes -= bytes;
      return this.#ahead.size * 2 < this.#window ? this.#next(this.#window * GROWTH) : [];
    }
    // Opened again, or here for another reason: that says nothing of what is to come.
    return this.#isHere(state) ? [] : this.#missed(state);
  }

  /** The program has stopped: nothing is wanted any more. */
  stopped(): void {
    this.#last = undefined;
    this.#levels = [];
    this.#isAcross = false;
    this.#steps = 0;
    this.#window = 0;
    this.#pass();
  }

  #missed({ node }: NodeState): NodeState[] {
    const [name] = this.#names.namesOf(node);
    if (name === undefined) return [];
    const before = this.#last;
    const here = { ...name, node };
    this.#last = here;
    const goesOn = before !== undefined && this.#goesOn(before, here);
    this.#steps = goesOn ? this.#steps + 1 : 0;
    if (!goesOn || (this.#isAcross && this.#steps < STEPS_ACROSS && !this.isWalking)) return [];
    // Files that were wanted and passed over are not wanted any more.
    const opened = this.#window - this.#ahead.size;
    this.#pass();
    return this.#next(Math.max(FIRST_FILES, opened * GROWTH));
  }

  #pass(): void {
    this.#ahead.clear();
    this.#aheadBytes = 0;
  }

  /** Says whether the program has gone on from one file to another; then the levels are those behind that. */
  #goesOn(before: Place, here: Place): boolean {
    if (before.folder === here.folder) {
      if (here.name < before.name) this.#isByNode = here.node > before.node;
      else if (here.node < before.node) this.#isByNode = false;
      this.#levels = [this.#levelAround(here)];
      return true;
    }
    const path = this.#pathDown(before.folder, here.folder);
    if (path === undefined) return false;
    this.#isAcross = true;
    this.#levels = [...path, this.#levelAround(here)];
    return true;
  }

  /**
   * All of a folder but this file; what follows it first. Who goes in an order of its own still finds everything here.
   */
  #levelAround({ folder, node }: Place): Level {
    const entries = this.#ordered(folder);
    const at = entries.findIndex((entry) => entry.state.node === node);
    const before = entries.slice(0, Math.max(0, at)).filter(({ state }) => state.type !== "folder");
    return { folder, left: [...entries.slice(at + 1), ...before] };
  }

  #levelBehind(folder: number, node: number): Level {
    const entries = this.#ordered(folder);
    return { folder, left: entries.slice(entries.findIndex((entry) => entry.state.node === node) + 1) };
  }

  /**
   * The levels from the folder that holds both down to `to`, without that; undefined when `to` does not come after
   * `from`.
   */
  #pathDown(from: number, to: number): Level[] | undefined {
    const up = this.#pathUp(from);
    const down = this.#pathUp(to);
    const common = down.findIndex((folder) => up.includes(folder));
    if (common < 0) return undefined;
    const levels: Level[] = [];
    for (let index = common; index > 0; index--) {
      const [folder, below] = [down[index], down[index - 1]];
      if (folder !== undefined && below !== undefined) levels.push(this.#levelBehind(folder, below));
    }
    // The branch of `from` lies in front of where the program is now: it has been there.
    const branch = up[up.indexOf(down[common] ?? 0) - 1];
    const isBack = branch !== undefined && levels[0]?.left.some(({ state }) => state.node === branch) === true;
    return isBack ? undefined : levels;
  }

  /** A folder, its parent, and so on. */
  #pathUp(folder: number): number[] {
    const path = [folder];
    while (path.length <= LIMITS.depth) {
      const [place] = this.#names.namesOf(path.at(-1) ?? 0);
      if (place === undefined) break;
      path.push(place.folder);
    }
    return path;
  }

  #ordered(folder: number): Entry[] {
    const entries = [...(this.#names.listing(folder)?.entries ?? [])];
    return this.#isByNode ? entries.sort((one, other) => one.state.node - other.state.node) : entries;
  }

  /** Files that are likely to be opened next: at most so many, within the bytes and what one request may name. */
  #next(filesMax: number): NodeState[] {
    const found: NodeState[] = [];
    let folders = 0;
    // Folders as they are known here need not be of one moment: they may lie in one another.
    let climbs = 0;
    while (found.length < Math.min(filesMax, LIMITS.findGetVersions) && folders < FOLDERS_MAX) {
      const level = this.#levels.at(-1);
      if (level === undefined) break;
      const entry = level.left.shift();
      if (entry === undefined) {
        this.#levels.pop();
        if (this.#levels.length === 0 && this.#isAcross && climbs++ < LIMITS.depth) this.#climb(level.folder);
      } else if (entry.state.type === "folder") {
        this.#levels.push({ folder: entry.state.node, left: this.#ordered(entry.state.node) });
        folders++;
      } else if (isSmall(entry.state) && !this.#ahead.has(entry.state.node) && !this.#isHere(entry.state)) {
        if (this.#aheadBytes + entry.state.sizeBytes > this.#aheadBytesMax) {
          level.left.unshift(entry);
          break;
        }
        this.#ahead.set(entry.state.node, entry.state.sizeBytes);
        this.#aheadBytes += entry.state.sizeBytes;
        found.push(entry.state);
      }
    }
    this.#window = Math.max(FIRST_FILES, this.#ahead.size);
    return found;
  }

  #climb(folder: number): void {
    const [place] = this.#names.namesOf(folder);
    if (place !== undefined) this.#levels = [this.#levelBehind(place.folder, folder)];
  }
}

function isSmall({ type, sizeBytes }: NodeState): boolean {
  return type === "file" && sizeBytes > 0 && sizeBytes <= LIMITS.smallFileBytes;
}
