// Changes of a former process that are not shown yet, since nobody here knows what is in their folders.
import { type Change, isRunnelError } from "@runnel/shared";
import type { JournalOperation } from "../journal/journal.ts";
import type { TreeChange } from "./own-change.ts";
import { foldersOf, xattrOf } from "./recorded-changes.ts";
import type { PendingTree } from "./pending-tree.ts";
import type { Session } from "../wire/session.ts";

export interface HiddenChangesDeps {
  pending: PendingTree;
  session: Session;
  /** Returns the server's id for a node. */
  real(node: number): number;
  /** Called for a change that programs are shown only now. */
  ended(change: Change): void;
  /** Resolves when what a folder holds is known here. @throws Unreachable, and what the server says of it. */
  list(folder: number): Promise<unknown>;
}

export class HiddenChanges {
  readonly #deps: HiddenChangesDeps;
  readonly #plan: (record: JournalOperation) => Change | "unknown" | undefined;
  readonly #hidden: TreeChange[] = [];
  #showing: Promise<void> | undefined;

  constructor(deps: HiddenChangesDeps, plan: (record: JournalOperation) => Change | "unknown" | undefined) {
    this.#deps = deps;
    this.#plan = plan;
  }

  get isEmpty(): boolean {
    return this.#hidden.length === 0;
  }

  add(own: TreeChange): void {
    this.#hidden.push(own);
  }

  /**
   * Shows them: asks what their folders hold first. Resolves as well when there is no line; what is left then is shown
   * by the next call.
   */
  show(): Promise<void> {
    this.#showing ??= this.#showAll().finally(() => (this.#showing = undefined));
    return this.#showing;
  }

  async #showAll(): Promise<void> {
    const { pending, ended, session } = this.#deps;
    for (let own = this.#hidden[0]; own !== undefined; own = this.#hidden[0]) {
      for (const folder of foldersOf(own.record.operation)) await this.#list(folder);
      if (!session.isConnected) return;
      this.#hidden.shift();
      const change = isUnanswered(own) ? this.#plan(own.record) : undefined;
      if (change === undefined || change === "unknown") continue;
      pending.add(own.n, change, xattrOf(own.record));
      ended(change);
    }
  }

  /** Lists a folder; one that cannot be is no folder any more, or there is no line. */
  async #list(folder: number): Promise<void> {
    try {
      await this.#deps.list(this.#deps.real(folder));
    } catch (error) {
      if (!isRunnelError(error)) throw error;
    }
  }
}

function isUnanswered({ state }: TreeChange): boolean {
  return state === "recorded" || state === "sent" || state === "unsent";
}
