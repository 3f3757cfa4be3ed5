// Guesses which files a new one is likely to resemble: what had its name before, what its name says that it is to
// replace, what its program read last, and, for a name that says nothing, what is of about its size in its folder.
// Guesses from what is known here; whoever uses them tries them.
import { RecentMap } from "@runnel/shared";
import type { Cache, CachedContent } from "../../cache/cache.ts";
import type { Replica } from "../../replica/replica.ts";
import { replacedName } from "../../transfer/replaced-name.ts";
import type { Tree } from "../tree.ts";

export interface NewFile {
  node: number;
  sizeBytes: number;
  /** The file that its program last opened to read; 0: none. */
  readBefore: number;
}

/** Smaller files are sent whole. */
const WORTH_BYTES = 512;
/** Factor beyond which a file of another size is no base. */
const LIKE = 4;
const MUCH_LIKE = 1.25;
/** Guesses at the most; each is tried. */
const GUESSES_MAX = 3;
/** Names remembered that have lost their files. */
const LEFT_MAX = 1000;

export class LikelyBases {
  readonly #tree: Pick<Tree, "boundTo" | "placeOf">;
  readonly #replica: Pick<Replica, "filesOfSize">;
  readonly #cache: Pick<Cache, "versionsOf">;
  /** Nodes that have lost a name, by folder and name. */
  readonly #left = new RecentMap<string, number>(LEFT_MAX);

  constructor(deps: {
    tree: Pick<Tree, "boundTo" | "placeOf">;
    replica: Pick<Replica, "filesOfSize">;
    cache: Pick<Cache, "versionsOf">;
  }) {
    this.#tree = deps.tree;
    this.#replica = deps.replica;
    this.#cache = deps.cache;
  }

  /** A program here has taken this name from the node: it was removed, or renamed. */
  leaves(folder: number, name: string, node: number): void {
    this.#left.set(keyOf(folder, name), node);
  }

  /** Cached contents with recipes, the likeliest first. */
  of(file: NewFile): CachedContent[] {
    if (file.sizeBytes < WORTH_BYTES) return [];
    const place = this.#tree.placeOf(file.node);
    const guesses: CachedContent[] = [];
    const add = (node: number | undefined, like: number): void => {
      if (node === undefined || node === 0 || node === file.node || guesses.length >= GUESSES_MAX) return;
      const [newest] = this.#cache.versionsOf(node);
      if (newest?.recipe === undefined || !isLike(newest.sizeBytes, file.sizeBytes, like)) return;
      if (!guesses.includes(newest)) guesses.push(newest);
    };
    if (place === undefined) {
      add(file.readBefore, LIKE);
      return guesses;
    }
    const { folder, name } = place;
    const { names, isTemporary } = replacedName(name);
    add(this.#left.get(keyOf(folder, name)), LIKE);
    for (const other of names) {
      add(this.#tree.boundTo(folder, other, undefined)?.node, LIKE);
      add(this.#left.get(keyOf(folder, other)), LIKE);
    }
    add(file.readBefore, LIKE);
    if (guesses.length > 0 || !isTemporary) return guesses;
    const like = file.sizeBytes;
    const size = { least: Math.ceil(like / MUCH_LIKE), most: Math.floor(like * MUCH_LIKE), like };
    for (const node of this.#replica.filesOfSize(folder, size)) add(node, MUCH_LIKE);
    return guesses;
  }
}

function isLike(one: number, other: number, factor: number): boolean {
  return Math.max(one, other) <= factor * Math.min(one, other);
}

function keyOf(folder: number, name: string): string {
  return `${folder}/${name}`;
}
