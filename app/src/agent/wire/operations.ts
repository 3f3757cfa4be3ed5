// Operations of this instance, (instance, n): numbered, sent in order, answered once. A change that was sent and not answered when the link
// broke is settled by its number after the link is back: the same number is sent again, and the server executes it at most once.
import type { Clock, RequestName } from "@runnel/shared";
import { LIMITS, RunnelError, isRunnelError } from "@runnel/shared";
import type { Journal } from "../journal/journal.ts";
import type { Received } from "./received.ts";
import { lowest, receivedOf } from "./received.ts";
import type { Session } from "./session.ts";

/** Changes under way at once, of the channels that a connection may have; the next ones wait their turn, in order. */
const UNDER_WAY_MAX = LIMITS.channels / 2;
/** From so many on a program that makes files faster than they can be sent waits for its answers. */
const CROWDED = UNDER_WAY_MAX / 2;

/** A make that is not answered yet. */
export interface Making {
  n: number;
  /** Resolves when it has been, whatever the answer, and the tree knows what became of the node. */
  settled: Promise<void>;
}

/** A folder's name, and the node that an operation binds it to, 0: none. */
export type OwnName = readonly [folder: number, name: string, node: number];

export class Operations {
  readonly #session: Session;
  readonly #journal: Journal;
  readonly #clock: Clock;
  /** Reports how the server answered a change: undefined = it was done. */
  readonly report: (error: unknown) => void;
  /** Numbers sent and not answered. */
  readonly #outstanding = new Set<number>();
  /** Numbers whose results may still be asked for: of changes that are to be sent again, or would be after a power cut. */
  unsettled: () => Iterable<number> = () => [];
  #highest = 0;
  #underWay = 0;
  readonly #turns: (() => void)[] = [];
  #idleWaiters: { upTo: number; resolve(): void }[] = [];
  /** Names that an operation of this client is changing, and the nodes that they get: feed items that say the same bring the kernel nothing new. */
  readonly #ownNames = new Map<string, number>();

  constructor(deps: { session: Session; journal: Journal; clock: Clock; answered(error: unknown): void }) {
    this.report = deps.answered;
    this.#session = deps.session;
    this.#journal = deps.journal;
    this.#clock = deps.clock;
  }

  /** Answers that the server need not keep for a repetition. */
  get received(): Received {
    return receivedOf(this.#highest, new Set([...this.#outstanding, ...this.unsettled()]));
  }

  /** Resolves when all that was begun until now has been answered. */
  async idle(): Promise<void> {
    if (this.#outstanding.size === 0) return;
    await new Promise<void>((resolve) => this.#idleWaiters.push({ upTo: this.#highest, resolve }));
  }

  /** Tells apart another client's change of such a name in the same moment. */
  isOwnName(...name: OwnName): boolean {
    return this.#ownNames.has(name.join("/"));
  }

  newNode(): Promise<number> {
    return this.#session.newNode();
  }

  /** Sync mode without a link is read-only, and so is what the server lets this device only read. @throws ReadOnly. */
  mayChange(operation: string): void {
    if (this.#session.mayOnlyRead) throw new RunnelError("ReadOnly", operation, "This device may only read here.");
    if (!this.#session.isResponsive)
      throw new RunnelError("ReadOnly", operation, "Offline: changes are not possible until the server is back.");
  }

  get isCrowded(): boolean {
    return this.#underWay >= CROWDED;
  }

  isOutstanding(n: number): boolean {
    return this.#outstanding.has(n);
  }

  /** The number for an operation, held as outstanding until `answered`. */
  begin(): number {
    const n = this.#journal.nextNumber();
    this.#outstanding.add(n);
    this.#highest = Math.max(this.#highest, n);
    return n;
  }

  answered(n: number): void {
    this.#outstanding.delete(n);
    if (this.#idleWaiters.length === 0) return;
    const first = lowest(this.#outstanding);
    for (const waiter of this.#idleWaiters) if (waiter.upTo < first) waiter.resolve();
    this.#idleWaiters = this.#idleWaiters.filter((waiter) => waiter.upTo >= first);
  }

  /**
   * A change of names or attributes; `begun`: the number that `begin` gave for it. @throws ReadOnly when offline before it was sent; Unreachable when it was sent and could not be settled within the
   * request timeout (shown as not confirmed); the server's refusals.
   */
  async change(name: RequestName, body: object, names: readonly OwnName[], begun?: number): Promise<unknown> {
    this.mayChange(name);
    const n = begun ?? this.begin();
    for (const own of names) this.#own(own.join("/"), 1);
    try {
      const timeNs = this.#clock.wallNs();
      await this.#turn();
      const result = await this.#settle(name, { n, ...this.received, timeNs, ...body });
      this.report(undefined);
      return result;
    } catch (error) {
      this.report(error);
      throw error;
    } finally {
      this.#endTurn();
      this.answered(n);
      // The feed item came before the answer; the name is the kernel's own business until then.
      for (const own of names) this.#own(own.join("/"), -1);
    }
  }

  async #turn(): Promise<void> {
    if (this.#underWay++ < UNDER_WAY_MAX) return;
    await new Promise<void>((resolve) => this.#turns.push(resolve));
  }

  #endTurn(): void {
    this.#underWay--;
    this.#turns.shift()?.();
  }

  async #settle(name: RequestName, request: object): Promise<unknown> {
    const beganMs = this.#session.nowMs;
    for (;;) {
      try {
        return await this.#session.withRequestTimeout(this.#session.call(name, request), name);
      } catch (error) {
        if (!isRunnelError(error, "Unreachable")) throw error;
        const leftMs = this.#session.leftMs(beganMs);
        if (leftMs <= 0) throw error;
        await this.#session.responsive(leftMs);
      }
    }
  }

  #own(key: string, by: number): void {
    const count = (this.#ownNames.get(key) ?? 0) + by;
    if (count === 0) this.#ownNames.delete(key);
    else this.#ownNames.set(key, count);
  }
}
