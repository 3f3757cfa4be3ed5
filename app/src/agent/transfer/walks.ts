// Keeps several walks apart, like those of a program that compares two trees, or of two programs: a file that is opened
// belongs to the nearest walk that it continues.
import { LIMITS } from "@runnel/shared";
import type { NodeState } from "@runnel/shared";
import type { Names } from "./walk.ts";
import { Walk } from "./walk.ts";

/** More at once are hardly walks: what is opened here and there would pass for them. */
const WALKS_MAX = 4;

export class Walks {
  readonly #isHere: (state: NodeState) => boolean;
  readonly #newWalk: () => Walk;
  /** Walks by use, the last one last. Each begins with a file that goes on nothing. */
  #walks: Walk[] = [];

  /** Takes what a walk takes; the bytes are divided among them. */
  constructor(names: Names, isHere: (state: NodeState) => boolean, aheadBytesMax: number) {
    const eachBytesMax = Math.max(LIMITS.smallFileBytes, Math.floor(aheadBytesMax / WALKS_MAX));
    this.#isHere = isHere;
    this.#newWalk = () => new Walk(names, isHere, eachBytesMax);
  }

  get isWalking(): boolean {
    return this.#walks.some((walk) => walk.isWalking);
  }

  /** A small file is opened. Those wanted now, in order; mostly none. */
  opened(state: NodeState): NodeState[] {
    const expecting = this.#walks.find((walk) => walk.expects(state.node));
    if (expecting === undefined && this.#isHere(state)) return [];
    const walk = expecting ?? this.#nearest(state.node) ?? this.#begun();
    this.#walks = [...this.#walks.filter((other) => other !== walk), walk];
    return walk.opened(state);
  }

  /** The programs have stopped: nothing is wanted any more. */
  stopped(): void {
    this.#walks = [];
  }

  #nearest(node: number): Walk | undefined {
    let found: Walk | undefined;
    let least = Infinity;
    for (const walk of this.#walks.toReversed()) {
      const steps = walk.stepsTo(node) ?? Infinity;
      if (steps < least) [found, least] = [walk, steps];
    }
    return found;
  }

  #begun(): Walk {
    if (this.#walks.length >= WALKS_MAX) {
      const given = this.#walks.find((walk) => !walk.isWalking) ?? this.#walks[0];
      this.#walks = this.#walks.filter((walk) => walk !== given);
    }
    return this.#newWalk();
  }
}
