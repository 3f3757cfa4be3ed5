// Counts what others can make happen as often as they like [F185]: the first time is recorded at once, repetitions
// within a minute are counted and recorded as one entry at its end.
import type { Clock, Timer } from "@runnel/shared";
import { networkOf } from "@runnel/shared";
import type { NewEntry } from "./audit-entry.ts";
import { DEVICE_KINDS_MAX, REPEATED_MS, UNAUTHENTICATED_KINDS_MAX } from "./audit-limits.ts";

interface Repeated {
  entry: NewEntry;
  /** Times that are not recorded yet. */
  count: number;
}

const MANY = "From other addresses, or to other objects, too many to list.";

export class RepeatedEntries {
  readonly #clock: Clock;
  readonly #write: (entry: NewEntry) => void;
  readonly #repeated = new Map<string, Repeated>();
  /** Entries that are told apart, by who acts. */
  readonly #kinds = new Map<string, number>();
  #timer: Timer | undefined;

  constructor(clock: Clock, write: (entry: NewEntry) => void) {
    this.#clock = clock;
    this.#write = write;
  }

  note(entry: NewEntry): void {
    const { who, act, result, object = "" } = entry;
    const subject = `${who.kind} ${who.id}`;
    const key = JSON.stringify([subject, who.name, networkOf(who.address), act, object, result]);
    const before = this.#repeated.get(key);
    if (before !== undefined) {
      before.count++;
      return;
    }
    this.#timer ??= this.#clock.after(REPEATED_MS, () => this.flush());
    const kinds = (this.#kinds.get(subject) ?? 0) + 1;
    this.#kinds.set(subject, kinds);
    if (kinds > (who.kind === "unauthenticated" ? UNAUTHENTICATED_KINDS_MAX : DEVICE_KINDS_MAX)) {
      this.#noteAmongMany(entry);
      return;
    }
    this.#repeated.set(key, { entry, count: 0 });
    this.#write(entry);
  }

  /** Records what was counted; then everything is new again. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const repeated = [...this.#repeated.values()];
    this.#repeated.clear();
    this.#kinds.clear();
    for (const { entry, count } of repeated) if (count > 0) this.#write({ ...entry, count });
  }

  #noteAmongMany({ who, act, result }: NewEntry): void {
    const key = JSON.stringify([who.kind, who.id, act, result]);
    const many = this.#repeated.get(key) ?? {
      entry: { who: { ...who, address: "" }, act, result, detail: MANY },
      count: 0,
    };
    many.count++;
    this.#repeated.set(key, many);
  }
}
