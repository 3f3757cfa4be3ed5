// A verb of the console: who may ask it, what is asked and given, and how the server answers.
import type { Call, CallPart, CallRequest, CallResult, CallSchemas, Clock } from "@runnel/shared";
import type { Download } from "@runnel/shared/page";
import type { ActDeps } from "../admin/acts.ts";
import type { Actor } from "../audit/audit-entry.ts";
import type { People } from "../auth/people.ts";
import type { Role } from "../auth/people-file.ts";
import type { SignInTries } from "../auth/sign-in-tries.ts";
import type { Security } from "../auth/security.ts";
import type { Engines } from "../engines.ts";
import type { RunningServer } from "../server-api.ts";
import type { ConsoleSession, ConsoleSessions } from "./console-sessions.ts";
import type { Views } from "./views.ts";

/** Facts about the server that its settings show. */
export interface ConsoleFacts {
  version: string;
  /** Place where it listens, as `runnel serve --listen` says it. */
  listen: string;
  /** Names under which browsers find the console, as HOST or HOST:PORT. */
  addresses: readonly string[];
  dataFolder: string;
}

export interface ConsoleDeps extends ActDeps {
  server: RunningServer;
  security: Security;
  people: People;
  engines: Engines;
  tries: SignInTries;
  sessions: ConsoleSessions;
  views: Views;
  clock: Clock;
  facts: ConsoleFacts;
  /** Time of the wall clock at which the server started. */
  startedMs: number;
}

/** Person who asks. */
export interface Caller {
  /** "" for the administrator who came over the server's socket. */
  name: string;
  role: Role;
  session: ConsoleSession;
  /** Entry for the audit log. */
  actor: Actor;
  /** A ticket with which the page fetches a file from /files/TICKET, once, within a minute. */
  offer(download: Download): Promise<string>;
}

export interface ConsoleVerb<C extends CallSchemas = CallSchemas> {
  /** Role that is needed: `user` is everybody who is signed in. */
  role: Role;
  /** Asked when a person uses a page, which keeps the session from ending; a page may ask the others by itself. */
  isUse?: true;
  /** Answers a request. What it throws is sent as an error; a change is in the audit log before it is answered. */
  handle(deps: ConsoleDeps, request: CallRequest<C>, caller: Caller, call: Call<CallPart<C>>): Promise<CallResult<C>>;
}

/** Puts a verb together, for the table of all. */
export function consoleVerb<C extends CallSchemas>(schemas: C, verb: ConsoleVerb<C>): C & ConsoleVerb<C> {
  return { ...schemas, ...verb };
}

/** Returns how the audit log has somebody who has signed in. */
export function actorOf({ name, role }: { name: string; role: Role }, address: string): Actor {
  return { kind: role === "admin" ? "admin" : "person", id: "", name, person: name, address };
}
