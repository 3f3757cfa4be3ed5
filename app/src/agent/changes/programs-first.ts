// Programs first: while they ask for one thing after another, what nobody waits for is not sent, since that would take
// the processor from them; and many changes that are sent at once cost less than one by one.
import type { Clock, Timer } from "@runnel/shared";

/** Programs that ask for nothing for so long have made a pause. */
const PAUSE_MS = 15;
/** Longest time for which somebody waits for programs that make no pause; then it is not their turn for as long. */
const TURN_MS = 2_000;

export class ProgramsFirst {
  readonly #clock: Clock;
  readonly #over: () => void;
  /** Times on the boot clock: a program asked last; somebody was told to wait first; it is their turn again. */
  #askedMs = -Infinity;
  #sinceMs = 0;
  #nextMs = -Infinity;
  /** Set while somebody waits. */
  #timer: Timer | undefined;

  /** `over` is called after each turn of theirs during which somebody was told to wait. */
  constructor(clock: Clock, over: () => void) {
    this.#clock = clock;
    this.#over = over;
  }

  asked(): void {
    const nowMs = this.#clock.bootMs();
    if (this.#timer !== undefined && this.#isOver(nowMs)) this.#end(nowMs);
    this.#askedMs = nowMs;
  }

  /** Says whether the asker is to wait. */
  haveTheirTurn(): boolean {
    if (this.#timer !== undefined) return true;
    const nowMs = this.#clock.bootMs();
    if (nowMs < this.#nextMs || nowMs - this.#askedMs >= PAUSE_MS) return false;
    this.#sinceMs = nowMs;
    this.#watch();
    return true;
  }

  /** Nothing waits any more: it is their turn whenever they ask. */
  caughtUp(): void {
    this.#nextMs = -Infinity;
  }

  close(): void {
    this.#timer?.cancel();
  }

  #isOver(nowMs: number): boolean {
    return nowMs - this.#askedMs >= PAUSE_MS || nowMs - this.#sinceMs >= TURN_MS;
  }

  #watch(): void {
    this.#timer = this.#clock.after(PAUSE_MS, () => {
      const nowMs = this.#clock.bootMs();
      if (this.#isOver(nowMs)) this.#end(nowMs);
      else this.#watch();
    });
  }

  #end(nowMs: number): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#nextMs = nowMs + TURN_MS;
    this.#over();
  }
}
