// Finds out by looking every few seconds that the machine slept (its boot clock went on, and its timers did not) or
// that its addresses are others. The same on every system: what each tells of itself goes over services that may be
// missing.
import type { Clock, Timer } from "@runnel/shared";
import type { MachineChange, MachineChanges } from "./machine-changes.ts";
import { Watchers } from "./watchers.ts";

/** Interval of looks: one costs some 50 µs. */
const LOOK_MS = 3_000;
/** A timer that is later than this was held up by more than a busy processor. */
const LATE_MS = 10_000;

export class PolledMachine implements MachineChanges {
  readonly #clock: Clock;
  readonly #addresses: () => string;
  readonly #watchers = new Watchers(
    () => this.#begin(),
    () => this.#timer?.cancel(),
  );
  #timer: Timer | undefined;
  #lookedMs = 0;
  #seen = "";

  /** `addresses`: text of the addresses by which this machine can be reached and reaches others. */
  constructor(clock: Clock, addresses: () => string) {
    this.#clock = clock;
    this.#addresses = addresses;
  }

  watch(tell: (change: MachineChange) => void): Disposable {
    return this.#watchers.add(tell);
  }

  #begin(): void {
    this.#seen = this.#addresses();
    this.#await();
  }

  #await(): void {
    this.#lookedMs = this.#clock.bootMs();
    this.#timer = this.#clock.after(LOOK_MS, () => this.#look());
  }

  #look(): void {
    const isLate = this.#clock.bootMs() - this.#lookedMs - LOOK_MS >= LATE_MS;
    const addresses = this.#addresses();
    const isOther = addresses !== this.#seen;
    this.#seen = addresses;
    // Begun before it tells: a watch may be ended by it.
    this.#await();
    if (isLate) this.#watchers.tell("woke");
    if (isOther) this.#watchers.tell("network");
  }
}
