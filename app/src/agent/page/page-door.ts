// The door of the local page, from the moment that somebody asks for a page until no page was open for ten minutes: a
// listener on loopback, tickets that let in once, page sessions, and the calls of the pages. Another life of it has
// another port, and knows nothing of this one.
import {
  type Carrier,
  CallServer,
  type CallServerSettings,
  type Clock,
  RunnelError,
  type Timer,
  type WsCarrier,
} from "@runnel/shared";
import { z } from "zod";
import { BuiltFolder } from "./host/built-folder.ts";
import { EntryFiles } from "./host/entry-file.ts";
import { listenForPages, type ListenerCallbacks, type PageListener } from "./host/page-listener.ts";
import type { Download } from "./downloads.ts";
import { pageApp } from "./page-app.ts";
import { PAGE_LIMITS } from "./page-limits.ts";
import { PageSessions } from "./page-sessions.ts";
import { ENTER_PATH, hostOf } from "./request-guard.ts";
import { Tickets } from "./tickets.ts";
import { WrongTokens } from "./wrong-tokens.ts";

/**
 * Number of the protocol that pages speak; its messages are those of calls. A page names its page session before the
 * hello.
 */
export const PAGE_PROTOCOL = 1;
/**
 * Codes of a close, of which the first is ours (RFC 6455 §7.4.2): the page session is not known, or has ended; later it
 * may be let in.
 */
const CLOSE_SESSION_ENDED = 4401;
const CLOSE_TRY_AGAIN = 1013;

const FirstText = z.strictObject({ session: z.string() });

export interface PageDoorSettings extends Pick<CallServerSettings, "table" | "handle" | "problem"> {
  version: string;
  clock: Clock;
  /** The folder of the built pages. */
  builtFolder: string;
  /** A folder of the agent's own, for what a browser is started with. */
  entryFolder: string;
  /** Called when the door begins to close: who wants to open a page needs another one. */
  closing(): void;
}

export class PageDoor {
  readonly #settings: PageDoorSettings;
  readonly #clock: Clock;
  readonly #entries: EntryFiles;
  readonly #tickets: Tickets<true>;
  readonly #downloads: Tickets<Download>;
  readonly #sessions: PageSessions;
  readonly #wrong: WrongTokens;
  readonly #calls = new Set<CallServer>();
  #listener: PageListener | undefined;
  #idle: Timer | undefined;
  #isClosing = false;

  private constructor(settings: PageDoorSettings) {
    const { clock, entryFolder } = settings;
    this.#settings = settings;
    this.#clock = clock;
    this.#entries = new EntryFiles(entryFolder);
    this.#tickets = new Tickets(clock);
    this.#downloads = new Tickets(clock);
    this.#sessions = new PageSessions(clock, () => this.#watchIdle());
    this.#wrong = new WrongTokens(clock);
  }

  /** @throws RunnelError when this machine lets nobody listen. */
  static async open(settings: PageDoorSettings): Promise<PageDoor> {
    const door = new PageDoor(settings);
    door.#entries.clear();
    door.#listener = await listenForPages((port) => door.#callbacks(port));
    door.#watchIdle();
    return door;
  }

  /** The pages' address. */
  get url(): string {
    return `http://${hostOf(this.#listener?.port ?? 0)}/`;
  }

  /** A link with a new ticket in it, for a person to open. */
  link(): string {
    this.#watchIdle();
    return `${this.url}#${this.#tickets.issue(true)}`;
  }

  /** The path of a file with a new ticket in it, for a browser to open. */
  entryFile(): string {
    this.#watchIdle();
    let path = "";
    const ticket = this.#tickets.issue(true, () => this.#entries.remove(path));
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
    for (const calls of this.#calls) calls.finish();
    const timer = this.#clock.after(PAGE_LIMITS.finishMs, () => this.#listener?.destroy());
    await closed;
    timer.cancel();
  }

  #watchIdle(): void {
    this.#idle?.cancel();
    if (this.#isClosing || this.#sessions.pages > 0) return;
    this.#idle = this.#clock.after(PAGE_LIMITS.idleMs, () => void this.close());
  }

  #callbacks(port: number): ListenerCallbacks {
    const { builtFolder, problem } = this.#settings;
    const folder = new BuiltFolder(builtFolder);
    const app = pageApp({
      port,
      readFile: (path) => folder.read(path),
      enter: (ticket) => {
        this.#redeem(this.#tickets, ticket);
        return this.#sessions.start();
      },
      download: (ticket) => this.#redeem(this.#downloads, ticket),
      ...(problem === undefined ? {} : { problem }),
    });
    return {
      fetch: (request) => app.fetch(request),
      opened: (carrier, owned) => this.#opened(carrier, owned),
      ...(problem === undefined ? {} : { problem }),
    };
  }

  /** @throws RunnelError Busy when too many tokens were wrong lately, Denied when this one is. */
  #redeem<T>(tickets: Tickets<T>, ticket: string): T {
    const { waitMs } = this.#wrong;
    if (waitMs > 0) {
      const sentence = "Too many wrong tickets came, perhaps from another user of this machine. Try again in a moment.";
      throw new RunnelError("Busy", "open a page", sentence, { detail: { retryAfterMs: waitMs } });
    }
    const value = tickets.redeem(ticket);
    if (value !== undefined) return value;
    this.#wrong.add();
    const sentence = 'This ticket was used, or has run out. Open a new page: "runnel ui".';
    throw new RunnelError("Denied", "open a page", sentence);
  }

  /** A connection says nothing, and is asked nothing, until its first text has named a page session. */
  #opened(carrier: WsCarrier, owned: () => void): void {
    const timer = this.#clock.after(PAGE_LIMITS.sessionMs, () => carrier.close(CLOSE_SESSION_ENDED));
    carrier.onClose(() => timer.cancel());
    const rest = afterFirstText(carrier, (text) => {
      timer.cancel();
      const leave = this.#enter(text, carrier);
      if (leave === undefined) return;
      owned();
      this.#serve({ ...rest, close: () => this.#finish(carrier) }, leave);
    });
  }

  /** @returns undefined when it was refused, and is closed. */
  #enter(text: string, carrier: WsCarrier): (() => void) | undefined {
    if (this.#sessions.pages >= PAGE_LIMITS.pages || this.#wrong.waitMs > 0) {
      carrier.close(CLOSE_TRY_AGAIN, "Too many pages of Runnel are open, or wrong tokens came.");
      return undefined;
    }
    const leave = this.#sessions.enter(sessionOf(text));
    if (leave !== undefined) return leave;
    this.#wrong.add();
    carrier.close(CLOSE_SESSION_ENDED, 'This page has ended. Open a new one: "runnel ui".');
    return undefined;
  }

  #serve(carrier: Carrier, leave: () => void): void {
    const { version, clock, table, handle, problem } = this.#settings;
    const calls = new CallServer(carrier, {
      hello: { protocol: PAGE_PROTOCOL, version, features: [] },
      clock,
      helloMs: PAGE_LIMITS.sessionMs,
      requestsMax: PAGE_LIMITS.requests,
      table,
      handle,
      ...(problem === undefined ? {} : { problem }),
    });
    this.#calls.add(calls);
    carrier.onClose(() => {
      this.#calls.delete(calls);
      leave();
    });
  }

  #finish(carrier: WsCarrier): void {
    if (this.#isClosing) carrier.close(CLOSE_SESSION_ENDED, "Runnel's agent ends its pages.");
    else carrier.close();
  }
}

/** A carrier without its first text. */
function afterFirstText(carrier: Carrier, takeFirst: (text: string) => void): Carrier {
  let take = takeFirst;
  carrier.onText((text) => take(text));
  return {
    send: (text) => carrier.send(text),
    onText: (next) => {
      take = next;
    },
    onClose: (closed) => carrier.onClose(closed),
    close: () => carrier.close(),
  };
}

/** "" where the text is not as it must be: that is no page session's. */
function sessionOf(text: string): string {
  try {
    return FirstText.parse(JSON.parse(text)).session;
  } catch {
    return "";
  }
}
