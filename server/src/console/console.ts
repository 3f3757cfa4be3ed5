// The console: pages over TLS for whoever signs in, and on this machine's loopback for whoever may open the server's
// administrator's socket. Each request is judged by the role of its caller before anything is done.
import type { IncomingMessage } from "node:http";
import {
  type Call,
  type CallSchemas,
  type ErrorKind,
  fromSystemError,
  RunnelError,
  type WsCarrier,
} from "@runnel/shared";
import {
  type Download,
  type EnteredPage,
  LocalPages,
  type OpenedPage,
  PageCalls,
  type PageRefusal,
  SecurePages,
  Tickets,
} from "@runnel/shared/page";
import { type Actor, unauthenticated } from "../audit/audit-entry.ts";
import type { ConsoleHosts } from "./console-hosts.ts";
import { CONSOLE_LIMITS } from "./console-limits.ts";
import type { ConsoleSession, SessionStart } from "./console-sessions.ts";
import { actorOf, type Caller, type ConsoleDeps, type ConsoleVerb } from "./console-verb.ts";
import { SignInRoutes, tokenIn } from "./sign-in.ts";
import { CONSOLE_VERBS } from "./verbs/index.ts";

/** Address of whoever comes over the door that `runnel console` opens. */
const LOOPBACK = "127.0.0.1";
const TABLE: Readonly<Record<string, CallSchemas & ConsoleVerb>> = CONSOLE_VERBS;

export interface ConsoleSettings {
  hosts: ConsoleHosts;
  /** Folder of the built pages. */
  builtFolder: string;
  /** A folder of the server's own, for what a browser is started with. */
  entryFolder: string;
  warn(message: string, error?: unknown): void;
}

export class Console {
  /** Answers browsers over TLS. */
  readonly pages: SecurePages;
  readonly #deps: ConsoleDeps;
  readonly #signIn: SignInRoutes;
  readonly #downloads: Tickets<Download>;
  readonly #calls: PageCalls<ConsoleSession>;
  readonly #local: LocalPages<ConsoleSession, SessionStart>;

  constructor(deps: ConsoleDeps, { hosts, builtFolder, entryFolder, warn }: ConsoleSettings) {
    const { clock, sessions, facts } = deps;
    const problem = (error: unknown): void => {
      // Faults of a browser are its own affair.
      if (!(error instanceof RunnelError)) warn("A page of the console failed.", error);
    };
    const calls = {
      version: facts.version,
      clock,
      table: TABLE,
      handle: (verb: string, request: unknown, call: Call, session: ConsoleSession): Promise<unknown> =>
        this.#handle(verb, request, call, session),
      authorize: (verb: string, session: ConsoleSession): void => this.#authorize(verb, session),
      refused: (verb: string, error: unknown, session: ConsoleSession): void => this.#refused(verb, error, session),
      problem,
    };
    this.#deps = deps;
    this.#signIn = new SignInRoutes(deps);
    this.#downloads = new Tickets(clock);
    this.#calls = new PageCalls({ ...calls, enter: (token, end, address) => this.#enter(token, end, address) });
    this.#local = new LocalPages(
      {
        ...calls,
        command: "runnel console",
        builtFolder,
        entryFolder,
        sessions: (changed) => sessions.local(changed),
        turnedAway: (from, kind) => this.#turnedAway(from, kind, LOOPBACK),
      },
      () => undefined,
    );
    this.pages = new SecurePages({
      clock,
      place: { isSecure: true, hasHost: (host) => hosts.has(host) },
      builtFolder,
      requestsMax: CONSOLE_LIMITS.requests,
      answerMs: CONSOLE_LIMITS.answerMs,
      addRoutes: (app) => this.#signIn.addTo(app),
      download: (ticket, address) => this.#download(ticket, address),
      opened: (carrier, request, owned) => this.#opened(carrier, request, owned),
      problem,
    });
  }

  /** Lets in who first sets the console up; undefined once that was done. */
  get setUpToken(): string | undefined {
    return this.#signIn.setUpToken;
  }

  /** Opens a page on this machine's loopback for an administrator. It is in the audit log when this resolves. */
  openLocal(who: Actor, way: "file" | "link"): Promise<OpenedPage> {
    const start = { name: who.name, isLocal: true, address: "", browser: "" };
    return this.#deps.security.audit.perform({ who, act: "console" }, () => this.#local.open(way, start));
  }

  async close(): Promise<void> {
    this.#downloads.voidAll();
    this.#calls.finish("The server stops.");
    this.#deps.sessions.end(() => true, "The server stops.");
    await this.#local.close();
  }

  #opened(carrier: WsCarrier, { headers, socket }: IncomingMessage, owned: () => void): void {
    const { remoteAddress: address = "" } = socket;
    this.#calls.opened(carrier, owned, { token: tokenIn(headers.cookie) ?? "", address });
  }

  #enter(token: string, end: (sentence: string) => void, address: string): EnteredPage<ConsoleSession> | PageRefusal {
    const { sessions } = this.#deps;
    const entered = sessions.find(token)?.isLocal === false ? sessions.enter(token, end) : undefined;
    if (entered === "Busy") return { isForNow: true, sentence: "Too many pages are open. Close one, then try again." };
    // A browser that has no cookie yet asks whether it may come in without one.
    if (entered === undefined && token !== "") this.#turnedAway("page", "Denied", address);
    return entered ?? { isForNow: false, sentence: "Nobody is signed in here. Sign in." };
  }

  /** Notes a wrong cookie, token or ticket. */
  #turnedAway(from: "page" | "file", result: ErrorKind, address: string): void {
    const act = from === "page" ? "enter" : "download";
    this.#deps.security.audit.note({ who: unauthenticated(address), act, result });
  }

  #download(ticket: string, address: string): Download {
    const download = this.#downloads.redeem(ticket);
    if (download !== undefined) return download;
    this.#turnedAway("file", "Denied", address);
    throw new RunnelError("Denied", "fetch a file", "This file was fetched, or has waited too long. Ask for it again.");
  }

  /** @throws RunnelError Denied for a verb that is not for the role of its caller. */
  #authorize(verb: string, session: ConsoleSession): void {
    const caller = this.#callerOf(session);
    if (TABLE[verb]?.role !== "admin" || caller.role === "admin") return;
    throw new RunnelError("Denied", verb, "Only an admin of this server may do that. Ask one.");
  }

  /** Notes a request that is none, that is not of its form, or that is not for the role of its caller. */
  #refused(verb: string, error: unknown, session: ConsoleSession): void {
    const { kind } = fromSystemError(error, "ask");
    this.#deps.security.audit.note({ who: this.#actorOf(session), act: "administer", object: verb, result: kind });
  }

  async #handle(verb: string, request: unknown, call: Call, session: ConsoleSession): Promise<unknown> {
    const row = TABLE[verb];
    const caller = this.#callerOf(session);
    if (row?.isUse === true) this.#deps.sessions.use(session);
    return row?.handle(this.#deps, request, caller, call);
  }

  /** Looks up the role at each request, since it may have become another. @throws RunnelError Denied */
  #callerOf(session: ConsoleSession): Caller {
    const { people, sessions } = this.#deps;
    const denied = new RunnelError("Denied", "ask", "You are not signed in any more. Sign in again.");
    if (!sessions.list().includes(session)) throw denied;
    const actor = this.#actorOf(session);
    if (session.isLocal)
      return { name: "", role: "admin", session, actor, offer: (download) => this.#local.offer(download) };
    const person = people.find(session.name);
    if (person === undefined) throw denied;
    const { name, role } = person;
    const offer = async (download: Download): Promise<string> => this.#downloads.issue(download);
    return { name, role, session, actor, offer };
  }

  /** Returns how the audit log has whoever a session is of, though it may have ended. */
  #actorOf({ isLocal, name, address }: ConsoleSession): Actor {
    if (isLocal) return { kind: "admin", id: "", name, person: "", address: "" };
    return actorOf(this.#deps.people.find(name) ?? { name, role: "user" }, address);
  }
}
