// Sessions of the console: listed, and ended one by one; own ones by everybody, all by an admin. And the own password.
import { RunnelError } from "@runnel/shared";
import { z } from "zod";
import { type ConsoleSession, isOf } from "../console-sessions.ts";
import { type Caller, type ConsoleDeps, consoleVerb } from "../console-verb.ts";
import { newPassword, nothing, saidPassword } from "./schemas.ts";

const session = z.object({
  id: z.string(),
  /** "" when it was opened over the server's socket. */
  person: z.string(),
  address: z.string(),
  browser: z.string(),
  startedMs: z.number(),
  lastMs: z.number(),
  /** It is the one that asks. */
  isOwn: z.boolean(),
});

export const sessions = consoleVerb(
  { asks: nothing, gives: z.object({ sessions: z.array(session) }) },
  {
    role: "user",
    async handle({ sessions: all, security }, _request, caller) {
      security.audit.note({ who: caller.actor, act: "sessions", result: "done" });
      const shown = all.list().filter((each) => caller.role === "admin" || isOf(each, caller.name));
      return {
        sessions: shown.map(({ id, name, isLocal, address, browser, startedMs, lastMs }) => ({
          id,
          person: isLocal ? "" : name,
          address,
          browser,
          startedMs,
          lastMs,
          isOwn: id === caller.session.id,
        })),
      };
    },
  },
);

export const endSession = consoleVerb(
  { asks: z.object({ id: z.string().max(32) }), gives: nothing },
  {
    role: "user",
    async handle(deps, { id }, caller) {
      await deps.security.audit.perform({ who: caller.actor, act: "endSession", object: id }, async () => {
        const mayEnd = (each: ConsoleSession): boolean => caller.role === "admin" || isOf(each, caller.name);
        if (deps.sessions.end((each) => each.id === id && mayEnd(each)) === 0)
          throw new RunnelError("NotFound", "end a session", "There is no such session. It may have ended already.");
      });
      return {};
    },
  },
);

export const signOut = consoleVerb(
  { asks: nothing, gives: nothing },
  {
    role: "user",
    async handle({ security, sessions: all }, _request, { actor, session: own }) {
      await security.audit.record({ who: actor, act: "signOut", result: "done" });
      all.end(({ id }) => id === own.id, "You have signed out.");
      return {};
    },
  },
);

export const setPassword = consoleVerb(
  {
    /** `before`: the password of before. */
    asks: z.object({ before: saidPassword, password: newPassword }),
    gives: nothing,
  },
  {
    role: "user",
    async handle(deps, { before, password }, caller) {
      const { security, people, sessions: all } = deps;
      await security.audit.perform({ who: caller.actor, act: "setPassword", object: caller.name }, async () => {
        await mustKnow(deps, caller, before);
        await people.change(caller.name, { password });
      });
      // Whoever knew the password of before is out; this page stays.
      all.end((each) => isOf(each, caller.name) && each.id !== caller.session.id);
      return {};
    },
  },
);

/** @throws RunnelError Denied when the password is wrong, Busy after too many. */
async function mustKnow(
  { people, tries }: ConsoleDeps,
  { name, session: own }: Caller,
  password: string,
): Promise<void> {
  if (own.isLocal) throw new RunnelError("Invalid", "set a password", "Nobody is signed in here who has a password.");
  tries.begin(name, own.address);
  if ((await people.verify(name, password)) !== undefined) {
    tries.succeeded(name, own.address);
    return;
  }
  throw new RunnelError("Denied", "set a password", "The password of before is wrong. Try again.");
}
