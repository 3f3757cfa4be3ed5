// A pin at work: what of a file or folder is here, and what is still to come.
import type { NodeState } from "@runnel/shared";
import type { Replica } from "../replica/replica.ts";
import { FilesBelow } from "./files-below.ts";
import type { Pin } from "./pin-list.ts";

/** Entries looked at in one turn of the event loop. */
export const LOOKED_AT_ONCE = 500;
/** Files that are known to be missing before they are brought, and the rest is looked through. */
const MISSING_MAX = 4096;
/** Time between two counts, by how long one takes. */
const COUNT_SHARE = 50;

/** Amount of files, and of bytes in them. */
export interface Amount {
  files: number;
  bytes: number;
}

export interface KeptTreeDeps {
  replica: Replica;
  isHere(state: NodeState): boolean;
  nowMs(): number;
}

export class KeptTree {
  pin: Pin;
  /** Files that are not here, or not whole, with their sizes. */
  readonly missing = new Map<number, number>();
  /** Reasons of those of them that could not be brought; "": they are paused. */
  readonly failed = new Map<number, string>();
  readonly #deps: KeptTreeDeps;
  #look: FilesBelow | undefined;
  /** It goes through all that is pinned. */
  #isOfAll = true;
  /** Folders that came into it since: each is looked through when all else has been. */
  readonly #folders = new Set<number>();
  #seen: Amount = { files: 0, bytes: 0 };
  #all: Amount = { files: 0, bytes: 0 };
  #countedSeq = -1;
  #countAgainMs = 0;

  constructor(pin: Pin, deps: KeptTreeDeps) {
    this.pin = pin;
    this.#deps = deps;
    this.lookAgain();
  }

  /** All that is pinned, as far as the tree is known. */
  get all(): Amount {
    const { replica, nowMs } = this.#deps;
    const seq = replica.facts()?.seq ?? 0;
    if (seq !== this.#countedSeq && nowMs() >= this.#countAgainMs) {
      const beganMs = nowMs();
      this.#all = this.pin.node === 0 ? { files: 0, bytes: 0 } : replica.filesAt(this.pin.node);
      this.#countedSeq = seq;
      this.#countAgainMs = nowMs() + (nowMs() - beganMs) * COUNT_SHARE;
    }
    return this.#all;
  }

  /** Amount that is here, as far as it was looked through. */
  get here(): Amount {
    if (this.#look !== undefined && this.#isOfAll) return this.#seen;
    let { files, bytes } = this.all;
    for (const size of this.missing.values()) [files, bytes] = [files - 1, bytes - size];
    return { files: Math.max(0, files), bytes: Math.max(0, bytes) };
  }

  get isComplete(): boolean {
    return this.pin.node !== 0 && !this.#isToBeLookedAt && this.missing.size === 0;
  }

  /** Files that can be brought now, the first found first. */
  *toBring(): Generator<number> {
    for (const node of this.missing.keys()) if (!this.failed.has(node)) yield node;
  }

  get hasWork(): boolean {
    return this.#isToBeLookedAt || this.missing.size > this.failed.size;
  }

  get #isToBeLookedAt(): boolean {
    return this.#look !== undefined || this.#folders.size > 0;
  }

  /** Looks through all of it once more, at another place perhaps. */
  lookAgain(): void {
    const { pin } = this;
    this.missing.clear();
    this.failed.clear();
    this.#folders.clear();
    this.#seen = { files: 0, bytes: 0 };
    this.#countedSeq = -1;
    this.#countAgainMs = 0;
    this.#look = pin.node === 0 ? undefined : new FilesBelow(this.#deps.replica, pin.node);
    this.#isOfAll = true;
  }

  /** Looks as well through a folder that has come into it. */
  lookInto(folder: number): void {
    this.#folders.add(folder);
  }

  /** Looks at some more of it. @returns false where enough is known to be missing, or nothing is left to look at. */
  look(): boolean {
    if (this.missing.size - this.failed.size >= MISSING_MAX) return false;
    if (this.#look === undefined) {
      const [folder] = this.#folders;
      if (folder === undefined) return false;
      this.#folders.delete(folder);
      this.#look = new FilesBelow(this.#deps.replica, folder);
      this.#isOfAll = false;
    }
    const files = this.#look.next(LOOKED_AT_ONCE);
    if (files === undefined) this.#look = undefined;
    for (const state of files ?? []) this.see(state, this.#isOfAll);
    return true;
  }

  /** Takes in how a file of it stands now. `isFirst`: it was not looked at before. */
  see(state: NodeState, isFirst = false): void {
    const { node, sizeBytes, nlink } = state;
    const wasMissing = this.missing.has(node);
    this.drop(node);
    if (nlink === 0) return;
    if (!this.#deps.isHere(state)) this.missing.set(node, sizeBytes);
    else if (isFirst || wasMissing) {
      this.#seen.files++;
      this.#seen.bytes += sizeBytes;
    }
  }

  /** Forgets a file that is not pinned any more, or is gone. */
  drop(node: number): void {
    this.missing.delete(node);
    this.failed.delete(node);
  }
}
