// Says of which changes on their way it is certain that nobody else has changed the same since they were made. It is
// judged for all folders at once, which is the safe side: certain is a change that was made under a write lease which
// is held still, or is being given back, once nothing uncertain was made after it.
import { type Change, ROOT_NODE } from "@runnel/shared";

export interface CertaintyDeps {
  /** The highest number that was given to a change. */
  highest(): number;
  /** The lease on what is followed is held. */
  hasLease(): boolean;
  /** Some write lease is held. */
  hasWriteLease(): boolean;
  /** A change that the server tells was made here. */
  isOwn(change: Change): boolean;
}

export class Certainty {
  readonly #deps: CertaintyDeps;
  /** The highest number that was given when somebody else may have changed something: what is older is uncertain. */
  #uncertainTo = 0;
  /** No write lease was had yet, or none since they may have been lost: all that is to be sent is uncertain. */
  #isUnsure = true;
  /** Somebody else has changed something since then, or may have. */
  #hasHeardOthers = false;
  /** Contents that are being recorded and that no write lease covers. */
  #uncovered = 0;

  constructor(deps: CertaintyDeps) {
    this.#deps = deps;
  }

  get isUnsure(): boolean {
    return this.#isUnsure;
  }

  /** Says whether nobody else can have changed anything since the change of that number was made. */
  isCertain(n: number): boolean {
    return !this.isUncertain(n) && this.#uncovered === 0 && this.#deps.hasLease();
  }

  /** Says whether it takes the root, or its end, to make a change certain. */
  isUncertain(n: number): boolean {
    return this.#isUnsure || n <= this.#uncertainTo;
  }

  /** Changes up to that number were made without a lease that is known of. */
  madeWithout(n: number): void {
    this.#uncertainTo = Math.max(this.#uncertainTo, n);
  }

  /**
   * A program is answered though no write lease covers what it changes: there is no line, or it is paused.
   * @returns false where the number of the change is to be told, since leases are held beside it.
   */
  uncovered(): boolean {
    if (this.#deps.hasWriteLease()) return false;
    this.lost();
    return true;
  }

  /** The same for a content that is numbered before the disposal, and sent at once. `expected` is disposed with it. */
  recording(expected: Disposable): Disposable {
    this.#uncovered++;
    return {
      [Symbol.dispose]: () => {
        this.#uncovered--;
        this.madeWithout(this.#deps.highest());
        expected[Symbol.dispose]();
      },
    };
  }

  /**
   * A write lease was granted. Whoever has heard of no change of others meanwhile knows that there was none: with the
   * root, all that waits is certain then. With less, what is older stays uncertain.
   */
  granted(folder: number, isContinued: boolean): void {
    const isSure = folder === ROOT_NODE ? isContinued || (this.#isUnsure && !this.#hasHeardOthers) : !this.#isUnsure;
    if (!isSure) this.#uncertainTo = this.#deps.highest();
    this.#isUnsure = false;
  }

  /** The write leases are lost, or may be: others can change something before they are had again. */
  lost(): void {
    if (!this.#isUnsure) this.#hasHeardOthers = false;
    this.#isUnsure = true;
  }

  /** Others may change something that is to be sent still. */
  mayBeChanged(): void {
    if (this.#deps.hasWriteLease()) this.madeWithout(this.#deps.highest());
    else this.lost();
  }

  /** The server tells of changes; undefined: of all that there is. Called before they are applied. */
  told(changes: readonly Change[] | undefined): void {
    // They ran out while one was being given back: others are served meanwhile.
    if (!this.#deps.hasLease()) this.lost();
    if (!this.#isUnsure || this.#hasHeardOthers) return;
    this.#hasHeardOthers = changes === undefined || !changes.every((change) => this.#deps.isOwn(change));
  }
}
