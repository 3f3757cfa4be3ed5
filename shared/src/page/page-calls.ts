// Calls of pages: each connection names its page session before anything else, and is served once that is known. Who
// listens, and which page sessions there are, is the door's (page-door.ts, and the console's own).
import { z } from "zod";
import { CallServer, type CallServerSettings } from "../calls/call-server.ts";
import type { Call } from "../calls/call-table.ts";
import type { Carrier } from "../calls/carrier.ts";
import type { WsCarrier } from "../calls/ws-carrier.ts";
import type { Clock } from "../host/clock.ts";
import { PAGE_LIMITS } from "./page-limits.ts";

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

/** A page that was let in. */
export interface EnteredPage<Who> {
  /** Names whom the page belongs to. */
  who: Who;
  /** Is called once, when the page is gone. */
  leave(): void;
}

/** Facts about a connection: the token that it came with, and the address of its browser. */
export interface PageOrigin {
  token?: string;
  address?: string;
}

/** Why a page is not let in, for a person: for good, or for now. */
export interface PageRefusal {
  isForNow: boolean;
  sentence: string;
}

export interface PageCallsSettings<Who> extends Pick<CallServerSettings, "table" | "problem"> {
  version: string;
  clock: Clock;
  /** Throws when a page of `who` may not ask a verb of the table, before its request is looked at. */
  authorize?(verb: string, who: Who): void;
  /** Answers a request of a page of `who` that fits the schema of its verb. */
  handle(verb: string, request: unknown, call: Call, who: Who): Promise<unknown>;
  /** A request of a page of `who` was refused before it came to `handle`; `verb` is "" for what is no request. */
  refused?(verb: string, error: unknown, who: Who): void;
  /**
   * Lets a page in by the token of a page session; `end` closes the page when its session ends. `address`: of its
   * browser, where several have one.
   */
  enter(token: string, end: (sentence: string) => void, address: string): EnteredPage<Who> | PageRefusal;
}

export class PageCalls<Who> {
  readonly #settings: PageCallsSettings<Who>;
  readonly #calls = new Set<CallServer>();
  #isFinishing: string | undefined;

  constructor(settings: PageCallsSettings<Who>) {
    this.#settings = settings;
  }

  /**
   * Takes a connection over, which says nothing, and is asked nothing, until its first text has named a page session.
   * `token`: of the page session that the connection came with; then the text has none. `owned` is called once a page
   * session owns it.
   */
  opened(carrier: WsCarrier, owned: () => void, { token, address = "" }: PageOrigin = {}): void {
    const timer = this.#settings.clock.after(PAGE_LIMITS.sessionMs, () => carrier.close(CLOSE_SESSION_ENDED));
    carrier.onClose(() => timer.cancel());
    const rest = afterFirstText(carrier, (text) => {
      timer.cancel();
      const said = sessionOf(text);
      let calls: CallServer | undefined;
      let ended: string | undefined;
      const close = (): void => carrier.close(CLOSE_SESSION_ENDED, ended);
      const end = (sentence: string): void => {
        ended = sentence;
        // The call that ended the session is still answered.
        calls?.finish();
        const last = this.#settings.clock.after(PAGE_LIMITS.finishMs, close);
        carrier.onClose(() => last.cancel());
      };
      const entered = this.#settings.enter(token ?? said, end, address);
      if ("sentence" in entered) {
        carrier.close(entered.isForNow ? CLOSE_TRY_AGAIN : CLOSE_SESSION_ENDED, entered.sentence);
        return;
      }
      owned();
      calls = this.#serve({ ...rest, close: () => this.#close(carrier, ended) }, entered);
    });
  }

  /** Answers what was asked, then tells each page that its session has ended. */
  finish(sentence: string): void {
    this.#isFinishing = sentence;
    for (const calls of this.#calls) calls.finish();
  }

  #serve(carrier: Carrier, { who, leave }: EnteredPage<Who>): CallServer {
    const { version, clock, table, handle, problem, authorize, refused } = this.#settings;
    const calls = new CallServer(carrier, {
      hello: { protocol: PAGE_PROTOCOL, version, features: [] },
      clock,
      helloMs: PAGE_LIMITS.sessionMs,
      requestsMax: PAGE_LIMITS.requests,
      table,
      authorize: (verb) => authorize?.(verb, who),
      handle: (verb, request, call) => handle(verb, request, call, who),
      refused: (verb, error) => refused?.(verb, error, who),
      ...(problem === undefined ? {} : { problem }),
    });
    this.#calls.add(calls);
    carrier.onClose(() => {
      this.#calls.delete(calls);
      leave();
    });
    return calls;
  }

  #close(carrier: WsCarrier, ended = this.#isFinishing): void {
    if (ended === undefined) carrier.close();
    else carrier.close(CLOSE_SESSION_ENDED, ended);
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
