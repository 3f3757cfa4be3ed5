// Sends changes of names and attributes, in order, each under its number. One that was sent and not answered when the
// link broke is settled by its number after the link is back: the same number is sent again, and the server executes it
// at most once.
import type { Clock, NewAttributes, RequestName, ResultOf } from "@runnel/shared";
import { LIMITS, RunnelError, checkResult, isRunnelError, packType } from "@runnel/shared";
import type { TreeOperation } from "@runnel/shared/tree";
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
    return this.#session.nodes.newNode();
  }

  /** Sync mode without a link is read-only, and so is what the server lets this device only read. @throws ReadOnly. */
  mayChange(operation: string): void {
    if (this.#session.mayOnlyRead) throw new RunnelError("ReadOnly", operation, "This device may only read here.");
    if (!this.#session.isResponsive)
      throw new RunnelError(
        "ReadOnly",
        operation,
        this.#session.isSuspended ? this.#session.why : "Offline: changes are not possible until the server is back.",
      );
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
   * Makes one attempt at a change that is in the journal, after others. @throws Unreachable when the line broke, and
   * the server's refusals.
   */
  async sendRecorded(
    n: number,
    { op, ...body }: TreeOperation,
    timeNs: bigint,
    after: readonly number[],
  ): Promise<ResultOf<"make">> {
    const request = { n, ...this.#changes.received, timeNs, ...packed(body), ...(after.length === 0 ? {} : { after }) };
    const answer = await this.#session.inBackground(op, request);
    return checkResult(op, answer);
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

/** Returns the fields of an operation as a request says them. */
function packed(fields: object): object {
  const { attributes } = fields as { attributes?: NewAttributes };
  return attributes === undefined
    ? fields
    : { ...fields, attributes: { ...attributes, type: packType(attributes.type) } };
}
