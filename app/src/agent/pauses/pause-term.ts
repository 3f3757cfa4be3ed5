// The time of a pause: when it is over, and when a person is to be reminded of one that has no end.
import type { Clock, Timer } from "@runnel/shared";
import type { Pause } from "../mount-status.ts";
import { untilWords } from "./pause-words.ts";

export interface PauseTermDeps {
  clock: Clock;
  /** Called at its end, once. */
  over(): void;
  /** It goes on; `words`: its end. Called at the first look, and from time to time. */
  goesOn?(words: string): void;
  /** A person is to be reminded. */
  remind(words: string): void;
}

/** The wall clock may be set, and a machine may sleep: an end is looked for so often at the least. */
const LOOK_EVERY_MS = 30_000;
/** Interval at which a person is reminded of a pause without an end. */
export const REMIND_EVERY_MS = 24 * 3_600_000;

export class PauseTerm {
  readonly #pause: Pause;
  readonly #deps: PauseTermDeps;
  #reminders: number;
  #timer: Timer | undefined;

  /** Leaves out the reminders of the time that has passed already. */
  constructor(pause: Pause, deps: PauseTermDeps) {
    this.#pause = pause;
    this.#deps = deps;
    this.#reminders = this.#remindersDue();
  }

  /** `until`: its end in words. `reminders`: how often a person was to be reminded. */
  status(): Pause & { until: string; reminders: number } {
    const { sinceMs, untilMs } = this.#pause;
    return { sinceMs, untilMs, until: this.words, reminders: this.#reminders };
  }

  get words(): string {
    return untilWords(this.#pause, this.#nowMs);
  }

  /** Looks now, and from now on. */
  follow(): void {
    const { clock, over, goesOn, remind } = this.#deps;
    const { untilMs, sinceMs } = this.#pause;
    this.#timer?.cancel();
    const nowMs = this.#nowMs;
    if (untilMs !== null && untilMs <= nowMs) return over();
    const due = this.#remindersDue();
    if (due > this.#reminders) {
      this.#reminders = due;
      remind(`${this.words}, since ${new Date(sinceMs).toLocaleDateString("en-GB")}`);
    }
    const leftMs = Math.min(LOOK_EVERY_MS, untilMs === null ? Infinity : untilMs - nowMs);
    this.#timer = clock.after(leftMs, () => this.follow());
    goesOn?.(this.words);
  }

  close(): void {
    this.#timer?.cancel();
  }

  get #nowMs(): number {
    return Number(this.#deps.clock.wallNs() / 1_000_000n);
  }

  #remindersDue(): number {
    const { sinceMs, untilMs } = this.#pause;
    return untilMs === null ? Math.max(0, Math.floor((this.#nowMs - sinceMs) / REMIND_EVERY_MS)) : 0;
  }
}
