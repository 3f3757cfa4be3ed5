// The write leases of this client, each on a folder with all below it: while one is held, nobody else is served there,
// and programs here are answered before the server has what they changed. One is asked for when programs change
// something, on the folder that they change it in; the server says how far up from there it reaches. It is given back
// when the server asks for that, once what touches the folder has been sent ([W180], [W181]).
import type { Channel, Clock } from "@runnel/shared";
import type { Keepalive } from "../wire/keepalive.ts";
import type { SessionEvents } from "../wire/session-deps.ts";

export interface WriteLeasesDeps {
  clock: Clock;
  /** @returns undefined while there is none. */
  feed(): Channel | undefined;
  /** The lease on what is followed is held: these last no longer. */
  hasLease(): boolean;
  /** The server knows of write leases. */
  isOffered(): boolean;
  keepalive: Pick<Keepalive, "soon">;
  events: Partial<Pick<SessionEvents, "granted" | "recalled" | "leaseLost">>;
}

interface Question {
  number: number;
  folder: number;
  answered: PromiseWithResolvers<void>;
}

const NONE: ReadonlySet<number> = new Set();
/** Whoever one was recalled for works here now. */
const AFTER_RECALL_MS = 1_000;
/** Folders for which a refusal is remembered. */
const REFUSED_MAX = 1_000;

export class WriteLeases {
  readonly #deps: WriteLeasesDeps;
  readonly #held = new Set<number>();
  #question: Question | undefined;
  #lastNumber = 0;
  /** Time before which none is asked for, on the boot clock: any, and by folder. */
  #againMs = 0;
  readonly #folderAgainMs = new Map<number, number>();

  constructor(deps: WriteLeasesDeps) {
    this.#deps = deps;
  }

  /** Folders on which one is held. */
  get held(): ReadonlySet<number> {
    return this.#deps.hasLease() ? this.#held : NONE;
  }

  /**
   * Asks for one that reaches down to a folder, unless it was refused a moment ago. One question is asked at a time:
   * `isCovered` says whether the answer to the one before will do. Resolves when it is answered, or is not to be soon.
   */
  async acquire(folder: number, isCovered: () => boolean): Promise<void> {
    for (let other = this.#question; other !== undefined && other.folder !== folder; other = this.#question) {
      if (!(await this.#isAnswered(other))) return;
    }
    if (isCovered()) return;
    const { clock, feed, hasLease, isOffered } = this.#deps;
    const channel = feed();
    const againMs = Math.max(this.#againMs, this.#folderAgainMs.get(folder) ?? 0);
    if (channel === undefined || !isOffered() || !hasLease() || clock.bootMs() < againMs) return;
    if (this.#question === undefined) {
      this.#question = { number: ++this.#lastNumber, folder, answered: Promise.withResolvers<void>() };
      channel.send(["acquire", this.#question.number, folder]);
    }
    await this.#isAnswered(this.#question);
  }

  granted(number: number, isContinued: boolean, folder: number): void {
    if (this.#question?.number !== number) return;
    this.#held.add(folder);
    this.#deps.events.granted?.(folder, isContinued);
    this.#answer();
  }

  refused(number: number, retryAfterMs: number): void {
    if (this.#question?.number !== number) return;
    if (this.#folderAgainMs.size >= REFUSED_MAX) this.#folderAgainMs.clear();
    this.#folderAgainMs.set(this.#question.folder, this.#deps.clock.bootMs() + retryAfterMs);
    this.#answer();
  }

  /**
   * The one on a folder is given back once all that touches it has been sent: until then nobody else is served there.
   */
  recall(folder: number): void {
    const { clock, events, feed } = this.#deps;
    const channel = feed();
    this.#held.delete(folder);
    this.#againMs = clock.bootMs() + AFTER_RECALL_MS;
    const giveBack = (): void => {
      if (feed() === channel) channel?.send(["yield", folder]);
    };
    (events.recalled?.(folder) ?? Promise.resolve()).then(giveBack, () => undefined);
  }

  /** The connection is lost, or the lease was: whether they are had still is for the server to say. */
  lost(): void {
    this.#held.clear();
    this.#againMs = 0;
    this.#folderAgainMs.clear();
    this.#answer();
    this.#deps.events.leaseLost?.();
  }

  async #isAnswered({ answered }: Question): Promise<boolean> {
    return this.#deps.keepalive.soon(answered.promise, "acquire").then(
      () => true,
      () => false,
    );
  }

  #answer(): void {
    this.#question?.answered.resolve();
    this.#question = undefined;
  }
}
