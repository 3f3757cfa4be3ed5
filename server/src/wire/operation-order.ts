// Operations of an attachment that are under way, and how they ended: for those that are to be executed after others
// (W29), or name what others made (W63).
import { type NumberSpan, RecentMap, RunnelError, isInSpan } from "@runnel/shared";
import type { Ticket } from "../commit-log/queue.ts";
import type { MetaStore, OperationResult } from "../meta/meta-store.ts";

/** Place of an operation among the others. */
export interface Turn {
  /**
   * Resolves when those before it are in the commit queue or executed, with the tickets that it is to be queued behind.
   * @throws the reason for which one of them failed meanwhile.
   */
  tickets: Promise<readonly Ticket[]>;
  /** Resolves when those before it have been executed, with what they came to. @throws as `tickets`. */
  before: Promise<Results>;
  /** Reports that it is in the commit queue. */
  queued(ticket: Ticket): void;
  /** Reports the result; to be called when it has been executed. */
  executed(result: OperationResult): void;
}

interface Running {
  queued: Promise<Ticket | undefined>;
  executed: Promise<OperationResult>;
}

/** Results of operations that others come after. */
export class Results {
  private readonly results: ReadonlyMap<number, OperationResult | undefined>;

  constructor(results: ReadonlyMap<number, OperationResult | undefined>) {
    this.results = results;
  }

  /** A node as a message says it: the number of one, or -n for that of the result of operation n. @throws Invalid. */
  node(said: number): number {
    return said < 0 ? this.of(-said).node : said;
  }

  /** A version's seq likewise. */
  version(said: number): number {
    return said < 0 ? this.of(-said).version : said;
  }

  private of(n: number): OperationResult {
    const result = this.results.get(n);
    if (result !== undefined) return result;
    throw new RunnelError("Invalid", "order", `The result of operation ${n} is no longer kept.`, {
      detail: { rule: "W63" },
    });
  }
}

/** Fields of a request that say where the operation's place is. */
export interface Numbered {
  n: number;
  received: number;
  but?: readonly NumberSpan[] | undefined;
  after?: readonly number[] | undefined;
}

/**
 * Failures remembered: whoever depends on one is told its reason. Older ones are as if they had never been asked for.
 */
const FAILED_MAX = 4096;

/** Failures of operations, which all attachments of a device share. */
export class FailedOperations extends RecentMap<string, RunnelError> {
  constructor() {
    super(FAILED_MAX);
  }
}

let lastOrder = 0;

export class OperationOrder {
  private readonly meta: Pick<MetaStore, "result">;
  private readonly instance: string;
  private readonly running = new Map<number, Running>();
  private readonly failed: FailedOperations;
  private readonly id = ++lastOrder;

  constructor(meta: Pick<MetaStore, "result">, instance: string, failed = new FailedOperations()) {
    this.meta = meta;
    this.instance = instance;
    this.failed = failed;
  }

  /** Tells whether operations are under way. */
  get isBusy(): boolean {
    return this.running.size > 0;
  }

  /**
   * Runs operation n, which fails if one of `after` does. To be called in the order of the requests. `work` says
   * `executed`, or throws.
   */
  async run<T>({ n, received, but = [], after = [] }: Numbered, work: (turn: Turn) => Promise<T>): Promise<T> {
    const executed = Promise.withResolvers<OperationResult>();
    const queued = Promise.withResolvers<Ticket | undefined>();
    const running = { queued: queued.promise, executed: executed.promise };
    const earlier = after.map((each) => {
      const found = each < n ? this.running.get(each) : undefined;
      return { n: each, ...(found ?? this.asEnded(each, n, received, but)) };
    });
    const tickets = Promise.all(earlier.map((each) => each.queued)).then((all) =>
      all.filter((ticket) => ticket !== undefined),
    );
    const before = Promise.all(earlier.map(async (each) => [each.n, await each.executed] as const)).then(
      (results) => new Results(new Map(results)),
    );
    for (const each of [queued.promise, executed.promise, tickets, before]) each.catch(() => undefined);
    this.running.set(n, running);
    this.failed.delete(this.keyOf(n));
    const done = (result: OperationResult): void => {
      queued.resolve(undefined);
      executed.resolve(result);
    };
    try {
      return await work({ tickets, before, queued: queued.resolve, executed: done });
    } catch (error) {
      if (error instanceof RunnelError) this.failed.set(this.keyOf(n), error);
      queued.reject(error);
      executed.reject(error);
      throw error;
    } finally {
      if (this.running.get(n) === running) this.running.delete(n);
    }
  }

  private keyOf(n: number): string {
    return `${this.id}:${n}`;
  }

  private asEnded(...of: Parameters<OperationOrder["ended"]>): {
    queued: Promise<undefined>;
    executed: Promise<OperationResult | undefined>;
  } {
    const executed = this.ended(...of);
    return { queued: executed.then(() => undefined), executed };
  }

  /**
   * Returns the result of an operation that is not under way; undefined when it succeeded and the client has said that
   * it knows the result.
   */
  private async ended(
    n: number,
    by: number,
    received: number,
    but: readonly NumberSpan[],
  ): Promise<OperationResult | undefined> {
    const failure = this.failed.get(this.keyOf(n));
    if (failure !== undefined) throw failure;
    const stored = n < by ? await this.meta.result(this.instance, n) : undefined;
    if (stored !== undefined) return stored.result;
    // The client has its result, so it was executed: whoever names it knows that. 0 says nothing.
    if (n < by && received > 0 && n <= received && !isInSpan(n, but)) return undefined;
    throw new RunnelError("Invalid", "order", `Operation ${n} was not executed before ${by}.`, {
      detail: { rule: "W29" },
    });
  }
}
