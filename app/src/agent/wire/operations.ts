// Sends changes of names and attributes, in order, each under its number. One that was sent and not answered when the
// link broke is settled by its number after the link is back: the same number is sent again, and the server executes it
// at most once.
import type { Clock, RequestName } from "@runnel/shared";
import { LIMITS, RunnelError, isRunnelError } from "@runnel/shared";
import type { OwnName } from "../changes/own-change.ts";
import type { OwnChanges } from "../changes/own-changes.ts";
import type { Session } from "./session.ts";

/** Changes under way at once, of the channels that a connection may have; the next ones wait their turn, in order. */
const UNDER_WAY_MAX = LIMITS.channels / 2;
/** From so many on a program that makes files faster than they can be sent waits for its answers. */
const CROWDED = UNDER_WAY_MAX / 2;

export class Operations {
  readonly #session: Session;
  readonly #changes: OwnChanges;
  readonly #clock: Clock;
  /** Reports how the server answered a change: undefined = it was done. */
  readonly report: (error: unknown) => void;
  #underWay = 0;
  readonly #turns: (() => void)[] = [];

  constructor(deps: { session: Session; changes: OwnChanges; clock: Clock; answered(error: unknown): void }) {
    this.report = deps.answered;
    this.#session = deps.session;
    this.#changes = deps.changes;
    this.#clock = deps.clock;
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

  /** Makes a change that nothing is recorded of; `names`: those that it binds. @throws as `send`. */
  async change(name: RequestName, body: object, names: readonly OwnName[] = []): Promise<unknown> {
    this.mayChange(name);
    const change = this.#changes.begin(names);
    try {
      return await this.send(change.n, name, body);
    } finally {
      // The feed item came before the answer; the name is the kernel's own business until then.
      this.#changes.step(change, "settle");
    }
  }

  /**
   * Sends the change of that number until it is answered. @throws ReadOnly when offline before it was sent; Unreachable
   * when it was sent and could not be settled within the request timeout (shown as not confirmed); the server's
   * refusals.
   */
  async send(n: number, name: RequestName, body: object): Promise<unknown> {
    this.mayChange(name);
    try {
      const timeNs = this.#clock.wallNs();
      await this.#turn();
      const result = await this.#settle(name, { n, ...this.#changes.received, timeNs, ...body });
      this.report(undefined);
      return result;
    } catch (error) {
      this.report(error);
      throw error;
    } finally {
      this.#endTurn();
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
}
