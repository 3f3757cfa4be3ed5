// Which operations of an attachment are under way, and how they ended: for those that are to be executed after others (W29).
import { RunnelError } from "@runnel/shared";
import type { MetaStore } from "../meta/meta-store.ts";

/** One operation's place among the others. */
export interface Turn {
  /** Resolves when it may be executed. @throws the reason for which one before it failed. */
  before: Promise<unknown>;
  /** To be called when it has been. */
  executed(): void;
}

/** What is said of an operation's place. */
export interface Numbered {
  n: number;
  received: number;
  but?: readonly number[] | undefined;
  after?: readonly number[] | undefined;
}

/** Failures remembered: whoever depends on one is told its reason. Older ones are as if they had never been asked for. */
const FAILED_MAX = 4096;

export class OperationOrder {
  private readonly meta: Pick<MetaStore, "result">;
  private readonly instance: string;
  private readonly running = new Map<number, Promise<void>>();
  private readonly failed = new Map<number, RunnelError>();

  constructor(meta: Pick<MetaStore, "result">, instance: string) {
    this.meta = meta;
    this.instance = instance;
  }

  /** Runs operation n, which fails if one of `after` does. To be called in the order of the requests. */
  async run<T>({ n, received, but = [], after = [] }: Numbered, work: (turn: Turn) => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    promise.catch(() => undefined);
    const before = Promise.all(
      after.map((each) => (each < n ? this.running.get(each) : undefined) ?? this.ended(each, n, received, but)),
    );
    before.catch(() => undefined);
    this.running.set(n, promise);
    this.failed.delete(n);
    try {
      const result = await work({ before, executed: resolve });
      // One that was executed before, too, and said nothing.
      resolve();
      return result;
    } catch (error) {
      if (error instanceof RunnelError) this.keep(n, error);
      reject(error);
      throw error;
    } finally {
      if (this.running.get(n) === promise) this.running.delete(n);
    }
  }

  /** How one ended that is not under way. */
  private async ended(n: number, by: number, received: number, but: readonly number[]): Promise<void> {
    const failure = this.failed.get(n);
    if (failure !== undefined) throw failure;
    // Its result has arrived: whoever names it knows that it was executed. 0 says nothing.
    if (n < by && received > 0 && n <= received && !but.includes(n)) return;
    if (n < by && (await this.meta.result(this.instance, n)) !== undefined) return;
    throw new RunnelError("Invalid", "order", `Operation ${n} was not executed before ${by}.`, {
      detail: { rule: "W29" },
    });
  }

  private keep(n: number, error: RunnelError): void {
    this.failed.set(n, error);
    const [oldest] = this.failed.keys();
    if (this.failed.size > FAILED_MAX && oldest !== undefined) this.failed.delete(oldest);
  }
}
