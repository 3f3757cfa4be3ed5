// A machine in memory, whose changes are said by whoever has it: the reference, and the double in tests.
import type { MachineChange, MachineChanges } from "./machine-changes.ts";
import { Watchers } from "./watchers.ts";

export class MemoryMachine implements MachineChanges {
  readonly #watchers = new Watchers();

  watch(tell: (change: MachineChange) => void): Disposable {
    return this.#watchers.add(tell);
  }

  change(what: MachineChange): void {
    this.#watchers.tell(what);
  }
}
