// The write lease of the volume, as this client has it: while it is held, nobody else is served, and programs here are
// answered before the server has what they changed. It is asked for when programs change something, and given back when
// the server asks for that, once all has been sent ([W180], [W181]).
import { type Channel, type Clock, ROOT_NODE } from "@runnel/shared";
import type { Keepalive } from "./keepalive.ts";
import type { SessionEvents } from "./session-deps.ts";

export interface WriteLeaseDeps {
  clock: Clock;
  /** @returns undefined while there is none. */
  feed(): Channel | undefined;
  /** The lease on what is followed is held: this one lasts no longer. */
  hasLease(): boolean;
  /** The server knows of write leases. */
  isOffered(): boolean;
  keepalive: Pick<Keepalive, "soon">;
  events: Partial<Pick<SessionEvents, "granted" | "recalled" | "leaseLost">>;
}

interface Question {
  number: number;
  answered: PromiseWithResolvers<boolean>;
}

export class WriteLease {
  readonly #deps: WriteLeaseDeps;
  #isGranted = false;
  #question: Question | undefined;
  #lastNumber = 0;
  /** Time before which it is not asked for, on the boot clock. */
  #againMs = 0;

  constructor(deps: WriteLeaseDeps) {
    this.#deps = deps;
  }

  get isHeld(): boolean {
    return this.#isGranted && this.#deps.hasLease();
  }

  /** Asks for it, unless it was refused a moment ago. @returns whether it is held. */
  async acquire(): Promise<boolean> {
    if (this.isHeld) return true;
    const { clock, feed, hasLease, isOffered, keepalive } = this.#deps;
    const channel = feed();
    if (channel === undefined || !isOffered() || !hasLease() || clock.bootMs() < this.#againMs) return false;
    if (this.#question === undefined) {
      this.#question = { number: ++this.#lastNumber, answered: Promise.withResolvers<boolean>() };
      channel.send(["acquire", this.#question.number, ROOT_NODE]);
    }
    await keepalive.soon(this.#question.answered.promise, "acquire").catch(() => false);
    return this.isHeld;
  }

  granted(number: number, isContinued: boolean): void {
    // A lease that was recalled before it came is none.
    if (this.#question?.number !== number) return;
    this.#isGranted = true;
    this.#deps.events.granted?.(isContinued);
    this.#answer(true);
  }

  refused(number: number, retryAfterMs: number): void {
    if (this.#question?.number !== number) return;
    this.#againMs = this.#deps.clock.bootMs() + retryAfterMs;
    this.#answer(false);
  }

  /** It is given back once all has been sent: until then nobody else is served. */
  recall(): void {
    const { clock, events, feed } = this.#deps;
    const channel = feed();
    this.#isGranted = false;
    this.#answer(false);
    this.#againMs = clock.bootMs() + AFTER_RECALL_MS;
    const giveBack = (): void => {
      if (feed() === channel) channel?.send(["yield", ROOT_NODE]);
    };
    (events.recalled?.() ?? Promise.resolve()).then(giveBack, () => undefined);
  }

  /** The connection is lost, or the lease was: whether it is had still is for the server to say. */
  lost(): void {
    this.#isGranted = false;
    this.#againMs = 0;
    this.#answer(false);
    this.#deps.events.leaseLost?.();
  }

  #answer(isHeld: boolean): void {
    this.#question?.answered.resolve(isHeld);
    this.#question = undefined;
  }
}

/** Whoever it was recalled for works here now. */
const AFTER_RECALL_MS = 1_000;
