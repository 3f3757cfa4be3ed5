// The door of the local page, from the moment that somebody asks for a page until no page was open for ten minutes: a
// listener on loopback, tickets that let in once, page sessions, and the calls of the pages. Another life of it has
// another port, and knows nothing of this one.
import { type ErrorKind, RunnelError } from "../errors.ts";
import type { Clock, Timer } from "../host/clock.ts";
import { BuiltFolder } from "./host/built-folder.ts";
import { EntryFiles } from "./host/entry-file.ts";
import { listenForPages, type ListenerCallbacks, type PageListener } from "./host/page-listener.ts";
import type { Download } from "./downloads.ts";
import { addEnterRoutes } from "./enter-routes.ts";
import { pageApp } from "./page-app.ts";
import { PAGE_LIMITS } from "./page-limits.ts";
import { type EnteredPage, PageCalls, type PageCallsSettings, type PageRefusal } from "./page-calls.ts";
import type { SessionTable } from "./page-sessions.ts";
import { ENTER_PATH, hostOf } from "./request-guard.ts";
import { Tickets } from "./tickets.ts";
import { WrongTokens } from "./wrong-tokens.ts";

export interface PageDoorSettings<Who, Start = Who> extends Omit<PageCallsSettings<Who>, "enter"> {
  /** The folder of the built pages. */
  builtFolder: string;
  /** Command line that opens a page, for sentences. */
  command: string;
  /** Makes the table of page sessions; `changed` is to be called when the number of open pages has changed. */
  sessions(changed: () => void): SessionTable<Who, Start>;
  /** A folder of the program's own, whose parent is there, for what a browser is started with. */
  entryFolder: string;
  /** Called when a page is not let in, or a file is not given out, since its token or ticket is wrong. */
  turnedAway?(from: "page" | "file", kind: ErrorKind): void;
  /** Called when the door begins to close: who wants to open a page needs another one. */
  closing(): void;
}

export class PageDoor<Who, Start = Who> {
  readonly #settings: PageDoorSettings<Who, Start>;
  readonly #clock: Clock;
  readonly #entries: EntryFiles;
  readonly #tickets: Tickets<{ start: Start }>;
  readonly #downloads: Tickets<Download>;
  readonly #sessions: SessionTable<Who, Start>;
  readonly #wrong: WrongTokens;
  readonly #calls: PageCalls<Who>;
  #listener: PageListener | undefined;
  #idle: Timer | undefined;
  #isClosing = false;

  private constructor(settings: PageDoorSettings<Who, Start>) {
    const { clock, entryFolder, sessions } = settings;
    const changed = (): void => this.#watchIdle();
    this.#settings = settings;
    this.#clock = clock;
    this.#entries = new EntryFiles(entryFolder);
    this.#tickets = new Tickets(clock);
    this.#downloads = new Tickets(clock);
    this.#sessions = sessions(changed);
    this.#wrong = new WrongTokens(clock);
    this.#calls = new PageCalls({ ...settings, enter: (token, end) => this.#enter(token, end) });
  }

  /** @throws RunnelError when this machine lets nobody listen. */
  static async open<Who, Start>(settings: PageDoorSettings<Who, Start>): Promise<PageDoor<Who, Start>> {
    const door = new PageDoor(settings);
    door.#entries.clear();
    door.#listener = await listenForPages(() => door.#callbacks());
    door.#watchIdle();
    return door;
  }

  /** The pages' address. */
  get url(): string {
    return `http://${hostOf(this.#listener?.port ?? 0)}/`;
  }

  /** A link with a new ticket in it, for a person to open. */
  link(start: Start): string {
    this.#watchIdle();
    return `${this.url}#${this.#tickets.issue({ start })}`;
  }

  /** The path of a file with a new ticket in it, for a browser to open. */
  entryFile(start: Start): string {
    this.#watchIdle();
    let path = "";
    const ticket = this.#tickets.issue({ start }, () => this.#entries.remove(path));
    path = this.#entries.write(new URL(ENTER_PATH, this.url).href, ticket);
    return path;
  }

  /** A ticket with which a page fetches a file from /files/TICKET. */
  offer(download: Download): string {
    return this.#downloads.issue(download);
  }

  /** Ends all page sessions. Resolves when the port is free. */
  async close(): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#settings.closing();
    this.#idle?.cancel();
    this.#tickets.voidAll();
    this.#downloads.voidAll();
    this.#sessions.endAll();
    const closed = this.#listener?.close();
    this.#calls.finish("Runnel ends its pages.");
    const timer = this.#clock.after(PAGE_LIMITS.finishMs, () => this.#listener?.destroy());
    await closed;
    timer.cancel();
  }

  #watchIdle(): void {
    this.#idle?.cancel();
    if (this.#isClosing || this.#sessions.pages > 0) return;
    this.#idle = this.#clock.after(PAGE_LIMITS.idleMs, () => void this.close());
  }

  #callbacks(): ListenerCallbacks {
    const { builtFolder, problem } = this.#settings;
    const folder = new BuiltFolder(builtFolder);
    const app = pageApp({
      isSecure: false,
      readFile: (path) => folder.read(path),
      addRoutes: (routes) =>
        addEnterRoutes(routes, (ticket) => this.#sessions.start(this.#redeem(this.#tickets, ticket, "page").start)),
      download: (ticket) => this.#redeem(this.#downloads, ticket, "file"),
      ...(problem === undefined ? {} : { problem }),
    });
    return {
      fetch: (request) => app.fetch(request),
      opened: (carrier, owned) => this.#calls.opened(carrier, owned),
      ...(problem === undefined ? {} : { problem }),
    };
  }

  /** @throws RunnelError Busy when too many tokens were wrong lately, Denied when this one is. */
  #redeem<T>(tickets: Tickets<T>, ticket: string, of: "page" | "file"): T {
    const { waitMs } = this.#wrong;
    if (waitMs > 0) {
      this.#settings.turnedAway?.(of, "Busy");
      const sentence = "Too many wrong tickets came, perhaps from another user of this machine. Try again in a moment.";
      throw new RunnelError("Busy", "open a page", sentence, { detail: { retryAfterMs: waitMs } });
    }
    const value = tickets.redeem(ticket);
    if (value !== undefined) return value;
    this.#wrong.add();
    this.#settings.turnedAway?.(of, "Denied");
    const sentence = `This ticket was used, or has run out. Open a new page: "${this.#settings.command}".`;
    throw new RunnelError("Denied", "open a page", sentence);
  }

  #enter(token: string, end: (sentence: string) => void): EnteredPage<Who> | PageRefusal {
    if (this.#sessions.pages >= PAGE_LIMITS.pages || this.#wrong.waitMs > 0)
      return { isForNow: true, sentence: "Too many pages of Runnel are open, or wrong tokens came." };
    const entered = this.#sessions.enter(token, end);
    if (entered !== undefined) return entered;
    this.#wrong.add();
    this.#settings.turnedAway?.("page", "Denied");
    return { isForNow: false, sentence: `This page has ended. Open a new one: "${this.#settings.command}".` };
  }
}
