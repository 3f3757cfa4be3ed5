// Page sessions: each is a browser's tab that came with a ticket. One ends when no page of it was open for a while.
import { type Clock, RunnelError, type Timer } from "@runnel/shared";
import { PAGE_LIMITS } from "./page-limits.ts";
import { TokenTable } from "./tokens.ts";

interface PageSession {
  pages: number;
  /** Runs while no page is open. */
  timer: Timer | undefined;
}

export class PageSessions {
  readonly #clock: Clock;
  /** Called when the number of open pages has changed. */
  readonly #changed: () => void;
  /** Sessions without a page; those that were without a page for the longest stand first. */
  readonly #waiting = new Set<PageSession>();
  readonly #table = new TokenTable<PageSession>();

  constructor(clock: Clock, changed: () => void) {
    this.#clock = clock;
    this.#changed = changed;
  }

  /** Pages that are open. */
  get pages(): number {
    return this.#table.values.reduce((sum, { pages }) => sum + pages, 0);
  }

  /** Starts one and returns its token. @throws RunnelError Busy when there are too many, all with open pages. */
  start(): string {
    if (this.#table.values.length >= PAGE_LIMITS.sessions) {
      const [longest] = this.#waiting;
      if (longest === undefined)
        throw new RunnelError("Busy", "open a page", "Too many pages of Runnel are open. Close one, then try again.");
      this.#end(longest);
    }
    const session: PageSession = { pages: 0, timer: undefined };
    this.#wait(session);
    return this.#table.add(session);
  }

  /**
   * Opens a page. @returns undefined when the token is no page session's, else a function to be called once when the
   * page is gone.
   */
  enter(token: string): (() => void) | undefined {
    const session = this.#table.find(token);
    if (session === undefined) return undefined;
    session.timer?.cancel();
    this.#waiting.delete(session);
    session.pages += 1;
    this.#changed();
    return () => {
      session.pages -= 1;
      if (session.pages === 0 && this.#table.values.includes(session)) this.#wait(session);
      this.#changed();
    };
  }

  endAll(): void {
    for (const session of this.#table.values) this.#end(session);
  }

  #wait(session: PageSession): void {
    this.#waiting.add(session);
    session.timer = this.#clock.after(PAGE_LIMITS.idleMs, () => this.#end(session));
  }

  #end(session: PageSession): void {
    session.timer?.cancel();
    this.#waiting.delete(session);
    this.#table.delete(session);
  }
}
