// Sessions of the console: each is a browser in which somebody has signed in, or that the administrator opened over the
// server's socket. One ends when nobody used it for half an hour, after twelve hours, or when it is ended.
import { type Clock, type Timer, wallMs } from "@runnel/shared";
import { type EnteredPage, type SessionTable, TokenTable } from "@runnel/shared/page";
import { CONSOLE_LIMITS } from "./console-limits.ts";

export interface SessionStart {
  /** Name of the person; of the administrator's user where it was opened over the socket. */
  name: string;
  /** It was opened over the administrator's socket, so nobody has signed in. */
  isLocal: boolean;
  address: string;
  /** Name that the browser calls itself. */
  browser: string;
}

export interface ConsoleSession extends SessionStart {
  /** Tells it from others, and lets nobody in. */
  id: string;
  /** Times of the wall clock. */
  startedMs: number;
  lastMs: number;
}

interface Row {
  session: ConsoleSession;
  /** Times of the boot clock. */
  beganMs: number;
  usedMs: number;
  timer: Timer | undefined;
  /** Close the pages that are open. */
  pages: Set<(sentence: string) => void>;
}

export class ConsoleSessions {
  readonly #clock: Clock;
  readonly #table = new TokenTable<Row>();
  readonly #changed = new Set<() => void>();
  #lastId = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Starts one and returns its token. */
  start(start: SessionStart): string {
    const sameName = this.#rows.filter(({ session }) => isOf(session, start.name, start.isLocal));
    if (sameName.length >= CONSOLE_LIMITS.sessionsOfPerson) this.#endOldest(sameName);
    if (this.#rows.length >= CONSOLE_LIMITS.sessions) this.#endOldest(this.#rows);
    const nowMs = wallMs(this.#clock);
    const bootMs = this.#clock.bootMs();
    const session = { ...start, id: String(++this.#lastId), startedMs: nowMs, lastMs: nowMs };
    const row: Row = { session, beganMs: bootMs, usedMs: bootMs, timer: undefined, pages: new Set() };
    this.#watch(row);
    return this.#table.add(row);
  }

  /** Returns undefined when the token is no session's. */
  find(token: string): ConsoleSession | undefined {
    return this.#table.find(token)?.session;
  }

  /** Opens a page. @returns undefined when the token is no session's; Busy when too many are open. */
  enter(token: string, end: (sentence: string) => void): EnteredPage<ConsoleSession> | "Busy" | undefined {
    const row = this.#table.find(token);
    if (row === undefined) return undefined;
    if (row.pages.size >= CONSOLE_LIMITS.pagesOfSession || this.pages >= CONSOLE_LIMITS.pages) return "Busy";
    row.pages.add(end);
    this.#tell();
    const leave = (): void => {
      row.pages.delete(end);
      this.#tell();
    };
    return { who: row.session, leave };
  }

  /** A person used a page of it. */
  use(session: ConsoleSession): void {
    const row = this.#rowOf(session);
    if (row === undefined) return;
    row.usedMs = this.#clock.bootMs();
    session.lastMs = wallMs(this.#clock);
    this.#watch(row);
  }

  /** Pages that are open. */
  get pages(): number {
    return this.#rows.reduce((sum, { pages }) => sum + pages.size, 0);
  }

  list(): ConsoleSession[] {
    return this.#rows.map(({ session }) => session);
  }

  /** Ends those that are chosen, and closes their pages. @returns how many they were. */
  end(isChosen: (session: ConsoleSession) => boolean, sentence = "This session has ended. Sign in again."): number {
    const chosen = this.#rows.filter(({ session }) => isChosen(session));
    for (const row of chosen) this.#end(row, sentence);
    return chosen.length;
  }

  /** Table of those that the administrator opens, as the door on loopback asks for it. */
  local(changed: () => void): SessionTable<ConsoleSession, SessionStart> {
    this.#changed.add(changed);
    const openPages = (): number => {
      const local = this.#rows.filter(({ session }) => session.isLocal);
      return local.reduce((sum, { pages }) => sum + pages.size, 0);
    };
    return {
      get pages() {
        return openPages();
      },
      start: (start) => this.start(start),
      enter: (token, end) => {
        if (this.find(token)?.isLocal !== true) return undefined;
        const entered = this.enter(token, end);
        return entered === "Busy" ? undefined : entered;
      },
      endAll: () => {
        this.#changed.delete(changed);
        this.end(({ isLocal }) => isLocal);
      },
    };
  }

  get #rows(): Row[] {
    return this.#table.values;
  }

  #rowOf(session: ConsoleSession): Row | undefined {
    return this.#rows.find((row) => row.session === session);
  }

  #watch(row: Row): void {
    row.timer?.cancel();
    const untilMs = Math.min(row.usedMs + CONSOLE_LIMITS.idleMs, row.beganMs + CONSOLE_LIMITS.lastsMs);
    const end = (): void =>
      this.#end(row, "Nothing was done here for a while, so the session has ended. Sign in again.");
    row.timer = this.#clock.after(untilMs - this.#clock.bootMs(), end);
  }

  #endOldest(rows: readonly Row[]): void {
    const [oldest] = rows.toSorted((one, other) => one.usedMs - other.usedMs);
    if (oldest !== undefined) this.#end(oldest, "You have signed in elsewhere too often. Sign in again.");
  }

  #end(row: Row, sentence: string): void {
    row.timer?.cancel();
    this.#table.delete(row);
    for (const close of row.pages) close(sentence);
  }

  #tell(): void {
    for (const changed of this.#changed) changed();
  }
}

export function isOf(session: SessionStart, name: string, isLocal = false): boolean {
  return session.name === name && session.isLocal === isLocal;
}
