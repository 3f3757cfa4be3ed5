// Page sessions: whom a token lets in. In the engine here each is a browser's tab that came with a ticket, and ends
// when no page of it was open for a while.
import { RunnelError } from "../errors.ts";
import type { Clock, Timer } from "../host/clock.ts";
import type { EnteredPage } from "./page-calls.ts";
import { PAGE_LIMITS } from "./page-limits.ts";
import { TokenTable } from "./tokens.ts";

/** `Start` is what a session is started with, `Who` whom its pages are answered as. */
export interface SessionTable<Who, Start = Who> {
  /** Pages that are open. */
  readonly pages: number;
  /** Starts one and returns its token. @throws RunnelError Busy when there are too many, all with open pages. */
  start(start: Start): string;
  /**
   * Opens a page; `end` closes it, with a sentence for a person, if its session ends before. @returns undefined when
   * the token is no page session's.
   */
  enter(token: string, end: (sentence: string) => void): EnteredPage<Who> | undefined;
  endAll(): void;
}

interface PageSession<Who> {
  who: Who;
  pages: number;
  /** Runs while no page is open. */
  timer: Timer | undefined;
}

export class PageSessions<Who> implements SessionTable<Who> {
  readonly #clock: Clock;
  /** Called when the number of open pages has changed. */
  readonly #changed: () => void;
  /** Sessions without a page; those that were without a page for the longest stand first. */
  readonly #waiting = new Set<PageSession<Who>>();
  readonly #table = new TokenTable<PageSession<Who>>();

  constructor(clock: Clock, changed: () => void) {
    this.#clock = clock;
    this.#changed = changed;
  }

  get pages(): number {
    return this.#table.values.reduce((sum, { pages }) => sum + pages, 0);
  }

  start(who: Who): string {
    if (this.#table.values.length >= PAGE_LIMITS.sessions) {
      const [longest] = this.#waiting;
      if (longest === undefined)
        throw new RunnelError("Busy", "open a page", "Too many pages of Runnel are open. Close one, then try again.");
      this.#end(longest);
    }
    const session: PageSession<Who> = { who, pages: 0, timer: undefined };
    this.#wait(session);
    return this.#table.add(session);
  }

  /** The page of a session that ends is closed by the door: then all do. */
  enter(token: string): EnteredPage<Who> | undefined {
    const session = this.#table.find(token);
    if (session === undefined) return undefined;
    session.timer?.cancel();
    this.#waiting.delete(session);
    session.pages += 1;
    this.#changed();
    const leave = (): void => {
      session.pages -= 1;
      if (session.pages === 0 && this.#table.values.includes(session)) this.#wait(session);
      this.#changed();
    };
    return { who: session.who, leave };
  }

  endAll(): void {
    for (const session of this.#table.values) this.#end(session);
  }

  #wait(session: PageSession<Who>): void {
    this.#waiting.add(session);
    session.timer = this.#clock.after(PAGE_LIMITS.idleMs, () => this.#end(session));
  }

  #end(session: PageSession<Who>): void {
    session.timer?.cancel();
    this.#waiting.delete(session);
    this.#table.delete(session);
  }
}
