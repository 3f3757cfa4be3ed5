// Watchers of a machine: an engine looks only while there are any.
import type { MachineChange } from "./machine-changes.ts";

type Tell = (change: MachineChange) => void;

export class Watchers {
  readonly #begin: () => void;
  readonly #end: () => void;
  readonly #tells = new Set<Tell>();

  /** `begin` is called with the first watcher, `end` without any. */
  constructor(begin: () => void = () => undefined, end: () => void = () => undefined) {
    this.#begin = begin;
    this.#end = end;
  }

  add(tell: Tell): Disposable {
    const own: Tell = (change) => tell(change);
    this.#tells.add(own);
    if (this.#tells.size === 1) this.#begin();
    return {
      [Symbol.dispose]: () => {
        if (this.#tells.delete(own) && this.#tells.size === 0) this.#end();
      },
    };
  }

  tell(change: MachineChange): void {
    for (const tell of this.#tells) tell(change);
  }
}
